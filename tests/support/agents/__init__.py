"""Asking a model caller, and its journal and waits."""
