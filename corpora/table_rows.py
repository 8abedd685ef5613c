"""Rows of tables: CSV files, Parquet files, sets of the Hugging Face Hub.

Of CSV the first row names the columns; cells are texts, and an empty one is null. Columns of the
others may be nested. A hub's set is downloaded once and then read from the disk.
"""

import csv
import logging
import os
import sys
from collections.abc import Collection, Iterator, Mapping
from datetime import date, time
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from branchwise.base.errors import InputError, Refuse, require
from branchwise.base.files import MAX_LINE_BYTES, open_data, without_mark
from branchwise.corpora.rows import DataRow

if TYPE_CHECKING:
    import pyarrow as arrow
    from datasets import Dataset
    from pyarrow import parquet

_DELIMITERS = ",;\t|"
_MOST_CELL_BYTES = MAX_LINE_BYTES
_MOST_ROW_BYTES = 4 * MAX_LINE_BYTES  # of one row, on all its lines
_MOST_COLUMN_BYTES = 2**31
_AT_ONCE = 1_000
_PREFIX = "hf:"
_FORM = f"{_PREFIX}NAME[:CONFIG[:SPLIT]]"
_HUB = "https://huggingface.co"


def csv_rows(path: Path, refuse: Refuse) -> Iterator[DataRow]:
    """The rows below the header, each at its first line, blank ones skipped. The delimiter (of
    `,;|` and tab) splits the first line into the most columns. Refuses other numbers of cells."""
    csv.field_size_limit(_MOST_CELL_BYTES)
    lines, columns = _Lines(path), list[str]()
    try:
        text = iter(lines)
        header = next(text, "")
        widths = {char: len(next(csv.reader([header], delimiter=char), [])) for char in _DELIMITERS}
        delimiter = max(widths, key=widths.__getitem__)
        for cells in csv.reader(chain([header], text), delimiter=delimiter, strict=True):
            lines.end_row()
            where = f"{path}:{lines.first}"
            if not any(cells):
                continue
            if not columns:
                columns = _columns(cells, where)
            elif len(cells) != len(columns):
                problem = f"has {len(cells)} cells, the header {len(columns)}"
                remedy = "put a cell that holds the delimiter in quotes"
                refuse("cells", InputError(problem, where=where, remedy=remedy))
            else:
                pairs = zip(columns, cells, strict=True)
                yield DataRow(where, {name: cell or None for name, cell in pairs})
    except csv.Error as error:
        problem = str(error).partition(" - ")[0]
        problem = problem.replace("unexpected end of data", "a quotation mark is never closed")
        remedy = 'write a quotation mark in a cell as "", and end lines with a line feed'
        raise InputError(problem, where=f"{path}:{lines.next_first}", remedy=remedy) from None
    if not columns:
        remedy = "write the columns' names into the first line"
        raise InputError("is empty", where=str(path), remedy=remedy)


class _Lines:
    """A file's lines as text. `first`: where the row read last begins; `next_first`: the next."""

    def __init__(self, path: Path) -> None:
        self.path, self.first, self.next_first = path, 0, 1
        self._number = self._bytes = 0

    def __iter__(self) -> Iterator[str]:
        with open_data(self.path) as stream:
            while line := stream.readline(MAX_LINE_BYTES + 1):
                self._number += 1
                self._bytes += len(line)
                if len(line) > MAX_LINE_BYTES or self._bytes > _MOST_ROW_BYTES:
                    raise InputError(
                        f"the row is longer than {MAX_LINE_BYTES // 2**20} MiB, or than four times "
                        "that on several lines",
                        where=f"{self.path}:{self.next_first}",
                        remedy="look for a quotation mark that is never closed",
                    )
                line = line if self._number > 1 else without_mark(line, self.path)
                try:
                    text = line.decode("utf-8")
                except UnicodeDecodeError:
                    where, remedy = f"{self.path}:{self._number}", "save it as UTF-8"
                    raise InputError("is not UTF-8 text", where=where, remedy=remedy) from None
                yield text

    def end_row(self) -> None:
        """The row that began behind the last one ends here."""
        self.first, self.next_first, self._bytes = self.next_first, self._number + 1, 0


def _columns(header: list[str], where: str) -> list[str]:
    names = [name.strip() for name in header]
    names = [name or f"column {number}" for number, name in enumerate(names, start=1)]
    if repeated := [name for name in names if names.count(name) > 1]:
        problem = f"two columns are called {repeated[0]!r}"
        raise InputError(problem, where=where, remedy="rename one")
    return names


def parquet_rows(path: Path, wanted: Collection[str] | None = None) -> Iterator[DataRow]:
    """The rows of a file, where none of the `wanted` columns is there with all columns."""
    require("parquet", "reading Parquet", str(path))
    import pyarrow as arrow
    from pyarrow import parquet

    number = 0
    try:
        with parquet.ParquetFile(path, memory_map=True) as file:
            columns = wanted and [name for name in file.schema_arrow.names if name in wanted]
            _check_size(file.metadata, columns, path)
            for batch in file.iter_batches(_AT_ONCE, columns=columns or None, use_threads=False):
                for fields in plain_rows(batch):
                    number += 1
                    yield DataRow(f"{path}:row {number}", fields)
    except FileNotFoundError:
        raise InputError("no such file", where=str(path), remedy="check the path") from None
    except (arrow.ArrowException, OSError, ValueError) as error:
        why = " ".join(str(error).split())[:200]
        where = f"{path}:row {number + 1}" if number else str(path)
        raise InputError(f"cannot be read as Parquet ({why})", where=where) from None


def _check_size(metadata: "parquet.FileMetaData", columns: Any, path: Path) -> None:
    """Refuse a column that unpacks to too much: a group of rows is unpacked together."""
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for column in map(group.column, range(group.num_columns)):
            name = column.path_in_schema.partition(".")[0]
            if column.total_uncompressed_size > _MOST_COLUMN_BYTES and (
                not columns or name in columns
            ):
                raise InputError(
                    f"column {name!r} has {column.total_uncompressed_size / 2**30:.0f} GiB in one "
                    "group of rows",
                    where=str(path),
                    remedy="write it in smaller groups (row_group_size=100_000)",
                )


def plain_rows(table: "arrow.RecordBatch | arrow.Table") -> Iterator[dict[str, Any]]:
    """The rows of a table with values as JSON has them."""
    import pyarrow.types as types

    columns = []
    for column in table.columns:
        values: list[Any] = column.to_pylist(maps_as_pydicts="lossy")
        type = column.type
        if not (types.is_string(type) or types.is_large_string(type) or types.is_integer(type)):
            values = [plain(value) for value in values]
        columns.append(values)
    for row in zip(*columns, strict=True):
        yield dict(zip(table.schema.names, row, strict=True))


def plain(value: Any) -> Any:
    """A value as JSON has it: dates and decimals as texts; what is no number is null. `value`: what
    Arrow makes of a cell. Bytes that are no text become their hexadecimal digits."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, Mapping):
        return {str(key): plain(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [plain(member) for member in value]
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            return value.hex()
    return value.isoformat() if isinstance(value, date | time) else str(value)


def hub_rows(text: str, wanted: Collection[str] | None = None) -> Iterator[DataRow]:
    """The rows of NAME[:CONFIG[:SPLIT]], a thousand at once; perhaps only `wanted` columns."""
    where = f"{_PREFIX}{text}"
    data = _loaded(text, where)
    if wanted and (columns := [name for name in data.column_names if name in wanted]):
        data = data.select_columns(columns)
    tables = data.with_format("arrow").iter(_AT_ONCE)
    rows = (fields for table in tables for fields in plain_rows(table))
    for number, fields in enumerate(rows, start=1):
        yield DataRow(f"{where}:row {number}", fields)


def _loaded(text: str, where: str) -> "Dataset":
    name, *choices = text.split(":")
    if not name or len(choices) > 2:
        raise InputError("names no set", where=where, remedy=f"write {_FORM}")
    config, split = (*(choice or None for choice in choices), None, None)[:2]
    require("datasets", "reading it", where)
    if not Path(name).exists():
        _go_offline_if_unreachable()
    import datasets
    from datasets.exceptions import DatasetsError

    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)  # it tells of each retry
    if not sys.stderr.isatty():
        datasets.disable_progress_bars()
    try:
        splits: Any = datasets.load_dataset(name, config, split=split)
    except (DatasetsError, OSError, RuntimeError, ValueError) as error:
        why = " ".join(str(error).split()).partition(" Example of usage")[0][:300].rstrip(".")
        if isinstance(error, ValueError):
            raise InputError(why, where=where, remedy=f"write {_FORM}") from None
        problem = f"is not on this machine, and cannot be loaded from the hub ({why})"
        remedy = "check its name, or load it where there is a network"
        raise InputError(problem, where=where, remedy=remedy) from None
    if split or len(splits) == 1:
        return splits if split else next(iter(splits.values()))
    remedy = f"name one: {_PREFIX}{name}:{config or ''}:{next(iter(splits))}"
    raise InputError(f"has the splits {', '.join(splits)}", where=where, remedy=remedy)


def _go_offline_if_unreachable() -> None:
    """Ask the hub once, briefly: its library, which reads the variable, waits half a minute."""
    import httpx

    if os.environ.get("HF_HUB_OFFLINE"):
        return
    try:
        httpx.head(os.environ.get("HF_ENDPOINT", _HUB), timeout=5)
    except (httpx.HTTPError, httpx.InvalidURL):
        os.environ["HF_HUB_OFFLINE"] = "1"
