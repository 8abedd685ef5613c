"""Bars: where gold answers are, and how many items have an error of each class."""

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from branchwise.eval.numbers import percent
from branchwise.eval.reporting.error_types import ErrorClass, ErrorType
from branchwise.eval.reporting.figures.errors import ErrorShares, SystemErrors
from branchwise.eval.reporting.figures.losses import PLACES, Bar
from branchwise.ui.html.svg import colour, element, figure, label, line, mark, text

_LEFT, _RIGHT = 4, 376
_SHARE_SHOWN = 0.075
_WIDEST = 258
_MOST_BARS = 40
"""Bars of types of errors; more would be too long to look at, and stand in the table alone."""


def draw_stacked(title: str, bars: Sequence[Bar]) -> Markup:
    """Bars of equal length, each a whole; parts are told apart by colour, order and number."""
    drawn = [part for place, bar in enumerate(bars) for part in _stacked(bar, 46.0 * place)]
    said = f"shares of {len(bars)} systems; values below"
    return figure(46 * len(bars) + 2, title, said, drawn)


def draw_error_shares(found: ErrorShares) -> Markup:
    """Under each class a bar a system: of items that are not exact; across it, of all."""
    parts: list[Markup] = []
    y = 0.0
    for words, kind in _kinds(found):
        parts.append(text(4, y + 14, words, "name" if isinstance(kind, ErrorClass) else "tick"))
        y += 19
        for one in found.systems:
            parts += _bar(one, kind, y)
            y += 14
        y += 7
    return figure(y, found.title, "shares of items with each error; values below", parts)


def _kinds(found: ErrorShares) -> Iterator[tuple[str, ErrorClass | ErrorType]]:
    """The classes, each before its types where these have room and say more."""
    types = [one for group in found.classes for one in found.types(group)]
    roomy = len(types) * len(found.systems) <= _MOST_BARS
    for group in found.classes:
        yield group.title, group
        of_class = found.types(group)
        if roomy and len(of_class) > 1:
            yield from ((one.words, one) for one in of_class)


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


def _bar(one: SystemErrors, kind: ErrorClass | ErrorType, y: float) -> Iterator[Markup]:
    counts = one.counts
    inexact, of_all = counts.inexact_with[kind.key], counts.with_error[kind.key]
    shares = percent(inexact, counts.inexact), percent(of_all, counts.items)
    width, across = (
        _WIDEST * (share or 0) for share in (counts.of_inexact(kind), counts.of_all(kind))
    )
    said = (
        f"{one.name}: {inexact:,} of {counts.inexact:,} that are not exact ({shares[0]}), "
        f"{of_all:,} of all {counts.items:,} ({shares[1]})"
    )
    yield mark(one.index, 11, y + 5)
    yield element(
        "rect",
        element("title", said),
        x=22,
        y=y,
        width=max(width, 1),
        height=10,
        class_=f"bar {colour(one.index)}",
    )
    yield line(22 + across, y - 1, 22 + across, y + 11, "across")
    yield text(22 + max(width, across) + 5, y + 9.5, " / ".join(shares), "tick")
