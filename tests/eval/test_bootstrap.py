import random
from statistics import NormalDist

import pytest

from branchwise.eval import bootstrap
from branchwise.eval.bootstrap import Aggregate, aggregate


def test_of_nothing_is_said_explicitly() -> None:
    assert aggregate({"p": []}) == {"p": Aggregate(None, 0, None, None)}
    assert aggregate({"p": [None, None]}) == {"p": Aggregate(None, 0, None, None)}
    assert aggregate({}) == {}


def test_one_question_has_a_mean_and_no_interval() -> None:
    assert aggregate({"p": [None, 0.25]}) == {"p": Aggregate(0.25, 1, None, None)}


def test_two_questions_by_hand() -> None:
    # Means of resamples: 0 with probability 1/4, 1/2 with 1/2, 1 with 1/4.
    assert aggregate({"p": [0.0, 1.0]}) == {"p": Aggregate(0.5, 2, 0.0, 1.0)}


def test_unscored_questions_stay_out_of_mean_n_and_interval() -> None:
    found = aggregate({"p": [1.0, None, 1.0, None, 0.25]})["p"]
    assert found.mean == pytest.approx(0.75)
    assert found.n == 3
    assert (found.low, found.high) == (0.25, 1.0)


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
