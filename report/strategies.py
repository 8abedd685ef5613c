"""Strategies: how conditional answers are asked for, hints aside (MDCR's rows)."""

from branchwise.graphs.system import System

BY_STRATEGY = frozenset({"shots", "reasoning", "hints"})
"""What systems may differ in that are compared by strategy and hints."""


def strategy(system: System) -> str:
    """ "0-shot", "1-shot", "1-shot, steps"."""
    steps = ", steps" if system.asked("reasoning") == "steps" else ""
    return f"{system.asked('shots')}-shot{steps}"
