"""Whatever may repeat a key that it is given."""
