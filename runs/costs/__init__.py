"""What runs cost: tokens, seconds and money by role."""
