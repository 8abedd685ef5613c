"""Vectors of a corpus in a file of their own: written in chunks, gone on with, mapped.

While an index is made, they lie in a hidden folder beside it with what they were made of. A build
that was killed at any moment goes on there: whole chunks stay, what follows them is cut off.
"""

import fcntl
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import orjson

from branchwise.corpora.atomic import write_bytes
from branchwise.corpora.encoder_models import Encoding
from branchwise.corpora.errors import InputError
from branchwise.corpora.folder import Corpus
from branchwise.corpora.manifest import EncoderIdentity, made_with
from branchwise.corpora.progress import Progress

if TYPE_CHECKING:
    import numpy as np

    from branchwise.corpora.encoders import Encoder

Dtype = Literal["float16", "float32"]
KEPT_VECTORS = "vectors.bin"
_PLAN, _LOCK = "plan.json", "lock"
# Long enough to find texts of the same length, which are encoded together.
_CHUNK = 2048


@contextmanager
def unfinished(folder: Path, plan: Mapping[str, Any]) -> Iterator[Path]:
    """The folder where a build keeps what is done; emptied where it was of another plan.

    It stays after an error or a kill. Raises InputError while another process builds there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                "another process is building this index",
                where=str(folder),
                remedy="wait for it, or give this one another --name",
            ) from None
        wanted = orjson.dumps(plan, option=orjson.OPT_SORT_KEYS)
        if not (folder / _PLAN).is_file() or (folder / _PLAN).read_bytes() != wanted:
            for file in folder.iterdir():
                if file.name != _LOCK:
                    shutil.rmtree(file) if file.is_dir() else file.unlink()
            write_bytes(folder / _PLAN, wanted)
        yield folder
    finally:
        os.close(handle)


class Encoded(NamedTuple):
    """The vectors of a corpus, mapped, and the folder where more of the build may be kept."""

    vectors: "np.ndarray"
    encoder: EncoderIdentity
    dtype: Dtype
    kept: Path


@contextmanager
def encoded(corpus: Corpus, encoding: Encoding, progress: Progress) -> Iterator[Encoded]:
    """Encode every passage that an earlier call has not; float16 unless something else is said.

    Raises InputError for an encoder that cannot be had.
    """
    from branchwise.corpora.encoders import load_encoder

    progress(0, len(corpus))
    encoder = load_encoder(encoding.encoder, encoding.backend, encoding.settings)
    dtype: Dtype = "float16" if encoding.dtype == "auto" else encoding.dtype
    plan = {
        "corpus": corpus.sha256,
        "encoder": encoder.identity.model_dump(),
        "dtype": dtype,
        "versions": made_with("faiss-cpu"),
    }
    with unfinished(encoding.kept, plan) as kept:
        vectors = _encode_into(kept / KEPT_VECTORS, corpus, encoder, dtype, progress)
        yield Encoded(vectors, encoder.identity, dtype, kept)


def _encode_into(
    file: Path, corpus: Corpus, encoder: "Encoder", dtype: Dtype, progress: Progress
) -> "np.ndarray":
    dimension = encoder.identity.dimension
    size = dimension * (2 if dtype == "float16" else 4)
    with file.open("ab") as stream:
        there = stream.seek(0, os.SEEK_END) // size
        # A chunk that was cut is encoded again as a whole, with the same neighbours.
        done = there if there == len(corpus) else there // _CHUNK * _CHUNK
        stream.truncate(done * size)
        for start in range(done, len(corpus), _CHUNK):
            texts = list(corpus.contents(start, min(start + _CHUNK, len(corpus))))

            def report(done: int, _total: int, start: int = start) -> None:
                progress(start + done, len(corpus))

            stream.write(encoder.encode_passages(texts, report).astype(dtype).tobytes())
            stream.flush()
    return mapped(file, len(corpus), dimension, dtype)


def mapped(file: Path, passages: int, dimension: int, dtype: str) -> "np.ndarray":
    """The vectors in a file, `dtype` [passages, dimension]. Raises ValueError for another size."""
    import numpy as np

    if file.stat().st_size != passages * dimension * np.dtype(dtype).itemsize:
        raise ValueError(f"{file} does not hold {passages} vectors of {dimension} numbers")
    return np.memmap(file, dtype=dtype, mode="r", shape=(passages, dimension))
