"""Queries run in separate processes, which can be killed."""
