"""What holds for every question and every prediction."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchwise.corpora.questions import Answer, Branch
from branchwise.eval.branch_scores import (
    SetScore,
    align_answers,
    gold_branches,
    pooled_score,
    strict_score,
)
from branchwise.eval.entities import distinct_forms, gold_sets
from support.eval.random_answers import ANSWERS, ENTITIES, GOLD, NAMES, ORDER, PREDICTED

pytestmark = pytest.mark.slow

Answers = dict[str, list[str]]

Gold = dict[str, list[Answer]]


def scores(gold: Gold, answers: Answers) -> tuple[SetScore, SetScore]:
    """Strict and pooled."""
    scored = gold_branches(Branch(name=n, answers=tuple(a)) for n, a in gold.items())
    alignment = align_answers(scored, answers)
    return strict_score(scored, answers, alignment), pooled_score(scored, answers)


def with_answer(answers: Answers, name: str, text: str) -> Answers:
    return answers | {name: [*answers[name], text]}


@given(GOLD, PREDICTED, ORDER)
def test_order_of_branches_and_answers_changes_nothing(
    gold: Gold, answers: Answers, order: random.Random
) -> None:
    other_gold = {
        name: order.sample(gold[name], len(gold[name])) for name in order.sample([*gold], len(gold))
    }
    other = {
        name: order.sample(answers[name], len(answers[name]))
        for name in order.sample([*answers], len(answers))
    }
    assert scores(other_gold, other) == scores(gold, answers)


@given(GOLD, PREDICTED, ENTITIES, st.data())
@settings(max_examples=300)
def test_an_added_answer_never_hurts_where_it_is_right_nor_helps_where_it_is_wrong(
    gold: Gold, answers: Answers, text: str, data: st.DataObject
) -> None:
    """Right: gold entities that it may stand for are in the branch that its key stands for."""
    if not answers:
        return
    name = data.draw(st.sampled_from(sorted(answers)))
    before = scores(gold, answers)
    after = scores(gold, with_answer(answers, name, text))
    assert all(new.recall >= old.recall for new, old in zip(after, before, strict=True))
    for kind, (new, old) in enumerate(zip(after, before, strict=True)):
        if not is_right(gold, answers, name, text, strictly=kind == 0):
            assert new.precision <= old.precision
            assert new.right == old.right
        else:
            assert new.right >= old.right
            assert new.predicted <= old.predicted + 1


def is_right(gold: Gold, answers: Answers, name: str, text: str, *, strictly: bool) -> bool:
    """Whether the text alone, in its branch, would be right."""
    alone = {key: [] for key in answers} | {name: [text]}
    return scores(gold, alone)[0 if strictly else 1].right > 0


@given(GOLD, PREDICTED)
def test_exact_match_iff_precision_and_recall_are_one(gold: Gold, answers: Answers) -> None:
    for score in scores(gold, answers):
        assert (score.em == 1) == (score.precision == score.recall == 1)
        assert score.em in (0, 1)


@given(GOLD, PREDICTED)
def test_counts_are_consistent(gold: Gold, answers: Answers) -> None:
    strict, pooled = scores(gold, answers)
    for score in (strict, pooled):
        assert 0 <= score.right <= min(score.predicted, score.gold)
    texts = [text for branch in answers.values() for text in branch]
    assert pooled.predicted <= len(distinct_forms(texts))
    assert (strict.predicted == 0) == (pooled.predicted == 0) == (not texts)


@given(st.dictionaries(NAMES, st.lists(ENTITIES, min_size=1), min_size=1, max_size=4))
def test_gold_answers_itself_exactly(texts: Answers) -> None:
    gold = {name: [Answer(text=text) for text in found] for name, found in texts.items()}
    strict, pooled = scores(gold, texts)
    assert strict.em == pooled.em == 1


@given(GOLD, PREDICTED)
def test_with_one_gold_branch_strict_is_pooled(gold: Gold, answers: Answers) -> None:
    name = next(iter(gold))
    strict, pooled = scores({name: gold[name]}, answers)
    assert strict == pooled


@given(st.lists(ANSWERS, max_size=6), ORDER)
def test_merging_gold_answers_does_not_depend_on_order(
    answers: list[Answer], order: random.Random
) -> None:
    shuffled = order.sample(answers, len(answers))
    assert len(gold_sets([answers])[0]) == len(gold_sets([shuffled])[0])
