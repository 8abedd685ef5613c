"""Vectors of a corpus in a file of their own: written in chunks, gone on with, mapped.

While an index is made, they lie in a hidden folder beside it with what they were made of. A build
that was killed at any moment goes on there: whole chunks stay, what follows them is cut off.
"""

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import orjson

from branchwise.base.atomic import write_bytes
from branchwise.base.errors import InputError
from branchwise.base.process import Progress
from branchwise.corpora.encoder_models import Encoding
from branchwise.corpora.encoders import load_encoder
from branchwise.corpora.folder import Corpus
from branchwise.corpora.manifest import EncoderIdentity, made_with

if TYPE_CHECKING:
    import numpy as np

    from branchwise.corpora.given_vectors import GivenVectors

Dtype = Literal["float16", "float32"]
KEPT_VECTORS = "vectors.bin"
_PLAN, _LOCK = "plan.json", "lock"
# Long enough to find texts of the same length, which are encoded together.
_CHUNK, _CHUNK_OF_A_FILE = 2048, 65_536


@contextmanager
def unfinished(folder: Path, plan: Mapping[str, Any]) -> Iterator[Path]:
    """The folder where a build keeps what is done; emptied where it was of another plan.

    It stays after an error or a kill. Raises InputError while another process builds there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o666)
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
    """Encode every passage that an earlier call has not, or take the vectors that are given.

    Unless a number format is said, float16; given ones keep their numbers, as float32.

    Raises InputError for an encoder that cannot be had.
    """
    progress(0, len(corpus))
    made = _given(encoding.given) if encoding.given else _encoding(corpus, encoding)
    dtype: Dtype = made.dtype if encoding.dtype == "auto" else encoding.dtype
    plan = {
        "corpus": corpus.sha256,
        "encoder": made.encoder.model_dump(),
        "dtype": dtype,
        "file": made.fingerprint,
        "versions": made_with("faiss-cpu"),
    }
    with unfinished(encoding.kept, plan) as kept:
        vectors = _fill(kept / KEPT_VECTORS, len(corpus), made, dtype, progress)
        yield Encoded(vectors, made.encoder, dtype, kept)


class _Making(NamedTuple):
    """Where vectors come from. `chunk`: rows at a time; `read`: rows to float32 vectors."""

    encoder: EncoderIdentity
    dtype: Dtype
    chunk: int
    read: Callable[[int, int, Progress], "np.ndarray"]
    fingerprint: tuple[str, int, int] | None = None


def _given(given: "GivenVectors") -> _Making:
    """Vectors keep their numbers."""

    def read(start: int, stop: int, _progress: Progress) -> "np.ndarray":
        return given.file.read(start, stop)

    return _Making(given.encoder, "float32", _CHUNK_OF_A_FILE, read, given.fingerprint)


def _encoding(corpus: Corpus, encoding: Encoding) -> _Making:
    encoder = load_encoder(encoding.encoder, encoding.backend, encoding.settings)

    def read(start: int, stop: int, progress: Progress) -> "np.ndarray":
        return encoder.encode_passages(list(corpus.contents(start, stop)), progress)

    return _Making(encoder.identity, "float16", _CHUNK, read)


def _fill(
    file: Path, passages: int, made: _Making, dtype: Dtype, progress: Progress
) -> "np.ndarray":
    """Write what is not there yet of the vectors; all of them, mapped."""
    size = made.encoder.dimension * (2 if dtype == "float16" else 4)
    with file.open("ab") as stream:
        there = stream.seek(0, os.SEEK_END) // size
        # A chunk that was cut is made again as a whole: texts are encoded with the same neighbours.
        done = there if there == passages else there // made.chunk * made.chunk
        stream.truncate(done * size)
        for start in range(done, passages, made.chunk):
            stop = min(start + made.chunk, passages)

            def report(done: int, _total: int, start: int = start) -> None:
                progress(start + done, passages)

            stream.write(made.read(start, stop, report).astype(dtype).tobytes())
            stream.flush()
            progress(stop, passages)
    return mapped(file, passages, made.encoder.dimension, dtype)


def mapped(file: Path, passages: int, dimension: int, dtype: str) -> "np.ndarray":
    """The vectors in a file, `dtype` [passages, dimension]. Raises ValueError for another size."""
    import numpy as np

    if file.stat().st_size != passages * dimension * np.dtype(dtype).itemsize:
        raise ValueError(f"{file} does not hold {passages} vectors of {dimension} numbers")
    return np.memmap(file, dtype=dtype, mode="r", shape=(passages, dimension))
