"""Plans, questions and an independent judge of their gold."""
