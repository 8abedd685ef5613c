"""Text and tables as the page shows them: bounded, and unable to mislead the reader."""

import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

from branchwise.base.numbers import interval, number
from branchwise.base.text import one_line
from branchwise.eval.bootstrap import Aggregate
from branchwise.report.table import (
    SYSTEM,
    CellText,
    CellValue,
    Table,
    change_mark,
    column_groups,
    row_texts,
)

MAX_TEXT, MAX_NAME = 400, 120
_JOINERS = frozenset("\u200c\u200d\u00ad")
"""Format characters that words need: joiners of Persian and Indic scripts, and the soft hyphen."""


def shown(text: str) -> str:
    """The text with invisible characters made visible: a control character becomes its picture
    (ESC is ␛), a format character its number (⟨U+202E⟩), a half surrogate �, a line break a
    space. Markup is left to Jinja and the browser's `textContent`."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _visible(c) for c in text)


def _visible(character: str) -> str:
    category, code = unicodedata.category(character), ord(character)
    if character in "\n\t\r" or category.startswith("Z"):
        return " "
    if category == "Cc":
        return chr(0x2400 + code) if code < 0x20 else "\N{SYMBOL FOR DELETE}"
    if category == "Cf":
        return character if character in _JOINERS else f"⟨U+{code:04X}⟩"
    # Half surrogates, private and unassigned characters.
    return "\N{REPLACEMENT CHARACTER}" if category in ("Cs", "Co", "Cn") else character


@lru_cache(maxsize=10_000)
def short(text: str, most: int = MAX_TEXT) -> str:
    """As shown, on one line, with an ellipsis where it is cut."""
    line = one_line(shown(text[: 4 * most]))
    return line if len(line) <= most and len(text) <= 4 * most else f"{line[: most - 1]}…"


@dataclass(frozen=True)
class PageCell:
    """A cell's text, and the smaller text below it."""

    text: str
    under: str = ""


@dataclass(frozen=True)
class PageRow:
    """A row: heading and cells. `kind`: plain, group (a heading alone), published, or base."""

    heading: PageCell
    cells: tuple[PageCell, ...] = ()
    kind: str = "plain"


@dataclass(frozen=True)
class PageTable:
    """A table. `columns`: headings, that of the row headings first; `words`: numbers of the
    columns that hold words, from 1; `groups`: headings over all columns but the first, and over
    how many."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[PageRow, ...]
    words: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    groups: tuple[tuple[str, int], ...] = ()


def laid_out(table: Table, bases: Collection[str] = ()) -> PageTable:
    """A table: rows in groups, those of `bases` marked, a p-value under its change."""
    printed = table.as_printed()
    *groups, label = printed.key_columns
    keys = {*groups, label}
    indexes = [
        index
        for index, column in enumerate(printed.columns)
        if not column.is_key and column.unit != "p" and index not in keys
    ]
    headings = [printed.columns[index] for index in indexes]
    marked = bases if label == printed.index(SYSTEM) else ()
    rows = zip(printed.rows, row_texts(printed, short), strict=True)
    laid: list[PageRow] = []
    for _, grouped in groupby(rows, lambda pair: [pair[0][index] for index in groups]):
        pairs = list(grouped)
        if groups:
            name = " · ".join(pairs[0][1][index].text for index in groups)
            laid.append(PageRow(PageCell(name), kind="group"))
        for row, texts in pairs:
            cells = tuple(_cell(printed, row, texts, index) for index in indexes)
            laid.append(PageRow(PageCell(texts[label].text), cells, _kind(printed, row, marked)))
    return PageTable(
        short(printed.caption),
        (printed.columns[label].title, *(short(heading.title) for heading in headings)),
        tuple(laid),
        tuple(n for n, heading in enumerate(headings, 1) if heading.unit == "text"),
        tuple(short(note) for note in printed.notes),
        tuple((short(name), span) for name, span in column_groups(headings)),
    )


def mean_cell(mean: Aggregate, questions: int | None = None) -> PageCell:
    """A mean over its interval, and over n where that is asked for."""
    n = "" if questions is None else f"n={questions:,}"
    return PageCell(number(mean.mean), f"{interval(mean.low, mean.high)} {n}".strip())


def _cell(
    table: Table, row: Sequence[CellValue], texts: Sequence[CellText], index: int
) -> PageCell:
    cell, after = texts[index], index + 1
    under, mark = " ".join(part for part in (cell.interval, cell.n) if part), cell.mark
    if after < len(row) and table.columns[after].unit == "p":
        p, change = row[after], row[index]
        under = f"{under} p {texts[after].text}" if p is not None else under
        if isinstance(p, float) and isinstance(change, Aggregate):
            mark = change_mark(change.mean, p)
    return PageCell(f"{cell.text} {mark}".strip(), under.strip())


def _kind(table: Table, row: Sequence[CellValue], bases: Collection[str]) -> str:
    origin = table.index("origin")
    if origin is not None and row[origin] != "measured":
        return "published"
    return "base" if row[0] in bases else "plain"
