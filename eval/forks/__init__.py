"""Forks: an item taken up at a step of its trace and run on with something changed."""
