"""Alternative gold sets: which one an item is scored against, by hand and whatever they hold."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.agents.prediction import Prediction
from branchwise.corpora.questions import Answer, Branch, Question, questions_digest
from branchwise.eval.branch_scores import GoldPair
from branchwise.eval.ceilings import TracedItem
from branchwise.eval.epochs import epoch_spread
from branchwise.eval.errors.attribution import examine
from branchwise.eval.items import (
    AnsweredItem,
    best_gold_sets,
    by_best_gold_set,
    each_gold_set,
    gold_set_note,
)
from branchwise.eval.reach import Reach, find_reach, reach_key
from branchwise.eval.scores import score_items
from branchwise.eval.sources import Sources, wanted_pairs
from branchwise.eval.tasks import get_task

TASK = get_task("branches")
FILM, SONG = "the film", "the song"


def gold_set(answers):
    return tuple(
        Branch(name=name, answers=tuple(Answer(text=text) for text in texts))
        for name, texts in answers.items()
    )


def question(*gold_sets, id="q"):
    first, *others = map(gold_set, gold_sets)
    return Question(id=id, question="?", branches=first, alternatives=tuple(others))


def item(*gold_sets, answers, **fields):
    return AnsweredItem(question(*gold_sets), Prediction(answers=answers), **fields)


def metrics(one):
    return score_items(TASK, [one]).items[0].metrics


def strict(one):
    found = metrics(one)
    return found["strict_recall"], found["strict_precision"], found["strict_em"]


READINGS, SINGLE = {FILM: ["A"], SONG: ["B"]}, {"default": ["A"]}


@pytest.mark.parametrize(
    ("answers", "chosen", "expected"),
    [
        # R of the readings 1 and of the single answer 1: precision decides.
        ({FILM: ["A"], SONG: ["B"]}, 0, (1, 1, 1)),
        # Half of the readings, all of the single answer.
        ({FILM: ["A"]}, 1, (1, 1, 1)),
        ({"default": ["A", "x"]}, 1, (1, 0.5, 0)),
        # None has it: the set with the most branches.
        ({FILM: ["x"]}, 0, (0, 0, 0)),
        ({}, 0, (0, 0, 0)),
    ],
)
def test_the_best_recall_decides_then_precision_then_size(answers, chosen, expected):
    for order, place in (((READINGS, SINGLE), chosen), ((SINGLE, READINGS), 1 - chosen)):
        one = item(*order, answers=answers)
        assert strict(one) == expected
        assert by_best_gold_set(TASK, one).gold_set == place


def test_a_failed_item_is_scored_as_one_without_an_answer():
    one = item(SINGLE, READINGS, answers={"default": ["A"]}, error="died")
    assert by_best_gold_set(TASK, one).gold_set == 1
    assert strict(one) == (0, 0, 0)


def test_scores_say_which_gold_set_and_how_many_questions_have_several():
    several = item(SINGLE, READINGS, answers={FILM: ["A"], SONG: ["B"]})
    alone = AnsweredItem(question(SINGLE, id="a"), Prediction())
    rows = [row.to_json() for row in score_items(TASK, [several, alone]).items]
    assert ["gold_set" in row for row in rows] == [False, True]
    assert rows[1]["gold_set"] == 1
    assert gold_set_note(TASK, 1, 2) == (
        "1 of 2 questions has alternative gold answers; each item is scored against those that "
        "give it the best strict recall, then strict precision, then strict EM"
    )


def test_what_models_settled_by_each_gold_set_is_decided_once():
    several = item(SINGLE, READINGS, answers={"x": ["A"]}, epoch=1)
    settled = each_gold_set([item(SINGLE, READINGS, answers={"x": ["A"]}), several])
    assert [(one.epoch, one.gold_set) for one in settled] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    decided = best_gold_sets(TASK, settled)
    assert [(one.epoch, one.gold_set) for one in decided] == [(0, 0), (1, 0)]
    assert best_gold_sets(TASK, decided) == decided
    same = [AnsweredItem(question(SINGLE), Prediction()) for _ in range(2)]
    assert best_gold_sets(TASK, same) == same


def test_reach_is_known_of_every_gold_set():
    asked = question({"default": ["A", "B"]}, SINGLE)
    assert wanted_pairs([asked]).keys() == {("q", 0), ("q", 1)}
    reach = Reach({"q": {GoldPair(0, 0): True}}, alternatives={("q", 1): {GoldPair(0, 0): False}})
    assert (reach.of(("q", 0), GoldPair(0, 0)), reach.of(("q", 1), GoldPair(0, 0))) == (True, False)
    assert reach.of(("q", 2), GoldPair(0, 0)) is None
    assert Reach.from_json(json.loads(json.dumps(reach.to_json()))) == reach
    found = find_reach([asked], Sources())
    assert (len(found.within["q"]), len(found.alternatives["q", 1])) == (2, 1)
    assert reach_key([asked], Sources()) != reach_key(
        [question({"default": ["A", "B"]})], Sources()
    )


def test_epochs_are_united_with_those_of_their_gold_set():
    pair = {FILM: ["A"], SONG: ["B"]}
    other = {FILM: ["C"], SONG: ["D"]}
    said = [{FILM: ["A"]}, {SONG: ["B"]}, {FILM: ["C"]}]
    items = [
        by_best_gold_set(TASK, item(pair, other, answers=answers, epoch=epoch))
        for epoch, answers in enumerate(said)
    ]
    assert [one.gold_set for one in items] == [0, 0, 1]
    traced = [TracedItem(one, examine(one, ()).matches, metrics=metrics(one)) for one in items]
    spread = epoch_spread(traced, TASK.headline)
    union = {name: found.mean for name, found in spread.union["all"].items()}
    assert union == {"mean_recall": 0.5, "union_recall": 1, "gain": 0.5}


NAMES = st.sampled_from([FILM, SONG, "the book", "default"])
TEXTS = st.lists(st.sampled_from("ABCD"), min_size=1, max_size=3, unique=True)
GOLD = st.dictionaries(NAMES, TEXTS, min_size=1, max_size=3)
ANSWERS = st.dictionaries(NAMES, st.lists(st.sampled_from("ABCDx"), max_size=3), max_size=3)
TASKS = st.sampled_from([get_task("branches"), get_task("ambigqa")])


@pytest.mark.slow
@given(TASKS, st.lists(GOLD, min_size=1, max_size=3), GOLD, ANSWERS)
def test_one_more_alternative_never_lowers_the_main_metric(task, gold_sets, more, answers):
    def main(*sets):
        [row] = score_items(task, [item(*sets, answers=answers)]).items
        return row.metrics[task.main.key]

    assert main(*gold_sets, more) == max(main(*gold_sets), main(more))


@pytest.mark.slow
@given(TASKS, st.lists(GOLD, min_size=2, max_size=4), ANSWERS, st.randoms(use_true_random=False))
def test_the_order_of_gold_sets_changes_nothing(task, gold_sets, answers, draw):
    def found(sets):
        one = by_best_gold_set(task, item(*sets, answers=answers))
        errors = examine(one, ()).errors.to_json()
        errors.pop("gold_set")
        chosen = sorted(one.question.branches, key=lambda branch: branch.name)
        [row] = score_items(task, [one]).items
        return chosen, errors, row.metrics

    shuffled = list(gold_sets)
    draw.shuffle(shuffled)
    assert found(shuffled) == found(gold_sets)


@given(GOLD, ANSWERS)
def test_a_question_with_one_gold_set_is_left_as_it_is(gold, answers):
    one = item(gold, answers=answers)
    assert by_best_gold_set(TASK, one) is one
    assert "alternatives" not in one.question.model_dump(mode="json")
    assert each_gold_set([one]) == [one]


@pytest.mark.slow
@given(st.lists(GOLD, min_size=1, max_size=4), st.data())
def test_any_gold_set_can_be_the_branches_and_none_is_lost(gold_sets, data):
    asked = question(*gold_sets)
    number = data.draw(st.integers(0, len(gold_sets) - 1))
    turned = asked.by_gold_set(number)
    assert turned.branches == asked.gold_sets[number]
    assert sorted(map(str, turned.gold_sets)) == sorted(map(str, asked.gold_sets))
    if number == 0:
        assert questions_digest([turned]) == questions_digest([asked])
    assert Question.model_validate(turned.model_dump(mode="json")) == turned
