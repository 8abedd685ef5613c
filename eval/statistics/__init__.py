"""Paired comparisons of systems: differences, intervals, tests, and how to say them."""

from branchwise.eval.statistics.comparison import (
    SIGNIFICANT,
    Comparison,
    ScoreDifference,
    compare,
    compare_each,
    compare_systems,
    summary_line,
)
from branchwise.eval.statistics.paired_tests import LeftOutQuestions, holm

__all__ = [
    "SIGNIFICANT",
    "Comparison",
    "LeftOutQuestions",
    "ScoreDifference",
    "compare",
    "compare_each",
    "compare_systems",
    "holm",
    "summary_line",
]
