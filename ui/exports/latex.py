"""Tables for LaTeX with booktabs, made to fit a width; every text in them is data."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from branchwise.corpora.errors import InputError
from branchwise.eval.bounds import Intervals
from branchwise.eval.reporting.tables import Table
from branchwise.ui.exports.latex_fit import SMALL, Fit, FitColumn, fitted
from branchwise.ui.exports.latex_grid import GridCell, caption_of, grid_of, notes_of
from branchwise.ui.exports.latex_text import breakable, escape, numeric
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
    return {f"{one.name}.tex": (_HEAD + "".join(_floats(one, look))).encode() for one in printed}


def latex(tables: Sequence[Table], look: LatexLook = LatexLook()) -> str:
    """The same in one text."""
    printed = ["".join(_floats(table, look)) for table in tables if table.printed]
    return "\n".join([_HEAD, *printed])


def _floats(table: Table, look: LatexLook) -> Iterator[str]:
    """The environments of a table: one, unless it has more rows than a page."""
    grid = grid_of(table, look.intervals)
    fit = fitted(grid, look.width)
    notes = notes_of(table, look.intervals)
    most = _LINES - sum(text_width(note, 7.0) for note in notes) / look.note_width
    pages = list(_pages(grid.groups, fit, int(most / len(fit.parts)) - _OF_HEADINGS))
    for number, page in enumerate(pages):
        more = f" ({number + 1} of {len(pages)})" if len(pages) > 1 else ""
        label = f"\\label{{tab:{table.name}}}\n" if number == 0 else ""
        yield f"\\begin{{{look.environment}}}[tp]\n\\centering\n"
        if number:  # the same number as the first
            yield "\\addtocounter{table}{-1}\n"
        yield f"\\fontsize{{{fit.size:g}}}{{{fit.size + 1.5:g}}}\\selectfont\n"
        yield f"\\setlength{{\\tabcolsep}}{{{fit.space:g}pt}}"
        yield "\\setlength{\\belowcaptionskip}{4pt}\n"
        yield f"\\caption{{{breakable(caption_of(table.as_printed()) + more)}}}\n{label}"
        yield "\\par\\medskip\n".join("".join(_tabular(part, fit, page)) for part in fit.parts)
        if number == len(pages) - 1:
            yield from _notes(notes, look)
        yield f"\\end{{{look.environment}}}\n"


_Span = tuple[str, Sequence[int]]
"""The heading of a group and the numbers of its rows that are on a page."""


def _pages(groups: Sequence[tuple[str, int]], fit: Fit, room: int) -> Iterator[list[_Span]]:
    """The rows, as many together as there is room for, their groups' headings repeated."""
    page: list[_Span] = []
    used, row = 0, 0
    for name, count in groups:
        for _ in range(count):
            lines = max(_lines(part, row) for part in fit.parts)
            begins = not page or page[-1][0] != name or row - 1 not in page[-1][1]
            if page and used + lines + 2 * begins > room:
                yield page
                page, used, begins = [], 0, True
            page = [*page, (name, [row])] if begins else [*page[:-1], (name, [*page[-1][1], row])]
            used, row = used + lines + 2 * begins * bool(name), row + 1
    yield page


def _lines(part: Sequence[FitColumn], row: int) -> int:
    """How many lines a row takes, texts that are broken filling most of theirs."""
    cells = [(one, one.column.cells[row]) for one in part]
    broken = [1 + int(text_width(c.text, 8.0) / (0.7 * f.width)) for f, c in cells if f.broken]
    return max(broken, default=1) + any(cell.under for _, cell in cells)


def _tabular(part: Sequence[FitColumn], fit: Fit, page: Sequence[_Span]) -> Iterator[str]:
    yield f"\\begin{{tabular}}{{@{{}}{''.join(map(_side, part))}@{{}}}}\n\\toprule\n"
    yield from _group_headings(part, fit)
    yield _line([_heading(one) for one in part])
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
        cells.append(rf"\multicolumn{{{len(span)}}}{{c}}{{{_fitting(name, fit.width(span), fit)}}}")
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
    return rf"\parbox[b]{{{max(width, 20.0):.1f}pt}}{{{side} {breakable(name)}\strut}}"


def _heading(one: FitColumn) -> str:
    lines = list(map(escape, one.heading))
    if one.broken:
        return " ".join(map(breakable, one.heading))
    if len(lines) == 1:
        return lines[0]
    side = "l" if one.column.is_text else "r"
    stacked = r" \\ ".join(lines)
    return rf"\shortstack[{side}]{{{stacked}}}"


def _row(cells: Sequence[GridCell], part: Sequence[FitColumn], fit: Fit) -> Iterator[str]:
    yield _line([_cell(cell, one, fit) for cell, one in zip(cells, part, strict=True)])
    if any(cell.under for cell in cells):
        yield _line([_small(cell.under, fit) for cell in cells])


def _cell(cell: GridCell, one: FitColumn, fit: Fit) -> str:
    if one.column.is_text:
        return breakable(cell.text) if one.broken else escape(cell.text)
    beside = f" {_small(cell.beside, fit)}" if cell.beside else ""
    return numeric(cell.text) + beside


def _small(text: str, fit: Fit) -> str:
    size = SMALL[fit.size]
    return f"{{\\fontsize{{{size:g}}}{{{size:g}}}\\selectfont {numeric(text)}}}" if text else ""


def _line(cells: Sequence[str]) -> str:
    return f"{' & '.join(cells)} \\\\\n"


def _notes(notes: Sequence[str], look: LatexLook) -> Iterator[str]:
    if notes:
        words = " ".join(breakable(note if note.endswith(".") else f"{note}.") for note in notes)
        yield "\\par\\smallskip\n"
        yield f"\\begin{{minipage}}{{{look.note_width:.0f}pt}}\\raggedright"
        yield f"\\fontsize{{7}}{{8.5}}\\selectfont {words}\\end{{minipage}}\n"
