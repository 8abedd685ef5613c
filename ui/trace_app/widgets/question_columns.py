"""The columns of the list of questions: which there are at a width, and what stands in them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from branchwise.base.numbers import UNKNOWN, number, short_count
from branchwise.eval.errors.labels import label_words
from branchwise.ui.traces.lines import ItemLine

MARKS = {"done": " ", "failed": "✗", "running": "»", "pending": "·"}
"""What stands for an item's status before its row."""

_WIDE = 120
_ROOMY, _MAX_LABELS = 150, 72
"""Cells from which on labels take a third of what is left, and the most that they take."""


@dataclass(frozen=True)
class ListColumn:
    """A column: `sort` is what a click on its head sorts by, `width` its cells without the gap.

    `right`: numbers. `kind` names the style (`question-list--KIND`).
    """

    sort: str
    head: str
    width: int
    cell: Callable[[ItemLine], str]
    right: bool = False
    kind: str = ""


def columns_at(width: int, heads: Sequence[str]) -> tuple[ListColumn, ...]:
    """The columns for a list of this many cells; the question takes what the others leave.

    `heads` name the metrics that rows show.
    """
    wide = width >= _WIDE
    labels = min(_MAX_LABELS, 44 + max(0, width - _ROOMY) // 3) if wide else 21
    first = [
        ListColumn("status", "", 1, lambda line: MARKS.get(line.status, "?"), kind="status"),
        *(_score_column(place, head) for place, head in enumerate(heads)),
        ListColumn("labels", "labels", labels, labels_cell(labels), kind="labels"),
        ListColumn("tokens", "tokens", 9 if wide else 6, tokens_cell(short=not wide), right=True),
        ListColumn("seconds", "s", 7 if wide else 5, seconds_cell, right=True),
        ListColumn("id", "id", 28 if wide else 10, _id_cell, kind="id"),
        ListColumn("question", "question", 0, lambda line: line.question),
    ]
    taken = sum(column.width + 1 for column in first)
    first[-1] = replace(first[-1], width=max(0, width - taken))
    return tuple(first)


def _score_column(place: int, head: str) -> ListColumn:
    def cell(line: ItemLine) -> str:
        return number(line.scores[place] if line.scores else None)

    return ListColumn(head, head, 4, cell, right=True)


def labels_cell(width: int) -> Callable[[ItemLine], str]:
    """Error labels in words, as many as fit and how many more there are: `never retrieved +2`.

    A failed item says so first, since not only its mark's colour must.
    """

    def cell(line: ItemLine) -> str:
        if line.labels is None and line.status == "done":
            return "…"
        failed = ["failed"] if line.status == "failed" else []
        return _fitting([*failed, *map(label_words, line.labels or ())], width)

    return cell


def _fitting(words: Sequence[str], width: int) -> str:
    for shown in range(len(words), 0, -1):
        more = f" +{len(words) - shown}" if shown < len(words) else ""
        text = ", ".join(words[:shown]) + more
        if len(text) <= width:
            return text
    return words[0] if words else ""


def tokens_cell(*, short: bool) -> Callable[[ItemLine], str]:
    """Whole where there is room, else with a unit from 10,000 on."""

    def cell(line: ItemLine) -> str:
        if line.tokens is None:
            return UNKNOWN if line.status in ("done", "failed") else ""
        return short_count(line.tokens) if short else f"{line.tokens:,}"

    return cell


def seconds_cell(line: ItemLine) -> str:
    """One digit below 1,000 seconds."""
    if line.seconds is None:
        return UNKNOWN if line.status in ("done", "failed") else ""
    return f"{line.seconds:.1f}" if line.seconds < 999.95 else f"{line.seconds:,.0f}"


def _id_cell(line: ItemLine) -> str:
    return f"{line.id} ·{line.epoch}" if line.epoch else line.id
