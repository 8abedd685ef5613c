"""Text and tables as the page shows them: bounded, and unable to mislead the reader."""

import unicodedata
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Literal

from branchwise.base.numbers import interval, number, percent
from branchwise.base.text import one_line
from branchwise.eval.bootstrap import Aggregate
from branchwise.report.table import (
    SYSTEM,
    CellValue,
    Shown,
    Table,
    change_mark,
    column_groups,
    shown_rows,
)

MAX_TEXT = 400
_REPLACED = "\N{REPLACEMENT CHARACTER}"
_CONTROL, _FORMAT, _SURROGATE, _PRIVATE, _UNASSIGNED = "Cc", "Cf", "Cs", "Co", "Cn"
_JOINERS = frozenset("\u200c\u200d\u00ad")
"""Format characters that words need: joiners of Persian and Indic scripts, and the soft hyphen."""


def shown(text: str) -> str:
    """The text with its invisible characters made visible.

    A control character becomes its picture (ESC is ␛), a direction override or another format
    character its number (⟨U+202E⟩), a half surrogate �. Line breaks and tabs are spaces. Markup is
    not escaped here: Jinja and the browser's `textContent` do that.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _visible(c) for c in text)


@lru_cache(maxsize=10_000)
def short(text: str, most: int = MAX_TEXT) -> str:
    """As shown, on one line, with an ellipsis where it is cut."""
    line = one_line(shown(text[: 4 * most]))
    return line if len(line) <= most and len(text) <= 4 * most else f"{line[: most - 1]}…"


def shares(parts: Iterable[tuple[int, str]], whole: int) -> str:
    """ "53% never retrieved, 4% under the wrong branch": what there is, largest first."""
    ranked = sorted((part for part in parts if part[0]), key=lambda part: -part[0])
    return ", ".join(f"{percent(count, whole)} {words}" for count, words in ranked)


def _visible(character: str) -> str:
    kind = unicodedata.category(character)
    if character in "\n\t\r" or kind.startswith("Z"):
        return " "
    if kind == _CONTROL:
        code = ord(character)
        return chr(0x2400 + code) if code < 0x20 else "\N{SYMBOL FOR DELETE}"
    if kind == _FORMAT:
        return character if character in _JOINERS else f"⟨U+{ord(character):04X}⟩"
    return _REPLACED if kind in (_SURROGATE, _PRIVATE, _UNASSIGNED) else character


MAX_NAME = 120
RowKind = Literal["plain", "group", "published", "base"]


@dataclass(frozen=True)
class PageCell:
    """A cell's text, and the smaller text below it."""

    text: str
    under: str = ""


@dataclass(frozen=True)
class PageRow:
    """A row: its heading, then its cells. A `group` row has a heading alone."""

    heading: PageCell
    cells: tuple[PageCell, ...] = ()
    kind: RowKind = "plain"


@dataclass(frozen=True)
class PageTable:
    """A table with its caption.

    `columns`: headings, that of the row headings first. `words`: numbers of the columns that hold
    words, the one after the row headings being 1. `groups`: headings over several columns with
    their number, all columns but the row headings being in one; empty where there is none.
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[PageRow, ...]
    words: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    groups: tuple[tuple[str, int], ...] = ()


def laid_out(table: Table, bases: Collection[str] = ()) -> PageTable:
    """A table of the report: rows in groups, a p-value under the change that it is of.

    `bases`: the systems whose rows are marked.
    """
    printed = table.as_printed()
    *groups, label = printed.key_columns
    names = {*groups, label}
    shown = [
        i
        for i, one in enumerate(printed.columns)
        if not one.is_key and one.unit != "p" and i not in names
    ]
    headings = [printed.columns[i] for i in shown]
    rows = list(zip(printed.rows, shown_rows(printed, short), strict=True))
    laid: list[PageRow] = []
    for _, chosen in groupby(rows, lambda row: [row[0][i] for i in groups]):
        first, *others = chosen
        if groups:
            named = " · ".join(first[1][i].text for i in groups)
            laid.append(PageRow(PageCell(named), kind="group"))
        for found, cells in (first, *others):
            kind = _kind(printed, found, bases if label == printed.place(SYSTEM) else ())
            laid.append(
                PageRow(PageCell(cells[label].text), _cells(printed, found, cells, shown), kind)
            )
    return PageTable(
        short(_caption(printed)),
        (printed.columns[label].title, *(short(one.title) for one in headings)),
        tuple(laid),
        tuple(n for n, one in enumerate(headings, 1) if one.unit == "text"),
        tuple(short(note) for note in printed.notes),
        tuple((short(name), span) for name, span in column_groups(headings)),
    )


def _caption(table: Table) -> str:
    """The title; it names the system where no row does."""
    named = 0 not in table.key_columns
    return f"{table.title} · {table.rows[0][0]}" if named else table.title


def mean(found: Aggregate, questions: int | None = None) -> PageCell:
    """A mean over its interval, and over n where that is asked for."""
    ends = interval(found.low, found.high)
    n = "" if questions is None else f"n={questions:,}"
    return PageCell(number(found.mean), f"{ends} {n}".strip())


def _cells(
    table: Table,
    row: Sequence[CellValue],
    shown: Sequence[Shown],
    places: Sequence[int],
) -> tuple[PageCell, ...]:
    laid = []
    for place in places:
        one = shown[place]
        under, mark = " ".join(part for part in (one.interval, one.n) if part), one.mark
        if place + 1 < len(row) and table.columns[place + 1].unit == "p":
            p, change = row[place + 1], row[place]
            under = f"{under} p {shown[place + 1].text}" if p is not None else under
            if isinstance(p, float) and isinstance(change, Aggregate):
                mark = change_mark(change.mean, p)
        laid.append(PageCell(f"{one.text} {mark}".strip(), under.strip()))
    return tuple(laid)


def _kind(table: Table, row: Sequence[CellValue], bases: Collection[str]) -> RowKind:
    origin = table.place("origin")
    if origin is not None and row[origin] != "measured":
        return "published"
    return "base" if row[0] in bases else "plain"
