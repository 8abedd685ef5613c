"""What a perfect reader could have had, and how scores spread over kinds of question."""
