"""Paired comparisons of systems: differences, intervals, tests, and how to say them."""
