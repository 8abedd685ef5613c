"""Tables of Arrow as rows: what parquet files and data sets of the hub are read as."""

import datetime
import decimal
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from branchwise.corpora.rows import Row

if TYPE_CHECKING:
    import pyarrow as pa

BATCH = 1_000
"""Rows that are held at a time."""


def batch_rows(batch: "pa.RecordBatch | pa.Table", place: str, first: int) -> Iterator[Row]:
    """The rows of a batch whose first has the number `first`, with JSON values."""
    names = batch.schema.names
    columns = [_values(column) for column in batch.columns]
    for number, values in enumerate(zip(*columns, strict=True), start=first):
        yield Row(f"{place}:row {number}", dict(zip(names, values, strict=True)))


def _values(column: "pa.Array | pa.ChunkedArray") -> list[Any]:
    import pyarrow.types as kinds

    values: list[Any] = column.to_pylist(maps_as_pydicts="lossy")
    kind = column.type
    if kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_integer(kind):
        return values
    return [_as_json(value) for value in values]


def _as_json(value: Any) -> Any:
    """A value as JSON has it: dates are texts, bytes texts where they are UTF-8, else None."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {str(key): _as_json(inner) for key, inner in value.items()}
        case list() | tuple():
            return [_as_json(inner) for inner in value]
        case bytes():
            return _decoded(value)
        case datetime.date() | datetime.time():  # a date with its time is a date, too
            return value.isoformat()
        case decimal.Decimal() | datetime.timedelta():
            return str(value)
    return None


def _decoded(value: bytes) -> str | None:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None
