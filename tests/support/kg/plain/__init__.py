"""Queries of a world's graph and their answers, worked out in plain Python."""
