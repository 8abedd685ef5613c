"""What a branch name says, however it is worded: words, numbers, years, kinds, places."""
