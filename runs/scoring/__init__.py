"""Scoring runs and predictions files."""
