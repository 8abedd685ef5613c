"""Dense vectors of a corpus: made in chunks, kept, and searched exactly.

While an index is made, its vectors lie in a hidden folder beside it with what they were made of. A
build that was killed at any moment goes on there: whole chunks stay, what follows them is cut off.

float16 vectors are searched 2.8 times as fast as float32 at recall .9997 and take half the
memory, so they are the default. faiss scans its scalar quantizer query by query, so a query's
scores do not depend on the batch.
"""

import fcntl
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

import numpy as np
import orjson

from branchwise.base.atomic import write_bytes
from branchwise.base.errors import InputError
from branchwise.base.process import Progress, usable_cores
from branchwise.corpora.encoder_models import Encoding
from branchwise.corpora.encoders import QueryEncoder, load_encoder, reopen_encoder
from branchwise.corpora.folder import Corpus
from branchwise.corpora.manifest import EncoderIdentity, Manifest, made_with, rebuild_command
from branchwise.corpora.retrieval import Scored, ranked

Dtype = Literal["float16", "float32"]
KEPT_VECTORS = "vectors.bin"
_PLAN, _LOCK = "plan.json", "lock"
# Long enough to find texts of the same length, which are encoded together.
_TEXTS_AT_ONCE, _VECTORS_AT_ONCE = 2048, 65_536
VECTORS_FILE = "vectors.faiss"
# Rows fetched beyond k, so that ties across the border are seen; doubled while they are not.
_SPARE = 8
# From queries x dimension = 128,000 on, faiss multiplies matrices: the last bits of sums differ.
_BELOW_BLAS = 100_000


@contextmanager
def unfinished(folder: Path, plan: Mapping[str, Any]) -> Iterator[Path]:
    """The folder where a build keeps what is done, also after a kill; emptied for another plan."""
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            problem = "another process is building this index"
            remedy = "wait for it, or give this one another --name"
            raise InputError(problem, where=str(folder), remedy=remedy) from None
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

    vectors: np.ndarray
    encoder: EncoderIdentity
    dtype: Dtype
    kept: Path


@contextmanager
def encoded(corpus: Corpus, encoding: Encoding, progress: Progress) -> Iterator[Encoded]:
    """Encode every passage that an earlier call has not, or take the vectors that are given. Unless
    a number format is said, float16; given ones keep their numbers, as float32."""
    progress(0, len(corpus))
    given = encoding.given
    if given:
        identity, default, chunk = given.encoder, "float32", _VECTORS_AT_ONCE
    else:
        encoder = load_encoder(encoding.encoder, encoding.backend, encoding.settings)
        identity, default, chunk = encoder.identity, "float16", _TEXTS_AT_ONCE

    def read(start: int, stop: int, report: Progress) -> np.ndarray:
        if given:
            return given.file.read(start, stop)
        return encoder.encode_passages(list(corpus.contents(start, stop)), report)

    source = None
    if given:
        facts = given.file.path.stat()
        source = (str(given.file.path.resolve()), facts.st_size, facts.st_mtime_ns)
    dtype = cast(Dtype, default if encoding.dtype == "auto" else encoding.dtype)
    plan = {
        "corpus": corpus.sha256,
        "encoder": identity.model_dump(),
        "dtype": dtype,
        "file": source,
        "versions": made_with("faiss-cpu"),
    }
    with unfinished(encoding.kept, plan) as kept:
        file = kept / KEPT_VECTORS
        size = identity.dimension * (2 if dtype == "float16" else 4)
        # Write those that are not there yet.
        with file.open("ab") as stream:
            there = stream.seek(0, os.SEEK_END) // size
            # A chunk that was cut is made again whole: texts are encoded with the same neighbours.
            done = there if there == len(corpus) else there // chunk * chunk
            stream.truncate(done * size)
            for start in range(done, len(corpus), chunk):
                stop = min(start + chunk, len(corpus))

                def report(done: int, _total: int, start: int = start) -> None:
                    progress(start + done, len(corpus))

                stream.write(read(start, stop, report).astype(dtype).tobytes())
                stream.flush()
                progress(stop, len(corpus))
        vectors = mapped(file, len(corpus), identity.dimension, dtype)
        yield Encoded(vectors, identity, dtype, kept)


def mapped(file: Path, passages: int, dimension: int, dtype: str) -> np.ndarray:
    """The vectors in a file, `dtype` [passages, dimension]. Raises ValueError for another size."""
    if file.stat().st_size != passages * dimension * np.dtype(dtype).itemsize:
        raise ValueError(f"{file} does not hold {passages} vectors of {dimension} numbers")
    return np.memmap(file, dtype=dtype, mode="r", shape=(passages, dimension))


class FlatIndex:
    """Ranks rows by the inner product of passage and query vectors. Thread-safe."""

    def __init__(self, vectors: Any, encoder: QueryEncoder, corpus: Corpus) -> None:
        self._vectors, self._encoder, self._corpus = vectors, encoder, corpus

    def rank(self, queries: Sequence[str], k: int) -> list[list[Scored]]:
        if not queries:
            return []
        vectors = self._encoder.encode_queries(queries)
        depth = min(k + _SPARE, self._vectors.ntotal)
        scores, rows = search(self._vectors, vectors, depth)
        rankings = []
        for query, own_rows, own_scores in zip(vectors, rows, scores, strict=True):
            scored, reached = _scored(own_rows, own_scores), depth
            # Ties across the k-th place are broken by id: fetch until all that tie are there.
            while k < reached < self._vectors.ntotal and scored[-1].score == scored[k - 1].score:
                reached = min(2 * reached, self._vectors.ntotal)
                [more_scores], [more_rows] = search(self._vectors, query[None], reached)
                scored = _scored(more_rows, more_scores)
            rankings.append(ranked(scored, k, self._corpus.id))
        return rankings


def search(vectors: Any, queries: np.ndarray, depth: int) -> tuple[np.ndarray, np.ndarray]:
    """faiss search: scores and rows, [n, depth] each, best first, independent of the batch."""
    import faiss

    largest = max(1, _BELOW_BLAS // vectors.d)
    if len(queries) > largest:
        parts = [
            search(vectors, queries[start : start + largest], depth)
            for start in range(0, len(queries), largest)
        ]
        return np.vstack([scores for scores, _ in parts]), np.vstack([rows for _, rows in parts])

    # With a thread pool of its own beside the encoder's, faiss nearly doubles the latency of a
    # single query; a batch gains. The setting is the calling thread's.
    faiss.omp_set_num_threads(1 if len(queries) == 1 else usable_cores())
    scores, rows = vectors.search(queries, depth)
    return scores, rows


def new_vectors(dimension: int, dtype: Dtype) -> Any:
    import faiss

    if dtype == "float32":
        return faiss.IndexFlatIP(dimension)
    quantizer = faiss.ScalarQuantizer.QT_fp16
    return faiss.IndexScalarQuantizer(dimension, quantizer, faiss.METRIC_INNER_PRODUCT)


def build(corpus: Corpus, folder: Path, encoding: Encoding, progress: Progress) -> Manifest:
    """Encode every passage into `folder`, by default as float16."""
    with encoded(corpus, encoding, progress) as made:
        vectors = new_vectors(made.vectors.shape[1], made.dtype)
        for start in range(0, len(corpus), _VECTORS_AT_ONCE):
            part = made.vectors[start : start + _VECTORS_AT_ONCE]
            vectors.add(np.ascontiguousarray(part, np.float32))
        write_index(vectors, folder / VECTORS_FILE)
    return Manifest(
        kind="flat",
        corpus_sha256=corpus.sha256,
        passages=len(corpus),
        metric="inner_product",
        dtype=made.dtype,
        encoder=made.encoder,
        versions=made_with("faiss-cpu", "sentence-transformers", "torch"),
    )


def write_index(index: Any, file: Path) -> None:
    import faiss

    try:
        faiss.write_index(index, str(file))
    except RuntimeError:
        problem, remedy = "cannot be written", "make room on the disk, or write to another one"
        raise InputError(problem, where=str(file.parent), remedy=remedy) from None


def open_index(corpus: Corpus, folder: Path, manifest: Manifest) -> FlatIndex:
    import faiss

    encoder = index_encoder(corpus, folder, manifest)
    file = folder / VECTORS_FILE
    try:
        vectors = faiss.read_index(str(file))
    except RuntimeError:
        vectors = None
    wanted = (len(corpus), encoder.identity.dimension)
    if vectors is None or (vectors.ntotal, vectors.d) != wanted:
        problem = "the vectors are missing or damaged"
        remedy = f"rebuild it: branchwise corpus index {corpus.path} --kind flat"
        raise InputError(problem, where=str(file), remedy=remedy)
    return FlatIndex(vectors, encoder, corpus)


def index_encoder(corpus: Corpus, folder: Path, manifest: Manifest) -> QueryEncoder:
    """The encoder that a dense index was made with."""
    rebuild = rebuild_command(corpus.path, folder.name, manifest)
    if manifest.encoder is None:
        raise InputError("the manifest names no encoder", where=str(folder), remedy=rebuild)
    try:
        return reopen_encoder(manifest.encoder)
    except InputError as error:
        problem, remedy = error.what, f"{error.remedy}; or {rebuild}" if error.remedy else rebuild
        raise InputError(problem, where=error.where or str(folder), remedy=remedy) from None


def described(manifest: Mapping[str, Any]) -> str:
    """By which encoder, in which number format."""
    encoder = manifest.get("encoder")
    if encoder is None:
        return "without an encoder"
    return (
        f"{encoder['name']} ({encoder['dimension']} dimensions, {encoder['backend']} "
        f"{encoder['precision']}), vectors {manifest['dtype']}"
    )


def _scored(rows: np.ndarray, scores: np.ndarray) -> list[Scored]:
    return [Scored(r, s) for r, s in zip(rows.tolist(), scores.tolist(), strict=True)]
