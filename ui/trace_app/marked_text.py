"""A piece of a block's text with its marks, as styled segments that a terminal draws.

Every mark has a text style of its own, so that none is told by its colour alone.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from rich.segment import Segment
from rich.style import Style
from textual.app import App
from textual.color import Color, ColorParseError

from branchwise.report.terminal.blocks import Mark, MarkKind
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


_MARKS: dict[MarkKind, tuple[str, str]] = {
    "gold": ("text-success", "bold underline"),
    "wrong": ("text-error", "bold strike"),
    "span": ("text-accent", "italic"),
    "key": ("text-primary", ""),
    "string": ("text-success", ""),
    "number": ("text-warning", ""),
    "word": ("text-accent", "bold"),
    "comment": ("", "dim italic"),
    "dim": ("", "dim"),
    "strong": ("", "bold"),
}
"""Kind of mark: a variable of the theme, and a text style."""


def mark_styles(app: App[None]) -> Mapping[MarkKind, Style]:
    """Partial styles (no background) of the marks, in the app's theme."""
    variables = app.theme_variables
    return _styles(tuple(variables.get(name, "") for name, _ in _MARKS.values()))


@lru_cache(maxsize=8)
def _styles(values: tuple[str, ...]) -> Mapping[MarkKind, Style]:
    return {
        kind: Style.parse(text_style) + _coloured(value)
        for (kind, (_, text_style)), value in zip(_MARKS.items(), values, strict=True)
    }


def _coloured(value: str) -> Style:
    """A foreground; none where the theme leaves it to the background (`auto 60%`)."""
    try:
        colour = Color.parse(value)
    except ColorParseError:
        return Style()
    return Style(color=colour.rich_color) if colour.a == 1 else Style()
