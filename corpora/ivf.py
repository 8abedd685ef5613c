"""Dense retrieval of millions: inverted lists of 8-bit vectors, the best reranked exactly.

faiss's IVF with a scalar quantizer (SQ8) finds candidates in the lists nearest to the query; their
inner products are then computed from the vectors themselves. Both are mapped: memory does not grow
with the corpus, and processes share what they read. How many lists are probed is chosen so that
vectors of the corpus itself, which the lists were not trained on, find their ten nearest others.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from branchwise.base.errors import InputError
from branchwise.base.process import Progress, usable_cores
from branchwise.corpora.encoder_models import Encoding
from branchwise.corpora.encoders import QueryEncoder
from branchwise.corpora.flat import KEPT_VECTORS, encoded, index_encoder, mapped, write_index
from branchwise.corpora.flat import described as described_encoder
from branchwise.corpora.folder import Corpus
from branchwise.corpora.manifest import Manifest, index_command, made_with
from branchwise.corpora.retrieval import DEPTH, MAX_K, Scored, ranked

EXACT = "flat"
LISTS_FILE, _TRAINED = "lists.faiss", "trained.faiss"
# Rows a query's candidates are reranked from, by the greatest k, so that the first 3 of 50 stay.
_CANDIDATES = ((MAX_K, 3 * MAX_K), (DEPTH, 3 * DEPTH))
_PART = 1_000_000
_CHUNK = 65_536
_TRAINED_ON, _ITERATIONS = 64, 10
_SAMPLE, _NEAREST = 256, 10


class IvfIndex:
    """Ranks rows by the inner product of passage and query vectors. Thread-safe."""

    def __init__(
        self, lists: Any, vectors: np.ndarray, encoder: QueryEncoder, corpus: Corpus
    ) -> None:
        self._lists, self._vectors, self._encoder, self._corpus = lists, vectors, encoder, corpus

    def rank(self, queries: Sequence[str], k: int) -> list[list[Scored]]:
        if not queries:
            return []
        rankings = []
        for vector in self._encoder.encode_queries(queries):
            rows, scores = nearest(self._lists, self._vectors, vector, candidates(k))
            rankings.append(ranked(list(map(Scored, rows, scores)), k, self._corpus.id))
        return rankings


def candidates(k: int) -> int:
    """How many rows the best `k` are chosen from."""
    return next((count for most, count in _CANDIDATES if k <= most), 3 * k)


def nearest(
    lists: Any, vectors: np.ndarray, query: np.ndarray, count: int
) -> tuple[list[int], list[float]]:
    """Rows of `count` candidates and their exact inner products with one query: comparing several
    with the lists' centres is a matrix product, whose last bits depend on its size."""
    import faiss

    faiss.omp_set_num_threads(1)
    _, [rows] = lists.search(query[None], min(count, len(vectors)))
    rows = rows[rows >= 0]
    scores = (vectors[rows].astype(np.float32) * query).sum(axis=1)
    return rows.tolist(), scores.tolist()


def build(corpus: Corpus, folder: Path, encoding: Encoding, progress: Progress) -> Manifest:
    """Encode every passage, train, add, choose the lists probed; kept until the index is whole."""
    with encoded(corpus, encoding, progress) as made:
        index_vectors(made.vectors, made.kept, folder)
        chosen = choose_probes(folder, made.vectors, encoding.recall)
        if chosen.recall < encoding.recall:
            raise InputError(
                f"a recall of {encoding.recall} cannot be met: all {chosen.lists} lists reach "
                f"{chosen.recall}",
                where=str(corpus.path),
                remedy=f"ask for less with --recall, or use --kind {EXACT}",
            )
        os.link(made.kept / KEPT_VECTORS, folder / KEPT_VECTORS)
    return Manifest(
        kind="ivf",
        corpus_sha256=corpus.sha256,
        passages=len(corpus),
        metric="inner_product",
        dtype=made.dtype,
        encoder=made.encoder,
        probes=chosen.probes,
        recall=chosen.recall,
        versions=made_with("faiss-cpu", "sentence-transformers", "torch"),
    )


def index_vectors(vectors: np.ndarray, kept: Path, folder: Path) -> None:
    """Train on a sample, add in parts of a million, kept in `kept`, merge them into `folder`.
    `vectors`: [n, dimension], of unit length, mapped. Memory: a byte a number, to merge."""
    import faiss

    if not (kept / _TRAINED).is_file():
        _whole(_trained(vectors), kept / _TRAINED)
    parts = []
    for start in range(0, len(vectors), _PART):
        parts.append(str(kept / f"part-{start}.faiss"))
        if Path(parts[-1]).is_file():
            continue
        lists = faiss.read_index(str(kept / _TRAINED))
        for row in range(start, min(start + _PART, len(vectors)), _CHUNK):
            stop = min(row + _CHUNK, start + _PART, len(vectors))
            lists.add_with_ids(_floats(vectors[row:stop]), np.arange(row, stop, dtype=np.int64))
        _whole(lists, Path(parts[-1]))
    lists = faiss.read_index(str(kept / _TRAINED))
    for part in parts:
        lists.merge_from(faiss.read_index(part), 0)
    write_index(lists, folder / LISTS_FILE)


def _trained(vectors: np.ndarray) -> Any:
    import faiss

    rows = _shuffled(len(vectors))[min(_SAMPLE, len(vectors) // 10) :]
    # faiss's advice: at least 39 vectors a list; about 4 sqrt(n) lists.
    count = max(1, min(int(4 * len(vectors) ** 0.5), len(rows) // 39))
    sample = vectors[sorted(rows[: count * _TRAINED_ON].tolist())]
    dimension = vectors.shape[1]
    centres = faiss.IndexFlatIP(dimension)
    quantizer, metric = faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT
    lists = faiss.IndexIVFScalarQuantizer(centres, dimension, count, quantizer, metric)
    lists.cp.niter = _ITERATIONS
    faiss.omp_set_num_threads(usable_cores())
    lists.train(_floats(sample))
    return lists


def _shuffled(count: int) -> np.ndarray:
    # Always the same order: the first are held out of training.
    return np.random.default_rng(0).permutation(count)


def _floats(vectors: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(vectors, dtype=np.float32)


def _whole(index: Any, file: Path) -> None:
    """Write an index under another name first: a file of its name is whole."""
    write_index(index, file.with_suffix(".partial"))
    file.with_suffix(".partial").replace(file)


class Probes(NamedTuple):
    """How many of the `lists` are probed, and the recall at 10 of the sample with so many."""

    probes: int
    lists: int
    recall: float


def choose_probes(folder: Path, vectors: np.ndarray, target: float) -> Probes:
    """The fewest lists, doubling, by which held-out vectors find `target` of ten neighbours."""
    lists = open_lists(folder)
    held = sorted(_shuffled(len(vectors))[: min(_SAMPLE, max(1, len(vectors) // 10))].tolist())
    queries = _floats(vectors[held])
    truth = _true_neighbours(vectors, queries, held)
    probes = 1
    while True:
        lists.nprobe, shares = probes, []
        for query, row, expected in zip(queries, held, truth, strict=True):
            rows, scores = nearest(lists, vectors, query, candidates(_NEAREST))
            by_score = sorted(zip(scores, rows, strict=True), reverse=True)
            others = [other for _, other in by_score if other != row][:_NEAREST]
            shares.append(len(expected & set(others)) / max(1, len(expected)))
        recall = sum(shares) / len(shares)
        if recall >= target or probes == lists.nlist:
            return Probes(probes, lists.nlist, round(recall, 4))
        probes = min(2 * probes, lists.nlist)


def _true_neighbours(
    vectors: np.ndarray, queries: np.ndarray, held: Sequence[int]
) -> list[set[int]]:
    best = np.full((len(queries), _NEAREST), -np.inf, dtype=np.float32)
    rows = np.full((len(queries), _NEAREST), -1)
    for start in range(0, len(vectors), _CHUNK):
        scores = queries @ _floats(vectors[start : start + _CHUNK]).T
        for query, row in enumerate(held):
            if start <= row < start + scores.shape[1]:
                scores[query, row - start] = -np.inf
        here = np.broadcast_to(start + np.arange(scores.shape[1]), scores.shape)
        scores, here = np.hstack([best, scores]), np.hstack([rows, here])
        top = np.argpartition(-scores, _NEAREST - 1, axis=1)[:, :_NEAREST]
        best = np.take_along_axis(scores, top, axis=1)
        rows = np.take_along_axis(here, top, axis=1)
    pairs = zip(held, rows.tolist(), strict=True)
    return [{row for row in near if row >= 0} - {own} for own, near in pairs]


def open_index(corpus: Corpus, folder: Path, manifest: Manifest) -> IvfIndex:
    encoder = index_encoder(corpus, folder, manifest)
    dimension = encoder.identity.dimension
    try:
        vectors = mapped(folder / KEPT_VECTORS, len(corpus), dimension, manifest.dtype)
        lists = open_lists(folder)
        fits = (lists.ntotal, lists.d) == vectors.shape and bool(manifest.probes)
        lists.nprobe = manifest.probes
    except (OSError, ValueError, RuntimeError, TypeError, AttributeError):
        fits = False
    if not fits:
        problem = "the vectors are missing or damaged"
        remedy = f"rebuild it: {index_command(corpus.path, folder.name, 'ivf')}"
        raise InputError(problem, where=str(folder), remedy=remedy)
    return IvfIndex(lists, vectors, encoder, corpus)


def open_lists(folder: Path) -> Any:
    """The inverted lists, mapped. Raises ValueError for a cut file, which would end the process."""
    import faiss

    file = folder / LISTS_FILE
    lists: Any = faiss.read_index(str(file), faiss.IO_FLAG_MMAP | faiss.IO_FLAG_READ_ONLY)
    stored: Any = faiss.downcast_InvertedLists(lists.invlists)
    last = stored.lists.at(lists.nlist - 1)
    if last.offset + last.size * (lists.code_size + 8) > file.stat().st_size:  # 8: of a row number
        raise ValueError(f"{file} was cut")
    # It would start 32 threads for each query, to read what the mapping reads.
    stored.prefetch_nthread = 0
    return lists


def described(manifest: Mapping[str, Any]) -> str:
    """By which encoder, in which number format, and how much is probed."""
    probed = f"{manifest.get('probes')} lists probed, recall {manifest.get('recall')}"
    return f"{described_encoder(manifest)}, {probed}"
