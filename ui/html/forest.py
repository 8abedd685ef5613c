"""Forest plots: each system's difference to the base with its interval."""

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from branchwise.corpora.text import counted
from branchwise.eval.numbers import interval, signed
from branchwise.eval.reporting.figures.changes import ChangeFigure, ChangeRow
from branchwise.eval.tasks import Task
from branchwise.ui.html.svg import (
    Scale,
    around_zero,
    colour,
    figure,
    label,
    line,
    mark,
    text,
    tick_words,
)

_LEFT, _RIGHT = 112, 366
_NAME, _ROW, _FOOT = 22, 20, 46


def draw_forest(found: ChangeFigure, task: Task) -> Markup:
    """Zero is the base; a filled mark is ambiguous questions, a hollow one the others."""
    ends = [
        value
        for row in found.rows
        for one in row.differences
        for value in (one.low, one.high, one.difference)
        if value is not None
    ]
    x = around_zero(_bounded(ends), _LEFT, _RIGHT)
    bottom = sum(_NAME + _ROW * len(one.differences) for one in found.rows) + 4
    parts = [*_axis(x, bottom)]
    y = 0.0
    for one in found.rows:
        parts += _system(one, task, x, y)
        y += _NAME + _ROW * len(one.differences)
    of = counted(len(found.rows), "system")
    said = f"differences of {of} to the base with 95% intervals; values below"
    return figure(bottom + _FOOT, found.title, said, parts)


def _bounded(ends: Sequence[float]) -> list[float]:
    """The ends cut to -1 to 1: an interval over few questions may be wider than any difference."""
    return [min(max(value, -1.0), 1.0) for value in ends]


def _axis(x: Scale, bottom: float) -> Iterator[Markup]:
    for tick in x.ticks:
        yield line(x.place(tick), 4, x.place(tick), bottom, "grid" if tick else "zero")
    for tick, said in zip(x.ticks, tick_words(x.ticks, with_sign=True), strict=True):
        yield text(x.place(tick), bottom + 17, said, "tick", "middle")
    yield text(x.place(x.high), bottom + 36, "better →", "axis-title", "end")
    yield text(x.place(x.low), bottom + 36, "← worse", "axis-title")


def _system(one: ChangeRow, task: Task, x: Scale, top: float) -> Iterator[Markup]:
    yield text(4, top + 17, label(one.name, 46), "name")
    for place, found in enumerate(one.differences):
        y = top + _NAME + _ROW * (place + 0.5)
        yield text(12, y + 4, task.subset_words[found.subset], "tick")
        if found.difference is None:
            continue
        if found.low is not None and found.high is not None:
            kind = f"whisker {colour(one.index)}"
            yield line(x.place(found.low), y, x.place(found.high), y, kind)
        said = f"{one.name}, {task.questions_words(found.subset)}: {signed(found.difference)}"
        said = f"{said} {interval(found.low, found.high)}".strip()
        hollow = found.subset == "unambiguous"
        yield mark(one.index, x.place(found.difference), y, said, hollow=hollow)
