"""Bars: where gold answers are, and how many items have an error of each class."""

from collections.abc import Iterator, Sequence
from typing import Any

from markupsafe import Markup

from branchwise.corpora.text import counted
from branchwise.eval.errors.classes import ErrorClass
from branchwise.eval.numbers import percent
from branchwise.eval.reporting.figures.errors import ErrorShares, SystemErrors
from branchwise.eval.reporting.figures.losses import PLACES, Bar
from branchwise.ui.html.svg import element, figure, label, line, text

_LEFT, _RIGHT = 4, 376
_SHARE_SHOWN = 0.075
_COLUMN, _FULL, _HEADING = 94.0, 48.0, 34.0
_CLASSES = ("e6", "e3", "e4", "e7")


def draw_stacked(title: str, bars: Sequence[Bar]) -> Markup:
    """Bars of equal length, each a whole; parts are told apart by colour, order and number."""
    drawn = [part for place, bar in enumerate(bars) for part in _stacked(bar, 46.0 * place)]
    said = f"shares of {counted(len(bars), 'system')}; values below"
    return figure(46 * len(bars) + 2, title, said, drawn)


def draw_error_shares(found: ErrorShares) -> Markup:
    """Under each system a bar a class: of the items that are not exact; across it, of all; below
    it, as the paper words the class."""
    parts: list[Markup] = []
    for column, group in enumerate(found.classes):
        parts += _heading(group.title, _COLUMN * column)
    height = 50 if any(group.published for group in found.classes) else 36
    for row, one in enumerate(found.systems):
        top = _HEADING + float(height) * row
        parts.append(text(_LEFT, top + 14, label(one.name, 50), "name"))
        for column, group in enumerate(found.classes):
            kind = _CLASSES[found.of.classes.index(group) % len(_CLASSES)]
            parts += _bar(one, group, kind, _LEFT + _COLUMN * column, top + 19)
    said = (
        f"shares of items of {counted(len(found.systems), 'system')} with each error; values below"
    )
    return figure(_HEADING + height * len(found.systems), found.title, said, parts)


def _heading(title: str, x: float) -> Iterator[Markup]:
    """On two lines, which end above the bars."""
    lines = title.rsplit(" ", 1)
    for place, words in enumerate(lines, 2 - len(lines)):
        yield text(_LEFT + x, 12 + 14 * place, words, "axis-title")


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


def _bar(
    one: SystemErrors, group: ErrorClass[Any], colour: str, x: float, y: float
) -> Iterator[Markup]:
    counts = one.counts
    inexact, of_all = counts.inexact_with[group.key], counts.with_error[group.key]
    share, whole = percent(inexact, counts.inexact), percent(of_all, counts.items)
    said = (
        f"{one.name}: {group.title}: {inexact:,} of {counts.inexact:,} that are not exact "
        f"({share}), {of_all:,} of all {counts.items:,} ({whole})"
    )
    width, across = _FULL * (counts.of_inexact(group) or 0), _FULL * (counts.of_all(group) or 0)
    kind = f"part {colour}"
    tip = element("title", said)
    yield element("rect", tip, x=x, y=y, width=max(width, 1), height=12, class_=kind)
    yield line(x + across, y - 2, x + across, y + 14, "across")
    yield text(x + max(width, across) + 4, y + 10, share, "tick")
    if (of_paper := group.published) is not None:
        own, width = counts.inexact_with[of_paper.key], _FULL * (counts.of_inexact(of_paper) or 0)
        share = percent(own, counts.inexact)
        tip = element("title", f"{one.name}: {group.title} {of_paper.title}: {own:,} ({share})")
        yield element("rect", tip, x=x, y=y + 17, width=max(width, 1), height=6, class_="hollow")
        yield text(x + width + 4, y + 24, share, "tick")
