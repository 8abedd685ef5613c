"""Parquet files, batch by batch."""

from collections.abc import Iterator
from pathlib import Path

from branchwise.corpora.errors import InputError
from branchwise.corpora.rows import Row, Wanted
from branchwise.corpora.rows.arrow import BATCH, batch_rows


def read(path: Path, wanted: Wanted = None) -> Iterator[Row]:
    """The rows of a file; columns that are not wanted are not read.

    Memory holds a thousand rows, and of each column what its file compresses together. Raises
    InputError for a file that is not parquet or is damaged, and without pyarrow.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise InputError(
            "parquet needs the package pyarrow",
            where=str(path),
            remedy='install it: pip install "branchwise[parquet]"',
        ) from None
    from branchwise.corpora.files import open_data

    with open_data(path) as stream:  # for its messages: Arrow opens the file itself
        stream.read(0)
    try:
        with pq.ParquetFile(path, memory_map=True) as file:
            names = file.schema_arrow.names
            columns = None if wanted is None else [name for name in names if name in wanted]
            first = 1
            for batch in file.iter_batches(BATCH, columns=columns or None):
                yield from batch_rows(batch, str(path), first)
                first += batch.num_rows
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        why = " ".join(str(error).split())
        raise InputError(f"is not parquet, or damaged ({why})", where=str(path)) from None
