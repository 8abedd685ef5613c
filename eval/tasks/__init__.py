"""Kinds of question, each with its prompts, parser, metrics and report columns."""
