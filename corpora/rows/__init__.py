"""Rows of data files: JSON, CSV, Parquet, sets of a hub. Each is a record behind its place."""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

from branchwise.base.errors import InputError, Refuse, raising

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
    raises it by default; where it returns, reading goes on behind it, if that is possible;
    `strict`: so does a key that stands twice in an object. `wanted`: columns, beside which others
    may be left out. Raises InputError for what has no rows at all.
    """
    layout = layout or layout_of(path)
    if layout == "csv":
        from branchwise.corpora.rows.csv_rows import csv_rows

        return csv_rows(path, refuse)
    if layout == "parquet":
        from branchwise.corpora.rows.parquet_rows import parquet_rows

        return parquet_rows(path, wanted)
    from branchwise.corpora.rows.json_rows import json_rows

    return json_rows(path, refuse, strict=strict)


def files_of(path: Path, layout: RowLayout) -> list[Path]:
    """A file; of a folder, its files of that layout by name. Raises InputError without any."""
    if not path.is_dir():
        return [path]
    found = sorted(file for file in path.iterdir() if layout_of(file) == layout and file.is_file())
    if not found:
        ends = " or *".join(end for end, its in _LAYOUTS.items() if its == layout)
        raise InputError(f"is a folder without a *{ends}", where=str(path), remedy="name a file")
    return found
