"""Rows of data files and sets of a hub: each is a record with its place, its fields by name."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from branchwise.base.errors import InputError, Refuse, did_you_mean, raising

RowLayout = Literal["json", "csv", "parquet"]
"""How a file holds its rows: JSON lines or one JSON array; cells; columns."""
_LAYOUTS: dict[str, RowLayout] = {
    ".json": "json",
    ".jsonl": "json",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
}
OPTION = "--field"
_MISSING = object()


class DataRow(NamedTuple):
    """A record, and its place for messages: `file:line`, `file:entry n`, `file:row n` (from 1)."""

    where: str
    fields: dict[str, Any]


def layout_of(path: Path) -> RowLayout | None:
    """The layout that a file's name tells, if it does."""
    inner = path.with_suffix("") if path.suffix in (".gz", ".zst") else path
    return _LAYOUTS.get(inner.suffix.lower())


def read_rows(
    path: Path,
    layout: RowLayout | None = None,
    refuse: Refuse = raising,
    *,
    wanted: Collection[str] | None = None,
    strict: bool = False,
) -> Iterator[DataRow]:
    """The rows of a file in their order, one at a time: memory does not grow with the file.
    `layout` None: the one that its name tells, or JSON. What is no row goes to `refuse`, which
    raises it by default; where it returns, reading goes on if it can; `strict`: so does a key that
    stands twice in an object. `wanted`: columns, beside which others may be left out."""
    layout = layout or layout_of(path)
    if layout == "csv":
        from branchwise.corpora.table_rows import csv_rows

        return csv_rows(path, refuse)
    if layout == "parquet":
        from branchwise.corpora.table_rows import parquet_rows

        return parquet_rows(path, wanted)
    from branchwise.corpora.json_rows import json_rows

    return json_rows(path, refuse, strict=strict)


def files_of(path: Path, layout: RowLayout) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.iterdir() if layout_of(file) == layout and file.is_file())
    if not files:
        ends = " or *".join(end for end, its in _LAYOUTS.items() if its == layout)
        raise InputError(f"is a folder without a *{ends}", where=str(path), remedy="name a file")
    return files


@dataclass(frozen=True)
class FieldNames:
    """Fields to the columns that hold them; a field without one is called as its column.

    A column within another one is written behind a dot, an entry of a list by its number from 0:
    `extra_info.question`, `prompt.0.content`. A column whose own name has dots comes first.
    """

    columns: Mapping[str, str]

    @classmethod
    def of(cls, given: Mapping[str, str] | Sequence[str], known: Collection[str]) -> "FieldNames":
        """What `--field` says: FIELD=COLUMN each, or a mapping. `known`: the fields there are."""
        pairs = [*given.items()] if isinstance(given, Mapping) else []
        for text in () if isinstance(given, Mapping) else given:
            field, _, column = text.partition("=")
            if not field or not column:
                raise InputError("is not FIELD=COLUMN", where=f"{OPTION} {text}")
            pairs.append((field, column))
        for field, _ in pairs:
            where = f"{OPTION} {field}=..."
            if field not in known:
                problem, remedy = f"there is no field {field!r}", did_you_mean(field, known)
                raise InputError(problem, where=where, remedy=remedy)
            if [name for name, _ in pairs].count(field) > 1:
                raise InputError(f"{field} is given twice", where=where, remedy="keep one")
        return cls(dict(pairs))

    def split(self, row: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The fields whose columns the row has, and the row without those columns."""
        fields, rest = {}, dict(row)
        for field, column in self.columns.items():
            value = _at(row, column)
            if value is not _MISSING:
                fields[field], rest = value, _without(rest, column)
        return fields, rest

    def missing(self, row: Mapping[str, Any]) -> tuple[str, str] | None:
        """The first field whose column the row lacks, and the column."""
        lacking = (pair for pair in self.columns.items() if _at(row, pair[1]) is _MISSING)
        return next(lacking, None)


def _at(value: Any, column: str) -> Any:
    if isinstance(value, Mapping) and column in value:
        return value[column]
    if isinstance(value, list) and column.isdigit():
        return value[int(column)] if int(column) < len(value) else _MISSING
    name, dot, inner = column.partition(".")
    if not dot:
        return _MISSING
    outer = _at(value, name)
    return _MISSING if outer is _MISSING else _at(outer, inner)


def _without(value: Any, column: str) -> Any:
    if not isinstance(value, Mapping):
        return value
    if column in value:
        return {name: member for name, member in value.items() if name != column}
    name, _, inner = column.partition(".")
    left = _without(value[name], inner)
    others = {other: member for other, member in value.items() if other != name}
    return {**others, name: left} if left else others
