"""What a report of one run or of a study is made of; everything that shows one reads this."""
