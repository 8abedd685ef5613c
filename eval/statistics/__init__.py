"""Paired comparisons of systems: differences, intervals, tests, and how to say them."""

from branchwise.eval.statistics.comparison import (
    SIGNIFICANT,
    Comparison,
    ScoreDifference,
    compare,
    compare_each,
    compare_systems,
)
from branchwise.eval.statistics.paired_tests import holm
from branchwise.eval.statistics.pairs import LeftOutQuestions
from branchwise.eval.statistics.words import summary_line

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
