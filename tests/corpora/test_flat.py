"""Exact dense search, ties and fusion, on numbers that can be checked by hand (no model)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchwise.corpora.flat import FlatIndex, new_vectors, search
from branchwise.corpora.retrieval import Scored, fused, ranked

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


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("copies", [2, 5, 40])
def test_equal_vectors_are_ordered_by_id_across_the_border(dtype, copies):
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


@pytest.mark.slow
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


IDS = ["d", "a", "c", "b"]
rankings = st.lists(st.permutations(range(8)).map(lambda p: p[:5]), min_size=1, max_size=3)


def name(row: int) -> str:
    return "hgfedcba"[row]


def test_ids_are_read_only_where_scores_tie():
    scored = [Scored(0, 3.0), Scored(1, 2.0), Scored(2, 1.0), Scored(3, 1.0)]
    assert [s.row for s in ranked(scored, 2, lambda row: pytest.fail("read"))] == [0, 1]


@pytest.mark.slow
@given(st.lists(st.sampled_from([0.0, 0.5, 1.0]), max_size=8), st.integers(1, 8), st.randoms())
def test_a_ranking_is_the_sort_by_score_then_id_in_whatever_order_it_came(scores, k, random):
    scored = [Scored(row, score) for row, score in enumerate(scores)]
    expected = sorted(scored, key=lambda s: (-s.score, name(s.row)))[:k]
    random.shuffle(scored)
    assert ranked(scored, k, name) == expected


def test_reciprocal_ranks_are_summed():
    first = [Scored(0, 9.0), Scored(1, 8.0)]
    second = [Scored(2, 0.7), Scored(0, 0.6)]
    result = fused([first, second], 3, IDS.__getitem__)
    assert [s.row for s in result] == [0, 2, 1]
    assert result[0].score == pytest.approx(1 / 61 + 1 / 62)
    assert result[1].score == pytest.approx(1 / 61)
    assert result[2].score == pytest.approx(1 / 62)


def test_equal_sums_tie_whichever_ranking_came_first():
    one, other = [Scored(0, 1.0), Scored(1, 0.5)], [Scored(1, 1.0), Scored(0, 0.5)]
    assert [s.row for s in fused([one, other], 2, IDS.__getitem__)] == [1, 0]
    assert [s.row for s in fused([other, one], 2, IDS.__getitem__)] == [1, 0]


@pytest.mark.slow
@given(rankings, st.integers(1, 8))
def test_the_best_few_are_the_first_of_the_best_many(orders, k):
    lists = [[Scored(row, float(-place)) for place, row in enumerate(order)] for order in orders]
    assert fused(lists, k, name) == fused(lists, 8, name)[:k]
