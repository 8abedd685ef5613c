"""Bounds of a run, the same on the command line and in study files."""

MAX_EPOCHS = 1000
"""Times that each question is answered, at most."""
CONCURRENCY, MAX_CONCURRENCY = 8, 1024
"""Questions, or requests to matcher and judge, at a time: by default and at most."""
