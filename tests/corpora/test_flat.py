"""Exact dense search, on vectors set by hand (no model)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchwise.corpora.flat import FlatIndex, new_vectors, search

DIMENSION = 8


class Rows:
    """The part of a corpus that ties ask for; ids run against row order."""

    def __init__(self, count: int) -> None:
        self.asked: list[int] = []
        self._count = count

    def id(self, row: int) -> str:
        self.asked.append(row)
        return f"p{self._count - row:05d}"


class Given:
    """An encoder whose queries are rows of a matrix: "3" is the third."""

    def __init__(self, vectors: np.ndarray) -> None:
        self._vectors = vectors

    def encode_queries(self, queries):
        return self._vectors[[int(query) for query in queries]]


def index_of(passages, queries, dtype="float32"):
    vectors = new_vectors(passages.shape[1], dtype)
    vectors.add(passages)
    rows = Rows(len(passages))
    return FlatIndex(vectors, Given(queries), rows), rows


def unit(seed, count, dimension=DIMENSION):
    drawn = np.random.default_rng(seed).standard_normal((count, dimension)).astype(np.float32)
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def test_results_are_the_largest_inner_products():
    passages, queries = unit(1, 300), unit(2, 5)
    index, _ = index_of(passages, queries)
    expected = np.argsort(-(queries @ passages.T), axis=1)[:, :7]
    found = index.rank([str(i) for i in range(5)], 7)
    assert [[hit.row for hit in ranking] for ranking in found] == expected.tolist()
    assert found[0][0].score == pytest.approx(float((queries @ passages.T)[0].max()), abs=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("copies", [2, 5, 40])
def test_equal_vectors_are_ordered_by_id_across_the_border(dtype, copies):
    """Forty copies also tie past the spare rows, so the search has to go deeper."""
    others = -np.abs(unit(3, 200))
    passages = np.vstack([np.tile(np.abs(unit(4, 1)), (copies, 1)), others])
    index, _ = index_of(passages, np.abs(unit(4, 1)), dtype)
    for k in (1, copies - 1, copies, copies + 1):
        (ranking,) = index.rank(["0"], k)
        assert len(ranking) == k
        tied = [hit.row for hit in ranking][:copies]
        # Rows near the end have the smallest ids.
        assert tied == list(range(copies - 1, copies - 1 - min(k, copies), -1))


def test_more_passages_than_there_are_gives_all_of_them():
    index, _ = index_of(unit(7, 4), unit(8, 1))
    assert len(index.rank(["0"], 50)[0]) == 4
    assert index.rank([], 3) == []


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@settings(max_examples=15, deadline=None)
@given(count=st.integers(1, 70), seed=st.integers(0, 5))
def test_scores_do_not_depend_on_the_batch(dtype, count, seed):
    passages, queries = unit(9, 500, 384), unit(seed, count, 384)
    vectors = new_vectors(384, dtype)
    vectors.add(passages)
    scores, rows = search(vectors, queries, 10)
    for i in range(count):
        alone = search(vectors, queries[i : i + 1], 10)
        assert np.array_equal(alone[0][0], scores[i])
        assert np.array_equal(alone[1][0], rows[i])


def test_batches_past_the_size_where_faiss_changes_its_method_give_the_same_scores():
    passages, queries = unit(10, 400, 384), unit(11, 400, 384)
    vectors = new_vectors(384, "float32")
    vectors.add(passages)
    scores, _ = search(vectors, queries, 5)
    alone = np.vstack([search(vectors, queries[i : i + 1], 5)[0] for i in range(400)])
    assert np.array_equal(scores, alone)
