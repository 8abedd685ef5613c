"""Which rows of a run are shown, in which order, and which one a question's id means."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from branchwise.base.errors import InputError, did_you_mean
from branchwise.ui.traces.lines import ItemLine
from branchwise.ui.traces.runs import RunView

SUBSETS = ("all", "ambiguous", "unambiguous")
_STATUSES = ("running", "failed", "pending", "done")
"""In the order in which users look for them."""


@dataclass(frozen=True)
class Arrangement:
    """How rows are arranged.

    `sort`: one of `sorts` of the run's metrics; `subset`: one of `SUBSETS`; `label` and `status`:
    only rows that have it; `text`: only rows in whose id or question every word of it occurs,
    whatever its case; `differs`: only rows whose item ended differently in the other run. Raises
    InputError for an unknown subset.
    """

    sort: str = "order"
    descending: bool = False
    subset: str = "all"
    label: str | None = None
    status: str | None = None
    text: str = ""
    differs: bool = False

    def __post_init__(self) -> None:
        _check(self.subset, SUBSETS)


def sorts(heads: Sequence[str]) -> tuple[str, ...]:
    """What rows are sorted by: `order` is the store's, `heads` are the run's metrics."""
    return ("order", "id", "question", "status", *heads, "labels", "tokens", "seconds")


def _check(value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise InputError(f"unknown: {value!r}", remedy=f"known are {', '.join(known)}")


def arranged(run: RunView, how: Arrangement, other: RunView | None = None) -> list[int]:
    """Numbers of the rows that are shown, in order.

    Rows without a value come last in either direction, equal ones in the store's order. `differs`
    without another run shows all. Raises InputError for an unknown sort.
    """
    _check(how.sort, sorts(run.heads))
    lines = run.lines()
    rows = [row for row, line in enumerate(lines) if _is_shown(line, how)]
    if how.differs and other is not None:
        others = {(line.id, line.epoch): line for line in other.lines()}
        found = ((row, others.get((lines[row].id, lines[row].epoch))) for row in rows)
        rows = [row for row, beside in found if differs(lines[row], beside)]
    if how.sort == "order":
        return rows[::-1] if how.descending else rows
    value = _VALUES.get(how.sort) or _score(run.heads.index(how.sort))
    valued = [(value(lines[row]), row) for row in rows]
    # A sort in reverse keeps equal ones in their order.
    known = sorted(
        (pair for pair in valued if pair[0] is not None),
        key=lambda pair: pair[0],
        reverse=how.descending,
    )
    return [row for _, row in known] + [row for found, row in valued if found is None]


def differs(a: ItemLine, b: ItemLine | None) -> bool:
    """Whether an item is missing from another run or ended differently there: in status or in a
    metric."""
    if b is None:
        return True
    return _ending(a) != _ending(b)


def _ending(line: ItemLine) -> tuple[Any, ...]:
    # Scores are kept with all their digits and worked out with the same arithmetic; rounding only
    # keeps two ways of adding apart from a difference.
    return line.status, *(None if one is None else round(one, 8) for one in line.scores)


def _is_shown(line: ItemLine, how: Arrangement) -> bool:
    if how.subset != "all" and line.ambiguous is not (how.subset == "ambiguous"):
        return False
    if how.status is not None and line.status != how.status:
        return False
    if how.label is not None and how.label not in (line.labels or ()):
        return False
    words = how.text.casefold().split()
    if not words:
        return True
    id, question = line.id.casefold(), line.question.casefold()
    return all(word in id or word in question for word in words)


def _status(line: ItemLine) -> int:
    return _STATUSES.index(line.status) if line.status in _STATUSES else len(_STATUSES)


def _labels(line: ItemLine) -> tuple[int, tuple[str, ...]] | None:
    """By how many there are, then by their names."""
    return None if line.labels is None else (len(line.labels), line.labels)


_VALUES: dict[str, Callable[[ItemLine], Any]] = {
    "id": lambda line: _natural(line.id),
    "question": lambda line: line.question.casefold(),
    "status": _status,
    "labels": _labels,
    "tokens": lambda line: line.tokens,
    "seconds": lambda line: line.seconds,
}


def _score(place: int) -> Callable[[ItemLine], Any]:
    return lambda line: line.scores[place] if line.scores else None


def _natural(id: str) -> tuple[tuple[int, int | str], ...]:
    """An id in pieces, so that q9 comes before q10."""
    pieces: list[tuple[int, int | str]] = []
    text, digits = "", ""
    for character in [*id, ""]:
        if "0" <= character <= "9":
            pieces += [(1, text)] if text else []
            text, digits = "", digits + character
        else:
            # Digits beyond Python's limit for integers are compared as text.
            pieces += [(0, int(digits)) if len(digits) < 1000 else (1, digits)] if digits else []
            text, digits = text + character.casefold(), ""
    return (*pieces, (1, text)) if text else (*pieces,)


def named_row(run: RunView, question: str, epoch: int = 0) -> int:
    """The row of a question. Raises InputError, suggesting similar ids, if there is no such row."""
    row = run.find(question, epoch)
    if row is not None:
        return row
    ids = [line.id for line in run.lines() if line.epoch == epoch]
    hint = did_you_mean(question, ids, else_=f"the first ids are {', '.join(ids[:3])}", most=3)
    if not ids:
        hint = "epochs are counted from 0"
    raise InputError(
        f"no item has the id {question[:80]!r} in epoch {epoch}", where=str(run.path), remedy=hint
    )
