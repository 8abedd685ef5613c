"""Runs for the trace app, and the terminals that it is driven in."""
