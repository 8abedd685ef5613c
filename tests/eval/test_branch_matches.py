"""Which predicted text stands for which gold entity, as the strict score counts them."""

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchwise.corpora.questions import Answer
from branchwise.eval.alignment import Alignment
from branchwise.eval.branch_scores import (
    Answers,
    BranchMatches,
    GoldBranches,
    GoldPair,
    align_answers,
    branch_matches,
    gold_branches,
    strict_score,
)
from support.eval.random_answers import GOLD, ORDER, PREDICTED
from support.eval.scoring_cases import Gold, branches

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Case:
    gold: GoldBranches
    answers: Answers
    alignment: Alignment

    @property
    def matches(self) -> BranchMatches:
        return branch_matches(self.gold, self.answers, self.alignment)


def case(gold: Gold, answers: Answers) -> Case:
    scored = gold_branches(branches(gold))
    return Case(scored, answers, align_answers(scored, answers))


def alignments(data: st.DataObject, gold: GoldBranches, answers: Answers) -> Alignment:
    """Any alignment at all, as a model may bring it: unions, branches that stand for none."""
    index = st.none() | st.integers(0, len(gold.names) - 1)
    return {name: data.draw(index) for name in answers}


@given(GOLD, PREDICTED, st.data())
@settings(max_examples=400)
def test_counts_are_those_of_the_strict_score(gold, answers, data):
    scored = gold_branches(branches(gold))
    drawn = Case(scored, answers, alignments(data, scored, answers))
    for found in (drawn, case(gold, answers)):
        score, matches = strict_score(scored, answers, found.alignment), found.matches
        assert len(matches.right) == score.right
        assert len(matches.right) + len(matches.missing) == score.gold
        assert len(matches.wrong) >= score.predicted - score.right
        assert bool(matches.wrong) == (score.predicted > score.right)


@given(GOLD, PREDICTED, ORDER)
def test_order_changes_nothing(gold, answers, order):
    other = {
        name: order.sample(gold[name], len(gold[name])) for name in order.sample([*gold], len(gold))
    }
    shuffled = {
        name: order.sample(answers[name], len(answers[name]))
        for name in order.sample([*answers], len(answers))
    }
    one, two = case(gold, answers), case(other, shuffled)
    assert one.matches == two.matches
    assert [[e.answers for e in s.entities] for s in one.gold.sets] == [
        [e.answers for e in s.entities] for s in two.gold.sets
    ]


HEAT: Gold = {"Heat (1986 film)": ["Dick Richards"], "Heat (1995 film)": ["Michael Mann", "Pacino"]}


def named(found: Case) -> tuple[list[str], list[str], list[tuple[str, str]]]:
    """Right texts, missing names, wrong (branch, text)."""
    gold, matches = found.gold, found.matches
    return (
        [match.text for match in matches.right],
        [gold.sets[pair.branch].entities[pair.entity].name for pair in matches.missing],
        [(wrong.branch, wrong.text) for wrong in matches.wrong],
    )


def test_right_missing_and_wrong_ones_are_named() -> None:
    found = case(HEAT, {"1986": ["Dick Richards", "De Niro"], "1995": ["michael mann!"]})
    assert named(found) == (["Dick Richards", "michael mann!"], ["Pacino"], [("1986", "De Niro")])
    assert found.matches.right[1].pair == GoldPair(1, 0)


def test_what_is_right_under_another_branch_is_missing_here_and_wrong_there() -> None:
    found = case(HEAT, {"1986": ["Michael Mann", "Dick Richards"], "1995": ["Pacino"]})
    assert named(found) == (
        ["Dick Richards", "Pacino"],
        ["Michael Mann"],
        [("1986", "Michael Mann")],
    )


def test_united_branches_count_one_text_of_each_entity() -> None:
    found = case(HEAT, {"1995": ["Pacino"], "the 1995 film": ["Pacino", "Michael Mann"]})
    assert named(found) == (["Michael Mann", "Pacino"], ["Dick Richards"], [])
    assert [match.branch for match in found.matches.right] == ["the 1995 film", "1995"]


def test_a_text_stands_for_the_entity_of_that_name_before_one_with_that_alias() -> None:
    gold: Gold = {"default": [Answer(text="Abe", aliases=("Ann",)), "Ann"]}
    assert named(case(gold, {"x": ["Ann"]})) == (["Ann"], ["Abe"], [])
