"""A table made to fit its width: smaller, then with lines of text broken, then in parts."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TypeVar

from branchwise.ui.exports.latex_grid import Grid, GridColumn
from branchwise.ui.exports.latex_widths import text_width

T = TypeVar("T")

_LOOKS = ((8.0, 3.0), (7.0, 2.0))
"""Sizes of the font with the space on each side of a column, in points, the first one preferred."""
SMALL = {8.0: 7.0, 7.0: 6.0}
"""The font of intervals."""
_SPARE = 0.98
_LABEL, _TEXT = 0.34, 0.4
"""The most of a width that a broken label takes, and another text."""
_LEAST_TEXT = 36.0
_LEAST_GROUP = 46.0
"""Points that the name of a group of columns needs, its long words being broken."""
_LONG_HEADING = 9  # letters
BEHIND_LABEL = 4.0
"""Points between label and numbers, beside the space of other columns."""


@dataclass(frozen=True)
class FitColumn:
    """A column with its heading's lines; `broken`: the width in points at which its lines break."""

    column: GridColumn
    heading: tuple[str, ...]
    width: float
    broken: bool = False


@dataclass(frozen=True)
class Fit:
    """`parts`: one below the other, each with the label as its first column. Sizes in points."""

    size: float
    space: float
    parts: tuple[tuple[FitColumn, ...], ...]

    def width(self, part: Sequence[FitColumn]) -> float:
        """Of a part, as far as can be told."""
        return self.span(part) + BEHIND_LABEL

    def span(self, columns: Sequence[FitColumn]) -> float:
        """Of neighbouring columns of numbers or texts."""
        return sum(one.width for one in columns) + 2 * self.space * (len(columns) - 1)


def evenly(pack: Callable[[int], list[T]], most: float) -> list[T]:
    """What `pack` makes with the least bound that needs no more pieces than `most` does."""
    found = pack(int(most))
    for bound in range(int(most) - 1, 0, -1):
        if len(narrower := pack(bound)) > len(found):
            break
        found = narrower
    return found


def fitted(grid: Grid, most: float) -> Fit:
    """The grid in `most` points of width."""
    for size, space in _LOOKS:
        columns = tuple(_under_groups(grid, size))
        fit = Fit(size, space, (columns,))
        if fit.width(columns) <= most * _SPARE:
            return fit
    return _narrowed(columns, Fit(size, space, ()), most * _SPARE)


def _narrowed(columns: Sequence[FitColumn], fit: Fit, most: float) -> Fit:
    """With texts broken, in one part where that is enough."""
    label, *others = (_broken(columns[0], most * _LABEL), *columns[1:])
    texts = [one for one in others if one.column.is_text]
    fixed = fit.width([label, *others]) - sum(one.width for one in texts)
    if texts and (room := (most - fixed) / len(texts)) >= _LEAST_TEXT:
        fair = _fair(texts, most - fixed, room)
        whole = [label, *(_broken(one, fair) for one in others)]
        if fit.width(whole) <= most:
            return Fit(fit.size, fit.space, (tuple(whole),))
    bounded = [_broken(one, most * _TEXT) for one in others]
    units = list(_units(bounded, fit, most - label.width))
    parts = evenly(lambda width: list(_packed(label, units, fit, width)), most)
    return Fit(fit.size, fit.space, tuple(parts))


def _fair(texts: Sequence[FitColumn], room: float, share: float) -> float:
    """The width that broken texts may have: narrow ones leave theirs to the others."""
    narrow = [one.width for one in texts if one.width <= share]
    wide = len(texts) - len(narrow)
    return (room - sum(narrow)) / wide if wide else share


def _packed(
    label: FitColumn, units: Sequence[list[FitColumn]], fit: Fit, most: float
) -> Iterator[tuple[FitColumn, ...]]:
    part = [label]
    for unit in units:
        if len(part) > 1 and fit.width([*part, *unit]) > most:
            yield tuple(part)
            part = [label]
        part += unit
    yield tuple(part)


def _units(columns: Sequence[FitColumn], fit: Fit, most: float) -> Iterator[list[FitColumn]]:
    """Columns that stay together: those of a group, where they fit, or that are of one number."""
    for name, found in groupby(columns, lambda one: one.column.group):
        group = list(found)
        if name and fit.width(group) + 2 * fit.space <= most:
            yield group
            continue
        unit: list[FitColumn] = []
        for one in group:
            if unit and not one.column.stays:
                yield unit
                unit = []
            unit.append(one)
        yield unit


def _under_groups(grid: Grid, size: float) -> Iterator[FitColumn]:
    """All columns, the label first, as wide as the names over them need."""
    for name, found in groupby((grid.label, *grid.columns), lambda one: one.group):
        group = [_natural(one, size) for one in found]
        least = min(text_width(name, size), _LEAST_GROUP) / len(group)
        yield from (replace(one, width=max(one.width, least)) for one in group)


def _natural(column: GridColumn, size: float) -> FitColumn:
    """As wide as it is where no line breaks."""
    small = SMALL[size]
    heading = _heading(column.title)
    widths = [text_width(line, size) for line in heading]
    for cell in column.cells:
        beside = text_width(f" {cell.beside}", small) if cell.beside else 0.0
        widths += [text_width(cell.text, size) + beside, text_width(cell.under, small)]
    return FitColumn(column, heading, max(widths))


def _broken(one: FitColumn, most: float) -> FitColumn:
    """With lines that break at a width, where it is a text that is wider."""
    if not one.column.is_text or one.width <= most:
        return one
    heading = tuple(one.column.title.split()) if len(one.heading) > 1 else one.heading
    return FitColumn(one.column, heading, most, broken=True)


def _heading(title: str) -> tuple[str, ...]:
    """On two lines where it is long."""
    words = title.split()
    if len(title) <= _LONG_HEADING or len(words) == 1:
        return (title,)
    breaks = range(1, len(words))
    half = min(breaks, key=lambda n: max(len(" ".join(words[:n])), len(" ".join(words[n:]))))
    return " ".join(words[:half]), " ".join(words[half:])
