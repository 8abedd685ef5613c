"""Strategies: how conditional answers are asked for, hints aside (MDCR's rows)."""

from branchwise.graphs.system import System

BY_STRATEGY = frozenset({"shots", "reasoning", "hints"})
"""What systems may differ in that are compared by strategy and hints."""
HINT_WORDS = {
    "none": "no hints",
    "documents": "documents",
    "values": "values",
    "relations": "relations",
    "all": "all hints",
}
"""Hints in the order in which they are read, and what tables call them."""


def strategy(system: System) -> str:
    """ "0-shot", "1-shot", "1-shot, steps"."""
    steps = ", steps" if system.asked("reasoning") == "steps" else ""
    return f"{system.asked('shots')}-shot{steps}"
