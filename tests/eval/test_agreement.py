"""Agreement of the two matchers."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from branchwise.eval.items import AnsweredItem, Matched
from branchwise.eval.judging.matcher import Agreement, agreement
from support.eval.judging_cases import an_item

FILMS = {"Heat (1972 film)": ["a"], "Heat (1986 film)": ["b"], "Heat (1995 film)": ["c"]}


def matched(
    answers: dict[str, list[str]], alignment: dict[str, int | None], by: str = "llm", **more: object
) -> AnsweredItem:
    item = an_item(answers, FILMS, **more)
    problem = None if by == "llm" else "nonsense"
    return AnsweredItem(
        item.question, item.prediction, item.epoch, matched=Matched(by, alignment, problem)
    )


TWO = {"Heat (1986)": ["b"], "the Pacino film": ["c"]}


def test_pairs_are_counted_by_hand():
    # Lexical: (1986, 1986) and nothing else. The model: that and (the Pacino film, 1995).
    found = agreement([matched(TWO, {"Heat (1986)": 1, "the Pacino film": 2})])
    assert (found.both, found.lexical_only, found.llm_only, found.neither) == (1, 0, 1, 4)
    assert (found.pairs, found.questions) == (6, 1)
    assert found.observed == pytest.approx(5 / 6)
    # p_e = (1 * 2 + 5 * 4) / 36, so kappa = (30 - 22) / (36 - 22).
    assert found.kappa == pytest.approx(8 / 14)
    (difference,) = found.differences
    assert difference.lexical == {"Heat (1986)": "Heat (1986 film)", "the Pacino film": None}
    assert difference.llm == {
        "Heat (1986)": "Heat (1986 film)",
        "the Pacino film": "Heat (1995 film)",
    }


def test_matchers_that_say_the_same_agree_wholly():
    found = agreement([matched(TWO, {"Heat (1986)": 1, "the Pacino film": None})])
    assert (found.kappa, found.observed, found.differences) == (1.0, 1.0, ())


def test_matchers_that_never_say_the_same_agree_less_than_by_chance():
    # Lexical aligns the year, the model another film: p_o = 1/3, p_e = (1 + 4) / 9.
    found = agreement([matched({"Heat (1986)": ["b"]}, {"Heat (1986)": 0})])
    assert (found.both, found.lexical_only, found.llm_only, found.neither) == (0, 1, 1, 1)
    assert found.kappa == pytest.approx((1 / 3 - 5 / 9) / (1 - 5 / 9))


def test_kappa_is_undefined_without_pairs_and_without_variation():
    nothing = agreement([])
    assert (nothing.kappa, nothing.observed, nothing.pairs) == (None, None, 0)
    none_aligned = agreement([matched({"x": ["b"]}, {"x": None})])
    assert (none_aligned.kappa, none_aligned.observed, none_aligned.pairs) == (None, 1.0, 3)
    assert Agreement(4, 0, 0, 0, 1, ()).kappa is None
    assert Agreement(0, 4, 0, 0, 1, ()).kappa == 0.0
    assert Agreement(10**9, 0, 0, 1, 1, ()).kappa == 1.0


def test_only_what_a_model_aligned_is_compared_and_default_is_left_out():
    items = [
        matched({"default": ["b"], "Heat (1986)": ["b"]}, {"default": None, "Heat (1986)": 1}),
        matched({"Heat (1995)": ["b"]}, {"Heat (1995)": 2}, by="lexical", id="q2"),
        an_item({"Heat (1995)": ["b"]}, FILMS, id="q3"),
    ]
    found = agreement(items)
    assert (found.pairs, found.both, found.neither, found.questions) == (3, 1, 2, 1)


def test_epochs_with_the_same_names_count_once():
    alignment = {"Heat (1986)": 1, "the Pacino film": 2}
    items = [
        matched(TWO, alignment),
        matched({name: ["other"] for name in TWO}, alignment, epoch=1),
        matched({"Heat (1986)": ["b"]}, {"Heat (1986)": 1}, epoch=2),
        matched(TWO, alignment, id="q2"),
    ]
    found = agreement(items)
    assert (found.pairs, found.questions) == (6 + 3 + 6, 3)
    assert [(one.id, one.epoch) for one in found.differences] == [("q1", 0), ("q2", 0)]


def test_the_report_is_json():
    record = json.loads(
        json.dumps(agreement([matched(TWO, dict.fromkeys(TWO, 0))]).to_json())
    )  # fmt: skip
    assert record["pairs"] == 6
    assert record["differences"][0]["llm"]["the Pacino film"] == "Heat (1972 film)"


@given(*[st.integers(0, 30)] * 4)
def test_kappa_is_that_of_an_independent_computation(both, lexical_only, llm_only, neither):
    counts = (both, lexical_only, llm_only, neither)
    kappa = Agreement(*counts, 1, ()).kappa
    first = [1] * both + [1] * lexical_only + [0] * llm_only + [0] * neither
    second = [1] * both + [0] * lexical_only + [1] * llm_only + [0] * neither
    if not first or (len(set(first)) == 1 and first == second):
        assert kappa is None
        return
    expected = cohen_kappa_score(first, second, labels=[0, 1])
    assert kappa == pytest.approx(expected)
    assert -1 <= kappa <= 1
    assert not math.isnan(kappa)
