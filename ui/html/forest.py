"""Forest plots: each system's difference to the base with its interval."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from branchwise.eval.statistics import Difference, signed
from branchwise.ui.html.scales import Scale, around_zero, tick_words
from branchwise.ui.html.svg import colour, figure, label, line, mark, text
from branchwise.ui.html.tables import interval, subset_words

_LEFT, _RIGHT = 112, 366
_NAME, _ROW, _FOOT = 22, 20, 46


@dataclass(frozen=True)
class ForestSystem:
    """A system's number in the report, its name, and its differences by subset."""

    index: int
    name: str
    differences: tuple[Difference, ...]


def draw_forest(title: str, systems: Sequence[ForestSystem]) -> Markup:
    """Zero is the base; a filled mark is ambiguous questions, a hollow one the others."""
    ends = [
        value
        for one in systems
        for found in one.differences
        for value in (found.low, found.high, found.difference)
        if value is not None
    ]
    x = around_zero(_bounded(ends), _LEFT, _RIGHT)
    bottom = sum(_NAME + _ROW * len(one.differences) for one in systems) + 4
    parts = [*_axis(x, bottom)]
    y = 0.0
    for one in systems:
        parts += _system(one, x, y)
        y += _NAME + _ROW * len(one.differences)
    said = f"differences of {len(systems)} systems to the base with 95% intervals; values below"
    return figure(bottom + _FOOT, title, said, parts)


def _bounded(ends: Sequence[float]) -> list[float]:
    """Without what no difference of shares can be: an interval over few questions is wider."""
    return [min(max(value, -1.0), 1.0) for value in ends]


def _axis(x: Scale, bottom: float) -> Iterator[Markup]:
    for tick in x.ticks:
        yield line(x.place(tick), 4, x.place(tick), bottom, "grid" if tick else "zero")
    for tick, said in zip(x.ticks, tick_words(x.ticks, with_sign=True), strict=True):
        yield text(x.place(tick), bottom + 17, said, "tick", "middle")
    yield text(x.place(x.high), bottom + 36, "better →", "axis-title", "end")
    yield text(x.place(x.low), bottom + 36, "← worse", "axis-title")


def _system(one: ForestSystem, x: Scale, top: float) -> Iterator[Markup]:
    yield text(4, top + 17, label(one.name, 46), "name")
    for place, found in enumerate(one.differences):
        y = top + _NAME + _ROW * (place + 0.5)
        yield text(12, y + 4, subset_words(found.subset), "tick")
        if found.difference is None:
            continue
        if found.low is not None and found.high is not None:
            kind = f"whisker {colour(one.index)}"
            yield line(x.place(found.low), y, x.place(found.high), y, kind)
        said = f"{one.name}, {subset_words(found.subset)} questions: {signed(found.difference)}"
        said = f"{said} {interval(found.low, found.high)}".strip()
        hollow = found.subset == "unambiguous"
        yield mark(one.index, x.place(found.difference), y, said, hollow=hollow)
