"""Plug-ins of every kind, and runs with them."""
