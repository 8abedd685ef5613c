"""A look into a world."""
