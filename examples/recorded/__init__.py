"""Runs of a language model that ship with the package."""
