"""Tables for LaTeX with booktabs, shrunk to a width where they are wider; every text is data."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice

from branchwise.base.errors import InputError
from branchwise.eval.bootstrap import Intervals
from branchwise.report.exports.latex_grid import (
    Grid,
    GridCell,
    GridColumn,
    caption_of,
    grid_of,
    notes_of,
)
from branchwise.report.exports.latex_text import escape, numeric, sentence
from branchwise.report.tables import Table

COLUMN, PAGE = 219.0, 345.0
"""Points: the narrowest column of the usual two-column classes (ACL's), and the text of `article`,
which is narrower than a page of any of those."""
_WIDTHS: Mapping[str, float] = {"column": COLUMN, "page": PAGE}
_POINTS: Mapping[str, float] = {"pt": 1.0, "cm": 28.4528, "mm": 2.84528, "in": 72.27}
_LEAST, _MOST_WIDTH = 150.0, 1000.0
_WIDEST_COLUMN = 260.0
_LINES = 50
"""Lines of rows that a page has room for; a table of more goes on in another float."""
_LETTERS = 40
"""Letters of a text on a line: a column of longer ones breaks its lines."""
_ON_LINE = 90
"""Letters of a line of notes."""
_LONG_HEADING = 9
"""Letters of a heading on one line."""
_SMALL = r"\scriptsize "
_WAITING = 10
"""Floats that may wait for a place."""
_HEAD = """\
% Needs \\usepackage{array,booktabs,graphicx}, and pdfLaTeX from 2020 on, LuaLaTeX or XeLaTeX
% (these two where a name has letters that the font of pdfLaTeX lacks).
"""


@dataclass(frozen=True)
class LatexLook:
    """How wide tables may be, in points, and where intervals stand."""

    width: float = PAGE
    intervals: Intervals = "below"

    @property
    def environment(self) -> str:
        """`table*` spans the columns of a class that has two."""
        return "table" if self.width <= _WIDEST_COLUMN else "table*"

    @property
    def note_width(self) -> float:
        """Points of the lines of notes, which are hard to read where they are long."""
        return min(self.width, PAGE)


def read_width(text: str) -> float:
    """Points of "column", "page" or a length such as "8.5cm". Raises InputError."""
    if text in _WIDTHS:
        return _WIDTHS[text]
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(pt|cm|mm|in)", text.strip())
    points = float(found[1]) * _POINTS[found[2]] if found else 0.0
    if not _LEAST <= points <= _MOST_WIDTH:
        raise InputError(
            f"{text[:40]!r} is not a width of a table",
            where="--width",
            remedy="write column, page, or a length from 150pt on, such as 8.5cm",
        )
    return points


def latex_files(tables: Sequence[Table], look: LatexLook = LatexLook()) -> dict[str, bytes]:
    """File name to its content: a file for each table that is for readers."""
    printed = [table for table in tables if table.printed]
    return {
        f"{one.name}.tex": "".join([_HEAD, *_spaced(_floats(one, look))]).encode()
        for one in printed
    }


def latex(tables: Sequence[Table], look: LatexLook = LatexLook()) -> str:
    """The same in one text."""
    floats = (one for table in tables if table.printed for one in _floats(table, look))
    return "\n".join([_HEAD, *_spaced(floats)])


def _spaced(floats: Iterable[str]) -> Iterator[str]:
    """With a page's end after so many: LaTeX cannot keep all that wait for a place."""
    for number, text in enumerate(floats):
        if number and number % _WAITING == 0:
            yield "\\clearpage\n"
        yield text


def _floats(table: Table, look: LatexLook) -> Iterator[str]:
    """The environments of a table: one, unless it has more rows than a page."""
    grid = grid_of(table, look.intervals)
    notes = notes_of(table, look.intervals)
    room = _LINES - sum(len(note) for note in notes) // _ON_LINE
    pages = list(_pages(grid, room))
    caption = sentence(caption_of(table.as_printed()))
    for number, page in enumerate(pages, start=1):
        which = f" ({number}~of~{len(pages)})" if len(pages) > 1 else ""
        # A later one has the number of the first.
        label = f"\\label{{tab:{table.name}}}\n" if number == 1 else ""
        again = "\\addtocounter{table}{-1}\n" if number > 1 else ""
        yield (
            f"\\begin{{{look.environment}}}[tp]\n\\centering\n{again}"
            "\\footnotesize\\setlength{\\tabcolsep}{3pt}\\setlength{\\belowcaptionskip}{4pt}\n"
            f"\\caption{{{caption}{which}}}\n{label}"
            f"\\resizebox{{\\ifdim\\width>{look.width:.1f}pt {look.width:.1f}pt"
            "\\else\\width\\fi}{!}{%\n"
            + "".join(_tabular(grid, page))
            + "}\n"
            + ("".join(_notes(notes, look)) if number == len(pages) else "")
            + f"\\end{{{look.environment}}}\n"
        )


_Span = tuple[str, Sequence[int]]
"""The heading of a group and the numbers of its rows on a page."""


def _pages(grid: Grid, room: int) -> Iterator[list[_Span]]:
    """The rows, as many together as there is room for; a group is parted only where it is longer
    than a page, each piece with its heading."""
    page: list[_Span] = []
    free, rows = room, iter(range(sum(count for _, count in grid.groups)))
    for name, count in grid.groups:
        for piece in _pieces([(row, _lines(grid, row)) for row in islice(rows, count)], room - 2):
            used = 2 + sum(lines for _, lines in piece)
            if page and used > free:
                yield page
                page, free = [], room
            page.append((name, [row for row, _ in piece]))
            free -= used
    yield page


def _pieces(lines: Sequence[tuple[int, int]], room: int) -> list[list[tuple[int, int]]]:
    """Numbers of rows with their lines, in pieces of about as many, none of more than `room`."""
    total, longest = sum(one for _, one in lines), max(one for _, one in lines)
    room = min(room, math.ceil(total / math.ceil(total / room)) + longest - 1)
    pieces: list[list[tuple[int, int]]] = [[]]
    for row in lines:
        if pieces[-1] and row[1] + sum(lines for _, lines in pieces[-1]) > room:
            pieces.append([])
        pieces[-1].append(row)
    return pieces


def _lines(grid: Grid, row: int) -> int:
    """How many lines a row takes."""
    cells = [one.cells[row] for one in (grid.label, *grid.columns)]
    longest = max(len(cell.text) for cell in cells)
    return 1 + longest // _LETTERS + any(cell.under for cell in cells)


def _tabular(grid: Grid, page: Sequence[_Span]) -> Iterator[str]:
    columns = (grid.label, *grid.columns)
    yield f"\\begin{{tabular}}{{@{{}}{''.join(map(_side, columns))}@{{}}}}\n\\toprule\n"
    yield from _group_headings(columns)
    yield _line([_heading(one.title) for one in columns])
    yield "\\midrule\n"
    for number, (name, rows) in enumerate(page):
        if number:
            yield "\\midrule\n"
        if name:
            yield _line(
                [f"\\multicolumn{{{len(columns)}}}{{@{{}}l@{{}}}}{{\\itshape {escape(name)}}}"]
            )
        for row in rows:
            yield from _row([one.cells[row] for one in columns], columns)
    yield "\\bottomrule\n\\end{tabular}"


def _is_long(column: GridColumn) -> bool:
    return column.is_text and max((len(cell.text) for cell in column.cells), default=0) > _LETTERS


def _side(column: GridColumn) -> str:
    if _is_long(column):
        return f">{{\\raggedright\\arraybackslash}}p{{{_LETTERS / 2:.0f}em}}"
    return "l" if column.is_text else "r"


def _group_headings(columns: Sequence[GridColumn]) -> Iterator[str]:
    """A line of headings over several columns each, with a rule below, where there are any."""
    cells, rules, first = [], [], 1
    for name, found in groupby(columns, lambda one: one.group):
        span = len(list(found))
        cells.append(rf"\multicolumn{{{span}}}{{c}}{{{escape(name)}}}")
        if name:
            rules.append(rf"\cmidrule(lr){{{first}-{first + span - 1}}}")
        first += span
    if rules:
        yield f"{_line(cells)}{' '.join(rules)}\n"


def _heading(title: str) -> str:
    """On two lines where it is long: numbers are narrow."""
    words = title.split()
    if len(title) <= _LONG_HEADING or len(words) == 1:
        return escape(title)
    halves = [(" ".join(words[:n]), " ".join(words[n:])) for n in range(1, len(words))]
    upper, lower = min(halves, key=lambda half: max(map(len, half)))
    return f"\\shortstack{{{escape(upper)}\\\\{escape(lower)}}}"


def _row(cells: Sequence[GridCell], columns: Sequence[GridColumn]) -> Iterator[str]:
    yield _line([_cell(cell, one) for cell, one in zip(cells, columns, strict=True)])
    if any(cell.under for cell in cells):
        yield _line([_small(cell.under) for cell in cells])


def _cell(cell: GridCell, column: GridColumn) -> str:
    if column.is_text:
        return sentence(cell.text) if _is_long(column) else escape(cell.text)
    return numeric(cell.text) + (f" {_small(cell.beside)}" if cell.beside else "")


def _small(text: str) -> str:
    return f"{{{_SMALL}{numeric(text)}}}" if text else ""


def _line(cells: Sequence[str]) -> str:
    return f"{' & '.join(cells)} \\\\\n"


def _notes(notes: Sequence[str], look: LatexLook) -> Iterator[str]:
    if notes:
        words = " ".join(sentence(note if note.endswith(".") else f"{note}.") for note in notes)
        yield "\\par\\smallskip\n"
        yield f"\\begin{{minipage}}{{{look.note_width:.0f}pt}}\\raggedright"
        yield f"\\scriptsize {words}\\end{{minipage}}\n"
