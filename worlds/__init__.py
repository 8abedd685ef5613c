"""Worlds: a fictional encyclopedia and the knowledge graph that it agrees with."""
