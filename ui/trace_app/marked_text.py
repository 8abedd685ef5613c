"""A piece of a block's text with its marks, as segments that a terminal draws."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.segment import Segment
from rich.style import Style

from branchwise.ui.steps.blocks import Mark, MarkKind
from branchwise.ui.trace_app.cells import drawn, widths

PRIORITY: Sequence[MarkKind] = (
    *("key", "string", "number", "word", "comment", "dim", "strong"),
    *("span", "wrong", "gold"),
)
"""Where marks overlap their styles are added up; of two colours the later kind's is seen."""


@dataclass(frozen=True)
class Runs:
    """A text cut where its marks change: the kinds that hold from each start to the next one."""

    starts: Sequence[int]
    kinds: Sequence[tuple[MarkKind, ...]]


def runs_of(marks: Sequence[Mark]) -> Runs:
    """Overlapping marks as consecutive runs."""
    changes: dict[int, list[tuple[int, MarkKind]]] = {0: []}
    for mark in marks:
        if mark.end > mark.start:
            changes.setdefault(mark.start, []).append((1, mark.kind))
            changes.setdefault(mark.end, []).append((-1, mark.kind))
    open_now = dict.fromkeys(PRIORITY, 0)
    starts = sorted(changes)
    kinds: list[tuple[MarkKind, ...]] = []
    for start in starts:
        for step, kind in changes[start]:
            open_now[kind] += step
        kinds.append(tuple(kind for kind, count in open_now.items() if count))
    return Runs(starts, kinds)


def segments(
    text: str, start: int, end: int, runs: Runs, base: Style, styles: Mapping[MarkKind, Style]
) -> Iterator[Segment]:
    """`text[start:end]` as it is drawn; a mark never parts a character from its accents."""
    for first, last, kinds in _pieces(text, start, end, runs):
        style = base
        for kind in kinds:
            style += styles[kind]
        yield Segment(drawn(text[first:last]), style)


def _pieces(
    text: str, start: int, end: int, runs: Runs
) -> Iterator[tuple[int, int, tuple[MarkKind, ...]]]:
    digits = widths(text[start:end])
    n = bisect_right(runs.starts, start) - 1
    first = start
    while first < end:
        last = runs.starts[n + 1] if n + 1 < len(runs.starts) else end
        last = min(last, end)
        while digits is not None and last < end and digits[last - start] == "0":
            last += 1
        if last > first:
            yield first, last, runs.kinds[n]
            first = last
        n += 1
