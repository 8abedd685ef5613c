"""Vectors that something else made of a corpus: NumPy's `.npy`, faiss's flat `.index`, Parquet.

All are mapped or read in parts: memory does not grow with the file. A file says nothing of how its
vectors were made, so a few passages are encoded again, and must come out as they stand there.
"""

import sys
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from branchwise.base.errors import InputError, require
from branchwise.corpora.encoder_models import AS_THE_MODEL_SAYS, DEFAULT_ENCODER, EncoderSettings
from branchwise.corpora.encoders import load_encoder
from branchwise.corpora.folder import Corpus

if TYPE_CHECKING:
    import numpy as np

    from branchwise.corpora.encoders import Encoder
    from branchwise.corpora.manifest import EncoderIdentity

_FAISS_HEAD = 45  # bytes before the vectors of an exact index
_CANDIDATES, _COMPARED = 256, 16
# float16 and bfloat16 keep .998; on MiniLM a wrong prefix gives .91, a wrong pooling .55.
_LEAST_COSINE = 0.99
_UNIT_LENGTH = 0.01
_HOW_IT_WAS_MADE = (
    "name what it was built with: --encoder, --pooling, --query-prefix, --passage-prefix, "
    "--max-tokens (FlashRAG's --model_path, --pooling_method, --instruction, --max_length)"
)


@dataclass(frozen=True)
class VectorFile:
    """Vectors in a file. `read(start, stop)`: float32 [stop - start, dimension]."""

    path: Path
    count: int
    dimension: int
    read: Callable[[int, int], "np.ndarray"]


def open_vectors(file: Path) -> VectorFile:
    if file.suffix not in _OPENERS:
        problem = f"vectors are read from {', '.join(_OPENERS)}"
        raise InputError(problem, where=str(file), remedy="write them in one of these forms")
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
        problem = f"holds {vectors.dtype} {list(vectors.shape)}, not floats [passages, dimension]"
        remedy = "save one row a passage, in the order of the corpus"
        raise InputError(problem, where=str(file), remedy=remedy)

    def read(start: int, stop: int) -> "np.ndarray":
        return np.ascontiguousarray(vectors[start:stop], dtype=np.float32)

    count, dimension = vectors.shape
    return VectorFile(file, count, dimension, read)


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
        problem = f"is not an exact index of inner products ({type(vectors).__name__})"
        raise InputError(problem, where=str(file), remedy="build it with --faiss_type Flat")

    def read(start: int, stop: int) -> "np.ndarray":
        rows: np.ndarray = vectors.reconstruct_n(start, stop - start)
        return rows

    return VectorFile(file, vectors.ntotal, vectors.d, read)


def _parquet(file: Path) -> VectorFile:
    import numpy as np

    try:
        from pyarrow import parquet, types
    except ImportError:
        problem, remedy = "reading Parquet needs pyarrow", 'pip install "branchwise[parquet]"'
        raise InputError(problem, where=str(file), remedy=remedy) from None
    with _as_parquet(file):
        source = parquet.ParquetFile(file, memory_map=True)
        lists = [
            field.name
            for field in source.schema_arrow
            if (types.is_list(field.type) or types.is_fixed_size_list(field.type))
            and types.is_floating(field.type.value_type)
        ]
        if len(lists) != 1:
            problem = f"needs one column of lists of floats, it has {', '.join(lists) or 'none'}"
            raise InputError(problem, where=str(file), remedy="leave one")
        name = str(lists[0])
        groups = range(source.metadata.num_row_groups)
        starts = [0, *accumulate(source.metadata.row_group(group).num_rows for group in groups)]

    kept: dict[int, np.ndarray] = {}

    def group(number: int) -> "np.ndarray":
        if number not in kept:
            kept.clear()
            with _as_parquet(file):
                rows = source.read_row_group(number, columns=[name]).column(name).to_pylist()
                kept[number] = np.array(rows, dtype=np.float32)
            if kept[number].ndim != 2 or not np.isfinite(kept[number]).all():
                raise InputError(f"column {name!r} has rows of other lengths", where=str(file))
        return kept[number]

    def read(start: int, stop: int) -> "np.ndarray":
        parts = []
        while start < stop:
            number = bisect_right(starts, start) - 1
            until = min(stop, starts[number + 1])
            parts.append(group(number)[start - starts[number] : until - starts[number]])
            start = until
        return np.concatenate(parts)

    if not starts[-1]:
        raise InputError("holds no row", where=str(file))
    return VectorFile(file, starts[-1], read(0, 1).shape[1], read)


@contextmanager
def _as_parquet(file: Path) -> Iterator[None]:
    import pyarrow as arrow

    try:
        yield
    except (arrow.ArrowException, OSError, ValueError) as error:
        why = " ".join(str(error).split())[:200]
        raise InputError(f"cannot be read as Parquet ({why})", where=str(file)) from None


_OPENERS = {".npy": _numpy, ".index": _faiss, ".parquet": _parquet}


@dataclass(frozen=True)
class GivenVectors:
    """A file of vectors, one for each passage, and the encoder that made them."""

    file: VectorFile
    encoder: "EncoderIdentity"


def check_given(
    file: Path,
    corpus: Corpus,
    encoder: str = DEFAULT_ENCODER,
    backend: Literal["auto", "torch", "openvino"] = "auto",
    settings: EncoderSettings = AS_THE_MODEL_SAYS,
) -> GivenVectors:
    """The vectors in `file`. `backend` encodes queries; `auto`: torch in float32, as FlashRAG's."""
    require("local", "vectors made elsewhere", str(file), ("sentence_transformers", "faiss"))
    vectors = open_vectors(file)
    if vectors.count != len(corpus):
        problem = f"holds {vectors.count} vectors, the corpus {len(corpus)} passages"
        remedy = f"put the corpus.jsonl that it was built on into {corpus.path} as it is"
        raise InputError(problem, where=str(file), remedy=remedy)
    loaded = load_encoder(encoder, "torch" if backend == "auto" else backend, settings)
    _check_vectors(vectors, corpus, loaded)
    return GivenVectors(vectors, loaded.identity)


def _check_vectors(vectors: VectorFile, corpus: Corpus, encoder: "Encoder") -> None:
    """Compare with what the encoder makes of the shortest of some passages: none of them is cut."""
    import numpy as np

    name, dimension = encoder.identity.name, encoder.identity.dimension
    if vectors.dimension != dimension:
        problem = f"its vectors have {vectors.dimension} dimensions, those of {name} {dimension}"
        raise InputError(problem, where=str(vectors.path), remedy=_HOW_IT_WAS_MADE)
    step = max(1, len(corpus) // _CANDIDATES)
    rows = range(0, len(corpus), step)
    texts = {row: next(iter(corpus.contents(row, row + 1))) for row in rows}
    chosen = sorted(rows, key=lambda row: len(texts[row]))[:_COMPARED]
    kept = np.stack([vectors.read(row, row + 1)[0] for row in chosen])
    if not np.all(np.abs(np.linalg.norm(kept, axis=1) - 1) < _UNIT_LENGTH):
        problem = "its vectors are not of unit length, as those of DPR encoders"
        remedy = "search it with --retriever flashrag:CONFIG.yaml"
        raise InputError(problem, where=str(vectors.path), remedy=remedy)
    made = encoder.encode_passages([texts[row] for row in chosen])
    cosines = np.sum(kept * made, axis=1)
    worst = int(np.argmin(cosines))
    if not cosines[worst] >= _LEAST_COSINE:
        raise InputError(
            f"was not made from this corpus with {name} as it is set: passage "
            f"{corpus.id(chosen[worst])!r} gets another vector (cosine {cosines[worst]:.2f})",
            where=str(vectors.path),
            remedy=_HOW_IT_WAS_MADE,
        )
