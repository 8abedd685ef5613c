"""Bars: where gold answers are, and how many items have an error of each kind."""

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from branchwise.eval.numbers import percent
from branchwise.eval.reporting.figures.losses import PLACES, Bar, LabelShare
from branchwise.ui.html.svg import colour, element, figure, label, mark, text

_LEFT, _RIGHT = 4, 376
_SHARE_SHOWN = 0.075


def draw_stacked(title: str, bars: Sequence[Bar]) -> Markup:
    """Bars of equal length, each a whole; parts are told apart by colour, order and number."""
    drawn = [part for place, bar in enumerate(bars) for part in _stacked(bar, 46.0 * place)]
    said = f"shares of {len(bars)} systems; values below"
    return figure(46 * len(bars) + 2, title, said, drawn)


def draw_labels(title: str, labels: Sequence[LabelShare]) -> Markup:
    """Under each kind a bar a system."""
    parts: list[Markup] = []
    y = 0.0
    for one in labels:
        parts.append(text(4, y + 14, one.words, "name"))
        y += 19
        for index, name, count, whole in one.shares:
            parts += _bar(index, name, count, whole, y)
            y += 14
        y += 7
    return figure(y, title, "shares of items with each kind of error; values below", parts)


def _stacked(bar: Bar, top: float) -> Iterator[Markup]:
    yield text(_LEFT, top + 14, label(bar.name, 50), "name")
    x = float(_LEFT)
    for index, count in enumerate(bar.counts):
        width = (_RIGHT - _LEFT) * count / (bar.gold or 1)
        if not count:
            continue
        said = (
            f"{bar.name}: {PLACES[index]}: {count:,} of {bar.gold:,} ({percent(count, bar.gold)})"
        )
        yield element(
            "rect",
            element("title", said),
            x=x,
            y=top + 19,
            width=width,
            height=20,
            class_=f"part e{index}",
        )
        if count / bar.gold >= _SHARE_SHOWN:
            shown = percent(count, bar.gold)
            yield text(x + width / 2, top + 33, shown, f"inside i{index}", "middle")
        x += width


def _bar(index: int, name: str, count: int, whole: int, y: float) -> Iterator[Markup]:
    width = 300 * count / (whole or 1)
    said = f"{name}: {count:,} of {whole:,}"
    yield mark(index, 11, y + 5)
    yield element(
        "rect",
        element("title", said),
        x=22,
        y=y,
        width=max(width, 1),
        height=10,
        class_=f"bar {colour(index)}",
    )
    yield text(22 + width + 5, y + 9.5, percent(count, whole), "tick")
