"""Bounds of a run, the same on the command line and in study files."""

from typing import Literal

MAX_EPOCHS = 1000
"""Times that each question is answered, at most."""
CONCURRENCY, MAX_CONCURRENCY = 8, 1024
"""Questions, or requests to matcher and judge, at a time: by default and at most."""

JudgePairs = Literal["all", "aligned"]
"""Which pairs of a question's properties are graded: all, or those that token F1 aligns."""
Intervals = Literal["below", "beside", "columns", "none"]
"""Where tables for LaTeX have the interval of a mean."""
