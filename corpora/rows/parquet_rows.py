"""Rows of Parquet files, nested columns included; read a thousand at a time."""

from collections.abc import Iterator, Mapping
from datetime import date, time
from pathlib import Path
from typing import Any

from branchwise.corpora.errors import InputError
from branchwise.corpora.extras import require
from branchwise.corpora.rows import DataRow

_AT_ONCE = 1_000


def parquet_rows(path: Path) -> Iterator[DataRow]:
    """The rows of a file. Raises InputError for what is none, and without pyarrow."""
    require("parquet", "reading Parquet", str(path))
    import pyarrow as arrow
    from pyarrow import parquet

    number = 0
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(_AT_ONCE, use_threads=False):
                for fields in batch.to_pylist():
                    number += 1
                    yield DataRow(f"{path}:row {number}", plain(fields))
    except FileNotFoundError:
        raise InputError("no such file", where=str(path), remedy="check the path") from None
    except (arrow.ArrowException, OSError, ValueError) as error:
        why = " ".join(str(error).split())[:200]
        where = f"{path}:row {number + 1}" if number else str(path)
        raise InputError(f"cannot be read as Parquet ({why})", where=where) from None


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
