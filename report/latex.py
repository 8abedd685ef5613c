"""Tables for LaTeX with booktabs, shrunk to a width where they are wider; every text is data."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, islice
from typing import NamedTuple

from branchwise.base.errors import InputError
from branchwise.base.numbers import UNKNOWN
from branchwise.eval.bootstrap import Intervals
from branchwise.report.table import (
    OF_INTERVALS,
    SUBSET,
    CellText,
    Table,
    TableColumn,
    one_line,
    row_texts,
)

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "_": r"\_",
    "%": r"\%",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    # Active in babel's German, and a closing quotation mark elsewhere.
    '"': r"\char34{}",
    "'": "'{}",
    "`": r"\textasciigrave{}",
    # At the beginning of a row they would be read as an argument of the row before.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    # So that two of them stay two: no dash, no quotation mark.
    "-": "-{}",
    ",": ",{}",
    "…": r"\ldots{}",
    "–": "--",
    "\N{REPLACEMENT CHARACTER}": "?",
    "▲": r"$\bigtriangleup$",
    "▼": r"$\bigtriangledown$",
}
_IN_NUMBERS = {"-": "$-$", "±": r"$\pm$", "<": "$<$", ">": "$>$", UNKNOWN: "--"}
_BREAK = r"\allowbreak{}"
_BREAKS_AFTER = "/:.@_-+="
_LONG = 16
"""Letters of a sentence that stay on one line."""


def escape(text: str) -> str:
    """Text from outside that shows as it is: no command, no active character, no ligature."""
    return "".join(_SPECIAL.get(character, character) for character in one_line(text))


def sentence(text: str) -> str:
    """The same, with places in long words at which a line may end."""
    words = []
    for word in one_line(text).split():
        parts, line = [], ""
        for letter in word:
            if len(word) > _LONG and line and (line[-1] in _BREAKS_AFTER or len(line) == _LONG):
                parts.append(_BREAK)
                line = ""
            parts.append(_SPECIAL.get(letter, letter))
            line += letter
        words.append("".join(parts))
    return " ".join(words)


def numeric(text: str) -> str:
    """A number of ours: a real minus sign, relations in mathematics."""
    return "".join(_IN_NUMBERS.get(c, _SPECIAL.get(c, c) if c in "[]▲▼" else c) for c in text)


_P = re.compile(r"(?<!\S)p(?=[:\s])")
"""A p-value in a sentence, a variable like n."""
# Papers name models; where they were asked stands in the CSV files.
_ADDRESS = re.compile(r"@https?://[^\s,;)]+?(?=[:.]?(?:[\s,;)]|$))")


class GridCell(NamedTuple):
    """What a cell says, what stands beside it in a small font, and on a small line below it."""

    text: str
    beside: str = ""
    under: str = ""


@dataclass(frozen=True)
class GridColumn:
    title: str
    cells: tuple[GridCell, ...]
    is_text: bool = False
    group: str = ""


@dataclass(frozen=True)
class Grid:
    """`groups`: the heading, or "", and the number of rows of each; `of_all`: what holds of every
    row, for the caption."""

    label: GridColumn
    columns: tuple[GridColumn, ...]
    groups: tuple[tuple[str, int], ...]
    of_all: str = ""


def _grid_of(table: Table, intervals: Intervals) -> Grid:
    printed = table.as_printed()
    *grouped, label = printed.key_columns
    texts = row_texts(printed)
    spans, of_all = [], []
    subset, n = printed.index(SUBSET), printed.index("n")
    if subset in grouped and len({*printed.subsets}) == 1:
        grouped.remove(subset)
        of_all.append(escape(f"{printed.subsets[0]} questions"))
    is_same = n is not None and len(texts) > 1 and len({row[n].text for row in texts}) == 1
    if n is not None and is_same:
        of_all.append(f"$n = {texts[0][n].text}$")
    keys = [[row[index] for index in grouped] for row in printed.rows]
    for _, run in groupby(range(len(keys)), lambda number: keys[number]):
        first, *others = run
        spans.append((" · ".join(texts[first][index].text for index in grouped), 1 + len(others)))
    columns: list[GridColumn] = []
    for index, column in enumerate(printed.columns):
        # A key column that is none of those of the rows is the same in all: the caption has it.
        if index not in (*grouped, label) and not column.is_key and not (is_same and index == n):
            columns += _grid_columns(column, [row[index] for row in texts], intervals)
    labels = tuple(GridCell(row[label].text) for row in texts)
    column = printed.columns[label]
    heads = GridColumn(column.title, labels, True, column.group)
    return Grid(heads, tuple(columns), tuple(spans), ", ".join(of_all))


def _grid_columns(
    column: TableColumn, cells: Sequence[CellText], intervals: Intervals
) -> Iterator[GridColumn]:
    def made(title: str, cells: Iterable[GridCell], *, is_text: bool = False) -> GridColumn:
        return GridColumn(title, tuple(cells), is_text, column.group)

    if column.unit == "text":
        names = (GridCell(_ADDRESS.sub("", cell.text)) for cell in cells)
        yield made(column.title, names, is_text=True)
        return
    means = [f"{cell.text} {cell.mark}".strip() for cell in cells]
    ends = [
        cell.n if intervals == "none" else f"{cell.interval} {cell.n}".strip() for cell in cells
    ]
    pairs = list(zip(means, ends, strict=True))
    if intervals == "columns" and any(cell.interval for cell in cells):
        yield made(column.title, map(GridCell, means))
        yield made("95% interval", map(GridCell, ends))
    elif intervals == "below":
        # Beside the means most tables would be too wide.
        yield made(column.title, (GridCell(mean, under=end) for mean, end in pairs))
    else:
        yield made(column.title, (GridCell(mean, end) for mean, end in pairs))


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


def read_width(text: str) -> float:
    """Points of "column", "page" or a length such as "8.5cm". Raises InputError."""
    if text in _WIDTHS:
        return _WIDTHS[text]
    length = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(pt|cm|mm|in)", text.strip())
    points = float(length[1]) * _POINTS[length[2]] if length else 0.0
    if not _LEAST <= points <= _MOST_WIDTH:
        raise InputError(
            f"{text[:40]!r} is not a width of a table",
            where="--width",
            remedy="write column, page, or a length from 150pt on, such as 8.5cm",
        )
    return points


def latex_files(tables: Sequence[Table], look: LatexLook = LatexLook()) -> dict[str, bytes]:
    """File name to its content: a file for each table that is for readers."""
    return {
        f"{table.name}.tex": "".join([_HEAD, *_spaced(_floats(table, look))]).encode()
        for table in tables
        if table.printed
    }


def latex(tables: Sequence[Table], look: LatexLook = LatexLook()) -> str:
    printed = (table for table in tables if table.printed)
    floats = chain.from_iterable(_floats(table, look) for table in printed)
    return "\n".join([_HEAD, *_spaced(floats)])


def _spaced(floats: Iterable[str]) -> Iterator[str]:
    """With a page's end after so many: LaTeX cannot keep all that wait for a place."""
    for number, text in enumerate(floats):
        if number and number % _WAITING == 0:
            yield "\\clearpage\n"
        yield text


def _floats(table: Table, look: LatexLook) -> Iterator[str]:
    """The environments of a table: one, unless it has more rows than a page."""
    grid = _grid_of(table, look.intervals)
    notes = [
        _ADDRESS.sub("", note)
        for note in table.notes
        # Without those on what is not shown.
        if look.intervals != "none" or not note.startswith(OF_INTERVALS)
    ]
    room = _LINES - sum(len(note) for note in notes) // _ON_LINE
    words = " ".join(sentence(note if note.endswith(".") else f"{note}.") for note in notes)
    words = _P.sub("$p$", words)
    # Longer lines than a page's width are hard to read.
    below = (
        f"\\par\\smallskip\n\\begin{{minipage}}{{{min(look.width, PAGE):.0f}pt}}\\raggedright"
        f"\\scriptsize {words}\\end{{minipage}}\n"
    )
    pages = list(_pages(grid, room))
    caption = sentence(table.as_printed().caption) + (f" ({grid.of_all})" if grid.of_all else "")
    # `table*` spans the columns of a class that has two.
    environment = "table" if look.width <= _WIDEST_COLUMN else "table*"
    for number, page in enumerate(pages, start=1):
        which = f" ({number}~of~{len(pages)})" if len(pages) > 1 else ""
        # A later one has the number of the first: `longtable` does not work in two columns.
        label = f"\\label{{tab:{table.name}}}\n" if number == 1 else ""
        again = "\\addtocounter{table}{-1}\n" if number > 1 else ""
        yield (
            f"\\begin{{{environment}}}[tp]\n\\centering\n{again}"
            "\\footnotesize\\setlength{\\tabcolsep}{3pt}\\setlength{\\belowcaptionskip}{4pt}\n"
            f"\\caption{{{caption}{which}}}\n{label}"
            f"\\resizebox{{\\ifdim\\width>{look.width:.1f}pt {look.width:.1f}pt"
            "\\else\\width\\fi}{!}{%\n"
            + "".join(_tabular(grid, page))
            + "}\n"
            + (below if notes and number == len(pages) else "")
            + f"\\end{{{environment}}}\n"
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
    heights = [height for _, height in lines]
    total = sum(heights)
    room = min(room, math.ceil(total / math.ceil(total / room)) + max(heights) - 1)
    pieces: list[list[tuple[int, int]]] = [[]]
    for row in lines:
        if pieces[-1] and row[1] + sum(lines for _, lines in pieces[-1]) > room:
            pieces.append([])
        pieces[-1].append(row)
    return pieces


def _lines(grid: Grid, row: int) -> int:
    cells = [column.cells[row] for column in (grid.label, *grid.columns)]
    longest = max(len(cell.text) for cell in cells)
    return 1 + longest // _LETTERS + any(cell.under for cell in cells)


def _tabular(grid: Grid, page: Sequence[_Span]) -> Iterator[str]:
    columns = (grid.label, *grid.columns)
    wide = f">{{\\raggedright\\arraybackslash}}p{{{_LETTERS / 2:.0f}em}}"
    sides = (wide if _is_long(c) else "l" if c.is_text else "r" for c in columns)
    yield f"\\begin{{tabular}}{{@{{}}{''.join(sides)}@{{}}}}\n\\toprule\n"
    yield from _group_headings(columns)
    yield _line([_heading(column.title) for column in columns])
    yield "\\midrule\n"
    for number, (name, rows) in enumerate(page):
        if number:
            yield "\\midrule\n"
        if name:
            heading = f"{{@{{}}l@{{}}}}{{\\itshape {escape(name)}}}"
            yield _line([f"\\multicolumn{{{len(columns)}}}{heading}"])
        for row in rows:
            cells = [column.cells[row] for column in columns]
            yield _line([_cell(cell, column) for cell, column in zip(cells, columns, strict=True)])
            if any(cell.under for cell in cells):
                yield _line([_small(cell.under) for cell in cells])
    yield "\\bottomrule\n\\end{tabular}"


def _is_long(column: GridColumn) -> bool:
    return column.is_text and max((len(cell.text) for cell in column.cells), default=0) > _LETTERS


def _group_headings(columns: Sequence[GridColumn]) -> Iterator[str]:
    """A line of headings over several columns each, with a rule below, where there are any."""
    cells, rules, first = [], [], 1
    for name, neighbours in groupby(columns, lambda column: column.group):
        span = len(list(neighbours))
        cells.append(rf"\multicolumn{{{span}}}{{c}}{{{escape(name)}}}")
        if name:
            rules.append(rf"\cmidrule(lr){{{first}-{first + span - 1}}}")
        first += span
    if rules:
        yield f"{_line(cells)}{' '.join(rules)}\n"


def _heading(title: str) -> str:
    """On two lines where it is long: numbers are narrow."""
    if title == "p":
        return "$p$"
    words = title.split()
    if len(title) <= _LONG_HEADING or len(words) == 1:
        return escape(title)
    halves = [(" ".join(words[:n]), " ".join(words[n:])) for n in range(1, len(words))]
    upper, lower = min(halves, key=lambda half: max(map(len, half)))
    return f"\\shortstack{{{escape(upper)}\\\\{escape(lower)}}}"


def _cell(cell: GridCell, column: GridColumn) -> str:
    if column.is_text:
        return sentence(cell.text) if _is_long(column) else escape(cell.text)
    return numeric(cell.text) + (f" {_small(cell.beside)}" if cell.beside else "")


def _small(text: str) -> str:
    return f"{{{_SMALL}{numeric(text)}}}" if text else ""


def _line(cells: Sequence[str]) -> str:
    return f"{' & '.join(cells)} \\\\\n"
