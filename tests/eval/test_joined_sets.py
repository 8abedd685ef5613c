"""Several sets scored together, by hand and by independent code."""

from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t

from branchwise.eval.joined_sets import JoinedSets, compare_joined, shared_columns
from branchwise.eval.paired_tests import students_intervals
from branchwise.eval.scores import Counts, ItemScore, Scorer, Scores, aggregates_by_subset

KEYS = ("strict_precision", "strict_recall", "strict_em")


def scores(task: str, values: list[float], **scorer: object) -> Scores:
    """The same value of each metric for question 0, 1, and so on."""
    items = tuple(
        ItemScore(str(n), 0, True, dict.fromkeys(KEYS, value)) for n, value in enumerate(values)
    )
    counts = Counts(len(values), len(values), 0, 0)
    return Scores(Scorer(task, 1, **scorer), counts, aggregates_by_subset(items, KEYS), items)


def test_each_question_counts_once_and_beside_it_each_set() -> None:
    by_set = {"a": scores("branches", [1, 1, 0, 0, 0, 1]), "b": scores("fanoutqa", [1, 0])}
    metrics = shared_columns([*by_set.values()])
    assert tuple(column.key for column in metrics) == KEYS
    joined = JoinedSets.of(by_set, metrics)
    assert joined.scores.mean("strict_em", "all").mean == 4 / 8
    assert joined.scores.questions("all") == joined.scores.counts.items == 8
    assert joined.mean_of_sets("strict_em") == (3 / 6 + 1 / 2) / 2


def test_a_key_that_means_another_score_in_another_task_is_not_shared() -> None:
    def shared(*tasks: str) -> set[str]:
        return {column.key for column in shared_columns([scores(task, [1]) for task in tasks])}

    assert shared("branches", "ambigqa", "fanoutqa") == set(KEYS)
    assert shared("ambigqa", "ambigqa") == {*KEYS, "ambigqa_f1"}
    # Both have an `answer_f1`: of words in free text, and over the answers of all questions.
    assert shared("condambigqa", "clarified") == shared("branches", "mdcr") == set()


def test_a_plug_ins_metric_is_shared_where_it_is_the_same() -> None:
    def column(heading: str) -> dict[str, object]:
        return {"key": "length", "heading": heading, "table": "further", "source": heading}

    one, other = (
        scores("branches", [1], metrics=(column(heading),)) for heading in ("words", "letters")
    )
    plain = scores("fanoutqa", [1], metrics=(column("words"),))
    assert "length" in {own.key for own in shared_columns([one, plain])}
    assert "length" not in {own.key for own in shared_columns([other, plain])}


def test_questions_of_two_sets_with_one_id_are_two() -> None:
    base = {"a": scores("branches", [1, 0, 1]), "b": scores("fanoutqa", [0, 0, 0])}
    other = {"a": scores("branches", [1, 0, 1]), "b": scores("fanoutqa", [1, 1, 1])}
    metrics = shared_columns([*base.values(), *other.values()])
    pair = (JoinedSets.of(base, metrics), JoinedSets.of(other, metrics))
    found = compare_joined({"other": pair}, metrics)["other"].find("strict_em")
    assert (found.n, found.higher, found.same, found.difference) == (6, 3, 3, 0.5)
    assert found.p == pytest.approx(2 * 0.5**3)
    # Within each set all questions differ alike: what sets differ by is no noise.
    assert (found.low, found.high) == (0.5, 0.5)


def test_an_interval_over_two_strata_by_hand() -> None:
    differences, strata = np.array([[0.0, 0.2, 0.4, 1.0, 0.6]]), [*"aaabb"]
    # s² of 0, .2, .4 is .04, that of 1, .6 is .08.
    variances = [(3 / 5) ** 2 * 0.04 / 3, (2 / 5) ** 2 * 0.08 / 2]
    freedom = sum(variances) ** 2 / (variances[0] ** 2 / 2 + variances[1] ** 2 / 1)
    half = t.ppf(0.975, freedom) * sqrt(sum(variances))
    [found] = students_intervals(differences, strata)
    assert found == pytest.approx((0.44 - half, 0.44 + half))
    assert students_intervals(differences, [*"aaaab"]) == [None]


@settings(max_examples=60)
@given(
    st.lists(st.floats(-1, 1), min_size=2, max_size=12),
    st.lists(st.floats(-1, 1), min_size=2, max_size=12),
    st.floats(-1, 1),
)
def test_a_shift_of_a_whole_set_moves_the_interval_and_does_not_widen_it(
    one: list[float], two: list[float], shift: float
) -> None:
    strata = ["a"] * len(one) + ["b"] * len(two)
    [before] = students_intervals(np.array([[*one, *two]]), strata)
    [after] = students_intervals(np.array([[*one, *(value + shift for value in two)]]), strata)
    assert before
    assert after
    moved = shift * len(two) / len(strata)
    assert after == pytest.approx((before[0] + moved, before[1] + moved), abs=1e-6)
