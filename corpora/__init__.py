"""What is asked and searched: question sets, passages, indexes."""
