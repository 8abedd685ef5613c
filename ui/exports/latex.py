"""Tables for LaTeX with booktabs, made to fit a width; every text in them is data."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby, islice

from branchwise.corpora.errors import InputError
from branchwise.eval.bounds import Intervals
from branchwise.eval.reporting.tables import Table
from branchwise.ui.exports.latex_fit import BEHIND_LABEL, SMALL, Fit, FitColumn, evenly, fitted
from branchwise.ui.exports.latex_grid import GridCell, caption_of, grid_of, notes_of
from branchwise.ui.exports.latex_text import breakable, escape, numeric, sentence
from branchwise.ui.exports.latex_widths import text_width

COLUMN, PAGE = 219.0, 345.0
"""Points: the narrowest column of the usual two-column classes (ACL's), and the text of `article`,
which is narrower than a page of any of those."""
_WIDTHS: Mapping[str, float] = {"column": COLUMN, "page": PAGE}
_POINTS: Mapping[str, float] = {"pt": 1.0, "cm": 28.4528, "mm": 2.84528, "in": 72.27}
_LEAST, _MOST_WIDTH = 150.0, 1000.0
_WIDEST_COLUMN = 260.0
_LINES, _OF_HEADINGS = 56, 4
"""Lines that a page has room for below a caption, and those that the headings of a part take; a
table of more goes on in another float."""
_WAITING = 10
"""Floats that may wait for a place."""
_HEAD = """\
% Needs \\usepackage{array,booktabs}, and pdfLaTeX from 2020 on, LuaLaTeX or XeLaTeX (these two
% where a name has letters that the font of pdfLaTeX lacks).
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
    fit = fitted(grid, look.width)
    notes = notes_of(table, look.intervals)
    most = _LINES - sum(text_width(note, 7.0) for note in notes) / look.note_width
    pages = list(_pages(grid.groups, fit, int(most / len(fit.parts)) - _OF_HEADINGS))
    caption = sentence(caption_of(table.as_printed()))
    for number, page in enumerate(pages, start=1):
        which = f" ({number}~of~{len(pages)})" if len(pages) > 1 else ""
        # A later one has the number of the first.
        label = f"\\label{{tab:{table.name}}}\n" if number == 1 else ""
        again = "\\addtocounter{table}{-1}\n" if number > 1 else ""
        parts = ["".join(_tabular(part, fit, page)) for part in fit.parts]
        yield (
            f"\\begin{{{look.environment}}}[tp]\n\\centering\n{again}"
            f"\\fontsize{{{fit.size:g}}}{{{fit.size + 1.5:g}}}\\selectfont\n"
            f"\\setlength{{\\tabcolsep}}{{{fit.space:g}pt}}"
            "\\setlength{\\belowcaptionskip}{4pt}\n"
            f"\\caption{{{caption}{which}}}\n{label}"
            + "\\par\\medskip\n".join(parts)
            + ("".join(_notes(notes, look)) if number == len(pages) else "")
            + f"\\end{{{look.environment}}}\n"
        )


_Span = tuple[str, Sequence[int]]
"""The heading of a group and the numbers of its rows on a page."""


def _pages(groups: Sequence[tuple[str, int]], fit: Fit, room: int) -> Iterator[list[_Span]]:
    """The rows, as many together as there is room for; a group is parted only where it is longer
    than a page, into even pieces, each with its heading."""
    page: list[_Span] = []
    free, rows = room, iter(range(sum(count for _, count in groups)))
    for name, count in groups:
        lines = [(row, _lines(fit, row)) for row in islice(rows, count)]
        heading = 2 * bool(name)
        for piece in evenly(partial(_pieces, lines), room - heading):
            used = heading + sum(lines for _, lines in piece)
            if page and used > free:
                yield page
                page, free = [], room
            page.append((name, [row for row, _ in piece]))
            free -= used
    yield page


def _pieces(lines: Sequence[tuple[int, int]], room: int) -> list[list[tuple[int, int]]]:
    """Numbers of rows with their lines, in pieces that have no more than `room` lines."""
    pieces: list[list[tuple[int, int]]] = [[]]
    for row in lines:
        if pieces[-1] and row[1] + sum(lines for _, lines in pieces[-1]) > room:
            pieces.append([])
        pieces[-1].append(row)
    return pieces


def _lines(fit: Fit, row: int) -> int:
    """How many lines a row takes in any part."""
    return max(_part_lines(part, row) for part in fit.parts)


def _part_lines(part: Sequence[FitColumn], row: int) -> int:
    """Texts that are broken fill most of their lines."""
    cells = [(one, one.column.cells[row]) for one in part]
    broken = [1 + int(text_width(c.text, 8.0) / (0.7 * f.width)) for f, c in cells if f.broken]
    return max(broken, default=1) + any(cell.under for _, cell in cells)


def _tabular(part: Sequence[FitColumn], fit: Fit, page: Sequence[_Span]) -> Iterator[str]:
    label, *sides = map(_side, part)
    behind = f"@{{\\hspace{{{2 * fit.space + BEHIND_LABEL:g}pt}}}}" if sides else ""
    yield f"\\begin{{tabular}}{{@{{}}{label}{behind}{''.join(sides)}@{{}}}}\n\\toprule\n"
    yield from _group_headings(part, fit)
    yield from _headings(part, fit)
    yield "\\midrule\n"
    for number, (name, rows) in enumerate(page):
        if number:
            yield "\\midrule\n"
        if name:
            yield _group_row(name, part, fit)
        for row in rows:
            yield from _row([one.column.cells[row] for one in part], part, fit)
    yield "\\bottomrule\n\\end{tabular}\n"


def _side(one: FitColumn) -> str:
    if one.broken:
        return f">{{\\raggedright\\arraybackslash}}p{{{one.width:.1f}pt}}"
    return "l" if one.column.is_text else "r"


def _group_headings(part: Sequence[FitColumn], fit: Fit) -> Iterator[str]:
    """A line of headings over several columns each, with a rule below, where there are any."""
    cells, rules, first = [], [], 1
    for name, found in groupby(part, lambda one: one.column.group):
        span = list(found)
        cells.append(rf"\multicolumn{{{len(span)}}}{{c}}{{{_fitting(name, fit.span(span), fit)}}}")
        if name:
            rules.append(rf"\cmidrule(lr){{{first}-{first + len(span) - 1}}}")
        first += len(span)
    if rules:
        yield f"{_line(cells)}{' '.join(rules)}\n"


def _group_row(name: str, part: Sequence[FitColumn], fit: Fit) -> str:
    """A group's name across the table."""
    said = _fitting(name, fit.width(part), fit, "\\raggedright")
    return _line([rf"\multicolumn{{{len(part)}}}{{@{{}}l@{{}}}}{{\itshape {said}}}"])


def _fitting(name: str, width: float, fit: Fit, side: str = "\\centering") -> str:
    """A name over columns, on several lines where it is wider than these."""
    # Italics are hardly wider than what they stand for.
    if 1.05 * text_width(name, fit.size) <= width:
        return escape(name)
    width = max(width, 20.0)
    return rf"\parbox[b]{{{width:.1f}pt}}{{{side} {breakable(name, width, fit.size)}\strut}}"


def _headings(part: Sequence[FitColumn], fit: Fit) -> Iterator[str]:
    """A line, or two where a heading has two."""
    uppers = ["" if one.broken else escape(" ".join(one.heading[:-1])) for one in part]
    lowers = [
        breakable(" ".join(one.heading), one.width, fit.size)
        if one.broken
        else escape(one.heading[-1])
        for one in part
    ]
    if any(uppers):
        yield _line(uppers)
    yield _line(lowers)


def _row(cells: Sequence[GridCell], part: Sequence[FitColumn], fit: Fit) -> Iterator[str]:
    yield _line([_cell(cell, one, fit) for cell, one in zip(cells, part, strict=True)])
    if any(cell.under for cell in cells):
        yield _line([_small(cell.under, fit) for cell in cells])


def _cell(cell: GridCell, one: FitColumn, fit: Fit) -> str:
    if one.column.is_text:
        return breakable(cell.text, one.width, fit.size) if one.broken else escape(cell.text)
    beside = f" {_small(cell.beside, fit)}" if cell.beside else ""
    return numeric(cell.text) + beside


def _small(text: str, fit: Fit) -> str:
    size = SMALL[fit.size]
    return f"{{\\fontsize{{{size:g}}}{{{size:g}}}\\selectfont {numeric(text)}}}" if text else ""


def _line(cells: Sequence[str]) -> str:
    return f"{' & '.join(cells)} \\\\\n"


def _notes(notes: Sequence[str], look: LatexLook) -> Iterator[str]:
    if notes:
        words = " ".join(sentence(note if note.endswith(".") else f"{note}.") for note in notes)
        yield "\\par\\smallskip\n"
        yield f"\\begin{{minipage}}{{{look.note_width:.0f}pt}}\\raggedright"
        yield f"\\fontsize{{7}}{{8.5}}\\selectfont {words}\\end{{minipage}}\n"
