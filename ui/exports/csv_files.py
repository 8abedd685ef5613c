"""Tables as CSV files, one a table, with all digits."""

from collections.abc import Iterable, Mapping, Sequence

from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.reporting.tables import CellValue, Table, TableColumn
from branchwise.ui.exports.text import MAX_TEXT, one_line

DICTIONARY = "columns"
"""Name of the file that says what the columns of the others hold."""
_MAX_NOTES = 10_000  # all of a table's, each of which may hold a model's name
_Value = str | int | float | None

_ENDS = ("", "_low", "_high", "_n")
# What makes a spreadsheet take a text for a formula: OWASP, "CSV Injection". An apostrophe before
# it does not; one that stands there already gets another, so that removing one gives the text.
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠", "'")


def csv_files(tables: Sequence[Table]) -> dict[str, bytes]:
    """File name to its content: RFC 4180 in UTF-8, texts quoted, numbers bare, unknown empty.

    A mean takes four columns: itself, `_low` and `_high` (95% interval), `_n` (questions).
    """
    files = {f"{table.name}.csv": _file(table) for table in tables}
    return {**files, f"{DICTIONARY}.csv": _dictionary(tables)}


def guarded(text: str, most: int = MAX_TEXT) -> str:
    """A text that no spreadsheet takes for a formula, on one line."""
    line = one_line(text, most)
    return f"'{line}" if line.startswith(_FORMULA) else line


def _file(table: Table) -> bytes:
    means = [_has_means(table, index) for index in range(len(table.columns))]
    heading = [
        f"{column.key}{end}"
        for column, is_mean in zip(table.columns, means, strict=True)
        for end in (_ENDS if is_mean else ("",))
    ]
    rows = (
        [
            value
            for cell, is_mean in zip(row, means, strict=True)
            for value in _values(cell, is_mean)
        ]
        for row in table.rows
    )
    return _written([heading, *rows])


def _has_means(table: Table, index: int) -> bool:
    return any(isinstance(row[index], Aggregate) for row in table.rows)


def _values(cell: CellValue, is_mean: bool) -> tuple[_Value, ...]:
    if isinstance(cell, Aggregate):
        return cell.mean, cell.low, cell.high, cell.n
    value = guarded(cell) if isinstance(cell, str) else cell
    return (value, None, None, None) if is_mean else (value,)


def _dictionary(tables: Sequence[Table]) -> bytes:
    rows = [
        [
            f"{table.name}.csv",
            column.key,
            guarded(column.title),
            _unit(column),
            guarded(notes, _MAX_NOTES),
        ]
        for table in tables
        for notes in [" ".join(table.notes)]
        for column in table.columns
    ]
    return _written([["file", "column", "title", "unit", "notes on the table"], *rows])


def _unit(column: TableColumn) -> str:
    units: Mapping[str, str] = {
        "share": "share, 0 to 1",
        "change": "difference of shares, -1 to 1",
        "usd": "USD",
        "ratio": "times the base",
        "p": "probability",
    }
    return units.get(column.unit, column.unit)


def _written(rows: Iterable[Sequence[_Value]]) -> bytes:
    return "".join(f"{','.join(map(_field, row))}\r\n" for row in rows).encode()


def _field(value: _Value) -> str:
    """Every text is quoted, so that no separator in it can begin a cell."""
    if isinstance(value, str):
        return '"' + value.replace('"', '""') + '"'
    if value is None:
        return ""
    return repr(value if isinstance(value, int) else float(value))
