"""Paired comparisons of systems: differences, intervals, tests, and how to say them."""

from branchwise.eval.statistics.comparison import Comparison, Difference, compare, compare_systems
from branchwise.eval.statistics.holm import holm
from branchwise.eval.statistics.pairs import LeftOut
from branchwise.eval.statistics.words import number, p_value, signed, summary_line

__all__ = [
    "Comparison",
    "Difference",
    "LeftOut",
    "compare",
    "compare_systems",
    "holm",
    "number",
    "p_value",
    "signed",
    "summary_line",
]
