"""Plug-in metrics that failed for an item, in words."""

from collections.abc import Iterable

from branchwise.base.text import printable
from branchwise.eval.scores import ItemScore, Scores

_MAX_ID = 80


def failure_lines(scored: Iterable[Scores]) -> list[str]:
    """A line for each metric: how many items it left unscored, and why the first of them."""
    failed: dict[str, list[ItemScore]] = {}
    items = 0
    for scores in scored:
        items += len(scores.items)
        for metric, item in scores.failures:
            failed.setdefault(metric, []).append(item)
    return [_line(metric, found, items) for metric, found in failed.items()]


def _line(metric: str, found: list[ItemScore], items: int) -> str:
    first = found[0]
    epoch = f" in epoch {first.epoch}" if any(item.epoch for item in found) else ""
    question = f"question {printable(first.id)[:_MAX_ID]}{epoch}"
    why = printable(first.failures[metric])
    said = f"the metric {metric} left {len(found)} of {items} items unscored"
    return f"{said}; the first is {question}: {why}"
