"""Files of vectors that something else made: NumPy's `.npy`, faiss's flat `.index`, Parquet.

All are mapped or read in parts: memory does not grow with the file.
"""

import sys
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from branchwise.base.errors import InputError

if TYPE_CHECKING:
    import numpy as np


_FAISS_HEAD = 45
"""Bytes before the vectors of an exact index."""


@dataclass(frozen=True)
class VectorFile:
    """Vectors in a file. `read(start, stop)`: float32 [stop - start, dimension]."""

    path: Path
    count: int
    dimension: int
    read: Callable[[int, int], "np.ndarray"]


def open_vectors(file: Path) -> VectorFile:
    """The vectors in a file, by its ending. Raises InputError for what holds none."""
    if file.suffix not in _OPENERS:
        raise InputError(
            f"vectors are read from {', '.join(_OPENERS)}",
            where=str(file),
            remedy="write them in one of these forms",
        )
    if not file.is_file():
        raise InputError("no such file", where=str(file), remedy="check the path")
    return _OPENERS[file.suffix](file)


def _numpy(file: Path) -> VectorFile:
    import numpy as np

    try:
        vectors: np.ndarray = np.load(file, mmap_mode="r", allow_pickle=False)
    except Exception:  # noqa: BLE001 - numpy lets anything through that a damaged head leads to
        raise InputError("is not a NumPy array, or is damaged", where=str(file)) from None
    if vectors.ndim != 2 or vectors.dtype.kind != "f":
        raise InputError(
            f"holds {vectors.dtype} {list(vectors.shape)}, not floats [passages, dimension]",
            where=str(file),
            remedy="save one row a passage, in the order of the corpus",
        )
    count, dimension = vectors.shape
    return VectorFile(file, count, dimension, lambda start, stop: _floats(vectors[start:stop]))


def _faiss(file: Path) -> VectorFile:
    import faiss

    # faiss does not map everywhere, and mapping what is cut within its head ends the process.
    mapped = sys.platform == "linux" and file.stat().st_size > _FAISS_HEAD
    try:
        vectors: Any = faiss.read_index(str(file), faiss.IO_FLAG_MMAP_IFC if mapped else 0)
    except RuntimeError:
        raise InputError("is not a faiss index, or is damaged", where=str(file)) from None
    flat = isinstance(vectors, faiss.IndexFlat)
    if not flat or vectors.metric_type != faiss.METRIC_INNER_PRODUCT:
        raise InputError(
            f"is not an exact index of inner products ({type(vectors).__name__})",
            where=str(file),
            remedy="build it with --faiss_type Flat",
        )
    return VectorFile(
        file,
        vectors.ntotal,
        vectors.d,
        lambda start, stop: vectors.reconstruct_n(start, stop - start),
    )


def _parquet(file: Path) -> VectorFile:
    """The column of lists of numbers; a group of rows is read as a whole."""
    try:
        from pyarrow import parquet
    except ImportError:
        what, remedy = "reading Parquet needs pyarrow", 'pip install "branchwise[parquet]"'
        raise InputError(what, where=str(file), remedy=remedy) from None
    with _as_parquet(file):
        source = parquet.ParquetFile(file, memory_map=True)
        name = _column(file, source.schema_arrow)
        groups = range(source.metadata.num_row_groups)
        starts = [0, *accumulate(source.metadata.row_group(group).num_rows for group in groups)]

    def group(number: int) -> "np.ndarray":
        import numpy as np

        with _as_parquet(file):
            rows = source.read_row_group(number, columns=[name]).column(name).to_pylist()
            vectors = np.array(rows, dtype=np.float32)
        if vectors.ndim != 2 or not np.isfinite(vectors).all():
            raise InputError(f"column {name!r} has rows of other lengths", where=str(file))
        return vectors

    kept: dict[int, np.ndarray] = {}

    def read(start: int, stop: int) -> "np.ndarray":
        import numpy as np

        parts = []
        while start < stop:
            number = bisect_right(starts, start) - 1
            if number not in kept:
                kept.clear()
                kept[number] = group(number)
            until = min(stop, starts[number + 1])
            parts.append(kept[number][start - starts[number] : until - starts[number]])
            start = until
        return np.concatenate(parts)

    if not starts[-1]:
        raise InputError("holds no row", where=str(file))
    return VectorFile(file, starts[-1], read(0, 1).shape[1], read)


def _column(file: Path, schema: Any) -> str:
    from pyarrow import types

    lists = [
        field.name
        for field in schema
        if (types.is_list(field.type) or types.is_fixed_size_list(field.type))
        and types.is_floating(field.type.value_type)
    ]
    if len(lists) != 1:
        found = ", ".join(lists) or "none"
        raise InputError(
            f"needs one column of lists of floats, it has {found}",
            where=str(file),
            remedy="leave one",
        )
    return str(lists[0])


@contextmanager
def _as_parquet(file: Path) -> Iterator[None]:
    import pyarrow as arrow

    try:
        yield
    except (arrow.ArrowException, OSError, ValueError) as error:
        why = " ".join(str(error).split())[:200]
        raise InputError(f"cannot be read as Parquet ({why})", where=str(file)) from None


def _floats(vectors: "np.ndarray") -> "np.ndarray":
    import numpy as np

    return np.ascontiguousarray(vectors, dtype=np.float32)


_OPENERS: Mapping[str, Callable[[Path], VectorFile]] = {
    ".npy": _numpy,
    ".index": _faiss,
    ".parquet": _parquet,
}
