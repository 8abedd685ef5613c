"""Rows of Parquet files and of Arrow's tables, nested columns included; a thousand at a time."""

from collections.abc import Collection, Iterator, Mapping
from datetime import date, time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from branchwise.base.errors import InputError, require
from branchwise.corpora.rows import DataRow

if TYPE_CHECKING:
    import pyarrow as arrow
    from pyarrow import parquet

AT_ONCE = 1_000
_MOST_BYTES = 2**31


def parquet_rows(path: Path, wanted: Collection[str] | None = None) -> Iterator[DataRow]:
    """The rows of a file, where none of the `wanted` columns is there with all columns.

    Raises InputError for what is none, and without pyarrow.
    """
    require("parquet", "reading Parquet", str(path))
    import pyarrow as arrow
    from pyarrow import parquet

    number = 0
    try:
        with parquet.ParquetFile(path, memory_map=True) as file:
            columns = wanted and [name for name in file.schema_arrow.names if name in wanted]
            _check_size(file.metadata, columns, path)
            for batch in file.iter_batches(AT_ONCE, columns=columns or None, use_threads=False):
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
    """Raise InputError for a column that unpacks to more than can be held: of a group of rows it
    is unpacked together."""
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for column in map(group.column, range(group.num_columns)):
            name = column.path_in_schema.partition(".")[0]
            if column.total_uncompressed_size > _MOST_BYTES and (not columns or name in columns):
                raise InputError(
                    f"column {name!r} has {column.total_uncompressed_size / 2**30:.0f} GiB in one "
                    "group of rows",
                    where=str(path),
                    remedy="write it in smaller groups (row_group_size=100_000)",
                )


def plain_rows(table: "arrow.RecordBatch | arrow.Table") -> Iterator[dict[str, Any]]:
    """The rows of a table with values as JSON has them."""
    names = table.schema.names
    columns = [_plain_column(column) for column in table.columns]
    for values in zip(*columns, strict=True):
        yield dict(zip(names, values, strict=True))


def _plain_column(column: "arrow.Array | arrow.ChunkedArray") -> list[Any]:
    import pyarrow.types as kinds

    values: list[Any] = column.to_pylist(maps_as_pydicts="lossy")
    kind = column.type
    if kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_integer(kind):
        return values
    return [plain(value) for value in values]


def plain(value: Any) -> Any:
    """A value as JSON has it: dates and decimals as texts; what is no number is null.

    `value`: what Arrow makes of a cell. Bytes that are no text become their hexadecimal digits.
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, Mapping):
        return {str(key): plain(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [plain(member) for member in value]
    if isinstance(value, bytes):
        return _text(value)
    return value.isoformat() if isinstance(value, date | time) else str(value)


def _text(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.hex()
