"""Tables as text files: CSV with all digits, and Markdown as GitHub renders it."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from branchwise.base.text import counted
from branchwise.eval.bootstrap import Aggregate
from branchwise.report.study_report import StudyReport
from branchwise.report.table import (
    MAX_TEXT,
    P_HOLM,
    CellText,
    CellValue,
    ChangeCell,
    Table,
    one_line,
    row_texts,
)

DICTIONARY = "columns"
"""Name of the file that says what the columns of the others hold."""
_MAX_NOTES = 10_000  # all of a table's, each of which may hold a model's name
_UNITS: Mapping[str, str] = {
    "share": "share, 0 to 1",
    "change": "difference of shares, -1 to 1",
    "usd": "USD",
    "ratio": "times the base",
    "p": "probability",
}
# What makes a spreadsheet take a text for a formula: OWASP, "CSV Injection". An apostrophe before
# it does not; one that stands there already gets another, so that removing one gives the text.
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠", "'")
_Value = str | int | float | None


def csv_files(tables: Sequence[Table]) -> dict[str, bytes]:
    """File name to its content: RFC 4180 in UTF-8, texts quoted, numbers bare, unknown empty.

    A mean takes four columns: itself, `_low` and `_high` (95% interval), `_n` (questions); a change
    that stands with its test takes two, itself and `_p_holm`.
    """
    files = {f"{table.name}.csv": _file(table) for table in tables}
    return {**files, f"{DICTIONARY}.csv": _dictionary(tables)}


def guarded(text: str, most: int = MAX_TEXT) -> str:
    """A text that no spreadsheet takes for a formula, on one line."""
    line = one_line(text, most)
    return f"'{line}" if line.startswith(_FORMULA) else line


def _file(table: Table) -> bytes:
    heading: list[_Value] = []
    rows: list[list[_Value]] = [[] for _ in table.rows]
    for index, column in enumerate(table.columns):
        cells = [row[index] for row in table.rows]
        ends: tuple[str, ...] = ("",)
        if any(isinstance(cell, ChangeCell) for cell in cells):
            ends = ("", P_HOLM)
        elif any(isinstance(cell, Aggregate) for cell in cells):
            ends = ("", "_low", "_high", "_n")
        heading += [f"{column.key}{end}" for end in ends]
        for row, cell in zip(rows, cells, strict=True):
            row += [*_values(cell), *[None] * len(ends)][: len(ends)]
    return _written([heading, *rows])


def _values(cell: CellValue) -> tuple[_Value, ...]:
    if isinstance(cell, Aggregate):
        return cell.mean, cell.low, cell.high, cell.n
    if isinstance(cell, ChangeCell):
        return cell.difference, cell.p
    return (guarded(cell) if isinstance(cell, str) else cell,)


def _dictionary(tables: Sequence[Table]) -> bytes:
    rows: list[list[_Value]] = [["file", "column", "title", "unit", "notes on the table"]]
    for table in tables:
        notes = guarded(" ".join(table.notes), _MAX_NOTES)
        for column in table.columns:
            unit = _UNITS.get(column.unit, column.unit)
            title = guarded(column.whole_title)
            rows.append([f"{table.name}.csv", column.key, title, unit, notes])
    return _written(rows)


def _written(rows: Iterable[Sequence[_Value]]) -> bytes:
    return "".join(f"{','.join(map(_field, row))}\r\n" for row in rows).encode()


def _field(value: _Value) -> str:
    """Every text is quoted, so that no separator in it can begin a cell."""
    if isinstance(value, str):
        return '"' + value.replace('"', '""') + '"'
    if value is None:
        return ""
    return repr(value if isinstance(value, int) else float(value))


# What begins a code span, emphasis, a link, an image, a cell, deleted text or a formula. Colons
# and points only where they would make an address or an emoji, so that names stay readable.
_MARKUP = re.compile(
    r"[\\`*_{}\[\]#|~$!]|:(?=//)|:(?=[\w+-]+:)|(?<=\bwww)\.", re.ASCII | re.IGNORECASE
)
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def markdown(report: StudyReport, tables: Sequence[Table]) -> str:
    """The tables that are for readers, each under its title and over its notes."""
    questions = f"{counted(len(report.questions), 'question')} of {escape(report.source_names)}"
    head = f"# {escape(report.title)}\n\n{questions}, by branchwise {escape(report.version)}.\n"
    parts = [markdown_section(table) for table in tables if table.printed]
    return "\n".join([head, *parts])


def escape(text: str, most: int = MAX_TEXT) -> str:
    """Text from outside that shows as it is, on one line of at most so many characters of it."""
    return _MARKUP.sub(r"\\\g<0>", one_line(text, most).translate(_ENTITIES))


def markdown_section(table: Table) -> str:
    """A table that is for readers, under its title and over its notes."""
    table = table.as_printed()
    notes = "".join(f"- {escape(note)}\n" for note in table.notes)
    return f"## {escape(table.title)}\n\n{''.join(_lines(table))}\n{notes}"


def _lines(table: Table) -> Iterator[str]:
    columns = table.columns
    yield _line(escape(column.whole_title) for column in columns)
    yield _line("---" if column.unit == "text" else "---:" for column in columns)
    for row in row_texts(table):
        yield _line(map(_cell, row))


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def _cell(cell: CellText) -> str:
    return escape(cell.text) if cell.is_text else " ".join(cell.parts).replace("<", "&lt;")
