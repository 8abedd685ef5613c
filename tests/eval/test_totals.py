"""Scores that are functions of sums over questions, beside an independent computation of them."""

import random
from itertools import product
from random import Random
from statistics import NormalDist, stdev

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchwise.eval import bootstrap
from branchwise.eval.bootstrap import RESAMPLES, Aggregate, Summed, aggregate, aggregate_sums
from branchwise.eval.comparison import ScoreDifference, compare
from branchwise.eval.epochs import MetricSpread, epoch_spread
from branchwise.eval.paired_tests import LeftOutQuestions
from branchwise.eval.scores import Scores, score_items
from branchwise.eval.tasks import TASKS
from support.eval.corpus_task import SUMS, CorpusTask, f1
from support.eval.scoring_cases import item
from support.eval.traced_cases import traced

TASK = CorpusTask()
Answers = dict[str, tuple[list[str], list[str]]]
"""Question to its gold and its predicted answers."""


@pytest.fixture(autouse=True)
def known_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TASKS, TASK.name, TASK)


def scored(answers: Answers) -> Scores:
    return score_items(TASK, [item(id, {"b": g}, {"b": p}) for id, (g, p) in answers.items()])


def pooled(answers: Answers, chosen: list[str] | None = None) -> float | None:
    """F1 over pairs of (draw, answer), as if all questions were one."""
    ids = list(answers) if chosen is None else chosen
    gold = {(n, text) for n, id in enumerate(ids) for text in answers[id][0]}
    said = {(n, text) for n, id in enumerate(ids) for text in answers[id][1]}
    if not said:
        return 0.0 if gold else None
    precision, recall = len(gold & said) / len(said), len(gold & said) / len(gold)
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


TEXTS = st.lists(st.sampled_from("abcd"), max_size=3, unique=True)
GOLD = st.lists(st.sampled_from("abcd"), min_size=1, max_size=3, unique=True)
ANSWERS = st.dictionaries(
    st.sampled_from(["q1", "q2", "q3", "q4", "q5"]), st.tuples(GOLD, TEXTS), min_size=2
)
BASE: Answers = {"q1": (["a"], ["a", "b"]), "q2": (["a", "b", "c"], ["d"]), "q3": (["a"], ["a"])}
OTHER: Answers = {"q1": (["a"], ["a"]), "q2": (["a", "b", "c"], ["a"]), "q3": (["a"], ["b"])}


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(ANSWERS)
def test_score_and_interval_are_those_of_drawn_questions(answers: Answers) -> None:
    found = scored(answers).aggregates["all"]["corpus_f1"]
    assert found.mean == pytest.approx(pooled(answers))
    ids = sorted(answers)
    draws = np.random.default_rng(0).integers(len(ids), size=(RESAMPLES, len(ids)))
    drawn = [pooled(answers, [ids[n] for n in row]) for row in draws]
    ends = np.percentile([score for score in drawn if score is not None], [2.5, 97.5])
    assert (found.low, found.high) == pytest.approx(tuple(ends))


def test_what_is_unscored_stays_out() -> None:
    vectors = [(1.0, 1.0, 1.0), None, (0.0, 1.0, 1.0)]
    assert aggregate_sums(Summed(vectors, f1)).mean == 0.5
    assert aggregate_sums(Summed(vectors, f1)).n == 2
    assert aggregate_sums(Summed([None], f1)) == Aggregate(None, 0, None, None)
    assert aggregate_sums(Summed([(1, 1, 1), None], f1)) == Aggregate(1.0, 1, None, None)
    assert aggregate_sums(Summed([(0, 0, 0)] * 3, f1)) == Aggregate(None, 3, None, None)


def difference(base: Answers, other: Answers) -> ScoreDifference:
    return compare(scored(base), scored(other), subsets=("all",)).find("corpus_f1")


def test_a_difference_by_hand() -> None:
    found = difference(BASE, OTHER)
    # The other: 2 right of 3 said and 5 gold ones.
    assert (found.base, found.other) == (pytest.approx(4 / 9), pytest.approx(1 / 2))
    assert found.difference == pytest.approx(1 / 18)
    # Alone: 2/3 to 1, 0 to 1/2, 1 to 0.
    assert (found.higher, found.lower, found.same, found.n) == (2, 1, 0, 3)
    assert found.test == "exact permutation"
    assert found.low is not None
    assert found.low < 0 < (found.high or 0)


def test_questions_of_one_system_stay_out() -> None:
    found = difference(BASE, {"q1": OTHER["q1"], "q9": (["a"], ["a"])})
    assert found.left_out == LeftOutQuestions(only_base=2, only_other=1)
    assert (found.n, found.low, found.p) == (1, None, None)
    assert found.difference == pytest.approx(1 - 2 / 3)


def swapped(base: Answers, other: Answers) -> float:
    """The share of all swaps with at least the observed difference, by recomputing each."""
    ids = sorted(base)
    observed = abs((pooled(other) or 0) - (pooled(base) or 0))
    extreme = 0
    for swaps in product([False, True], repeat=len(ids)):
        ours = {id: (other if swap else base)[id] for id, swap in zip(ids, swaps, strict=True)}
        theirs = {id: (base if swap else other)[id] for id, swap in zip(ids, swaps, strict=True)}
        changed = abs((pooled(theirs) or 0) - (pooled(ours) or 0))
        extreme += changed >= observed - 1e-9
    return extreme / 2 ** len(ids)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(ANSWERS, st.data())
def test_the_p_value_is_that_of_all_swaps(base: Answers, data: st.DataObject) -> None:
    other = {id: (gold, data.draw(TEXTS)) for id, (gold, _) in base.items()}
    assert difference(base, other).p == pytest.approx(swapped(base, other))


def test_of_many_questions_swaps_are_drawn() -> None:
    base = {f"q{n:02}": (["a", "b"], ["a"] if n % 3 else ["c"]) for n in range(30)}
    other = {id: (gold, ["a", "b"]) for id, (gold, _) in base.items()}
    found = difference(base, other)
    assert found.test == "permutation"
    assert found.p == pytest.approx(1 / 10_000)
    shuffled = Random(1).sample(sorted(base), 30)
    again = difference(base, {id: other[id] for id in shuffled})
    assert again == found


def test_spread_over_epochs_by_hand() -> None:
    sums = {"a": [(1, 1, 1), (0, 1, 1)], "b": [(1, 2, 1), (1, 1, 1)]}
    items = [
        traced(id, [(0, 0)], epoch=epoch, metrics=dict(zip(SUMS, vector, strict=True)))
        for id, vectors in sums.items()
        for epoch, vector in enumerate(vectors)
    ]
    spread = epoch_spread(items, TASK.columns[:1])
    assert spread is not None
    # Of the first epoch 2 * 2 / 5, of the second 2 * 1 / 4.
    expected = MetricSpread(2, None, pytest.approx(stdev([0.8, 0.5])), 0.8, 0.5, (0.8, 0.5))
    assert spread.metrics["all"]["corpus_f1"] == expected


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ([], Aggregate(None, 0, None, None)),
        ([None, None], Aggregate(None, 0, None, None)),
        ([None, 0.25], Aggregate(0.25, 1, None, None)),
        # Means of resamples: 0 with probability 1/4, 1/2 with 1/2, 1 with 1/4.
        ([0.0, 1.0], Aggregate(0.5, 2, 0.0, 1.0)),
        ([1.0, None, 1.0, None, 0.25], Aggregate(0.75, 3, 0.25, 1.0)),
    ],
)
def test_mean_n_and_interval_are_of_the_scored_questions_alone(values, found):
    assert aggregate({"p": values}) == {"p": found}


def test_interval_is_that_of_the_normal_approximation_for_many_questions() -> None:
    generator = random.Random(1)
    values = [float(generator.random() < 0.3) for _ in range(2_000)]
    found = aggregate({"p": values})["p"]
    assert found.mean is not None
    error = (found.mean * (1 - found.mean) / len(values)) ** 0.5
    half = NormalDist().inv_cdf(0.975) * error
    assert found.low == pytest.approx(found.mean - half, abs=0.15 * half)
    assert found.high == pytest.approx(found.mean + half, abs=0.15 * half)


def test_a_metric_does_not_depend_on_its_neighbours() -> None:
    p, r = [0.1 * i for i in range(11)], [None, *[0.2] * 9, 1.0]
    together = aggregate({"r": r, "p": p})
    apart = aggregate({"r": r}) | aggregate({"p": p})
    # A product of matrices and one of vectors may differ in the last bit.
    assert {m: pytest.approx(a.to_json()) for m, a in apart.items()} == {
        m: a.to_json() for m, a in together.items()
    }


def test_drawing_in_blocks_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"p": [0.1 * i for i in range(11)]}
    whole = aggregate(values)
    monkeypatch.setattr(bootstrap, "_BLOCK_DRAWS", 77)
    assert aggregate(values)["p"].to_json() == pytest.approx(whole["p"].to_json())
