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
ScoreVariant = Literal[
    "one-to-one", "published-code", "substring", "subsequence", "summed", "group-f1"
]
"""How a task is scored that is scored in several ways. Of graded answers: pairs aligned with the
greatest sum, or as published code has it; of options and answers to them: by their longest common
substring or subsequence, or as published code has it; of groups of conditions: by sums over all
questions, or by the F1 of each group."""
