"""FanOutQA's accuracy: by hand, and beside its definition computed in another way."""

import random
import re

import pytest

from branchwise.agents.prediction import Prediction
from branchwise.corpora.loaders import load_questions
from branchwise.corpora.questions import Question
from branchwise.eval.items import AnsweredItem
from branchwise.eval.scores import score_items
from branchwise.eval.tasks import get_task
from branchwise.eval.tasks.fanoutqa.task import found_strings, loose
from support.eval.scoring_cases import branches
from support.needs import DATA, needs_data

TASK = get_task("fanoutqa")
AGES = {"Ann Lee": ["41"], "Bo Diaz": ["38"], "Cy Odum": ["41"]}


def scores(gold, answers, **fields):
    question = Question(id="q", question="?", branches=branches(gold))
    [row] = score_items(TASK, [AnsweredItem(question, Prediction(answers=answers), **fields)]).items
    return row.metrics["loose_accuracy"], row.metrics["strict_accuracy"]


@pytest.mark.parametrize(
    ("answers", "found"),
    [
        (AGES, 6),
        ({"Ann Lee": ["41"]}, 3),  # her name, and 41 twice: it is Cy Odum's age, too
        ({"default": ["Ann Lee is 41", "Bo Diaz 38."]}, 5),
        ({"ann lee!": ["41 years"], "Odum": ["38"]}, 4),
        ({"Anna Lee": ["410"]}, 0),
        ({}, 0),
    ],
)
def test_keys_and_values_count_alike(answers, found):
    assert scores(AGES, answers) == (pytest.approx(found / 6), float(found == 6))


def test_a_failed_item_counts_nothing_and_one_without_gold_is_in_no_score():
    assert scores(AGES, AGES, error="died") == (0, 0)
    assert scores({}, AGES) == (None, None)


@pytest.mark.parametrize(
    ("gold", "written", "found"),
    [
        ("1,463,000", "there are 1463000 of them", True),
        ("680000", "Macau: 680,000.", True),
        ("$5 billion", "it cost $5 billion", True),
        ("61.6", "61.6 inches", True),
        ("St. Louis", "st louis rams", True),
        ("Left", "left - right", True),
        ("Ann", "Annabel", False),
        ("1", "1990 or 21", False),
        ("J. D. Drew", "JD Drew", False),
        ("The Force\nAwakens", "Star Wars: The   Force Awakens!", True),
        ("?!", "?!", False),
    ],
)
def test_a_string_is_found_where_its_words_stand_together(gold, written, found):
    assert found_strings([[gold]], written) == found
    assert found_strings([["not there", gold]], written) == found


def test_sets_count_a_value_under_its_thing_alone():
    question = Question(id="q", question="?", branches=branches(AGES))
    swapped = {"Ann Lee": ["38"], "Bo Diaz": ["41"], "Cy Odum": ["41"]}
    [row] = score_items(TASK, [AnsweredItem(question, Prediction(answers=swapped))]).items
    assert row.metrics["strict_recall"] == pytest.approx(1 / 3)
    assert row.metrics["loose_accuracy"] == 1
    assert TASK.main.key == "strict_recall"


def answer_in_text(reference, candidate):
    """The definition over the published answer: how many strings there are, and are found."""
    if isinstance(reference, dict):
        parts = [*reference, *reference.values()]
    elif isinstance(reference, list):
        parts = reference
    else:
        said = ("no", "yes")[reference] if isinstance(reference, bool) else str(reference)
        pattern = rf"(?:^|\W){re.escape(loose(said))}(?:$|\W)"
        return 1, len(re.findall(pattern, loose(candidate))) > 0
    counts = [answer_in_text(part, candidate) for part in parts]
    return sum(one for one, _ in counts), sum(found for _, found in counts)


@pytest.mark.slow
@needs_data
def test_accuracy_of_published_answers_is_that_of_the_definition():
    draw = random.Random(7)
    questions = load_questions(f"fanoutqa:{DATA / 'fanoutqa' / 'dev.json'}").questions
    items = []
    for question in questions:
        answers = {b.name: [a.text for a in b.answers] for b in question.branches}
        kept = {name: texts for name, texts in answers.items() if draw.random() < 0.8}
        items.append(AnsweredItem(question, Prediction(answers=kept)))
    found = {row.id: row.metrics for row in score_items(TASK, items).items}
    for item in items:
        lines = [f"{name} {' '.join(texts)}" for name, texts in item.prediction.answers.items()]
        of, right = answer_in_text(item.question.meta["answer"], "\n".join(lines))
        assert found[item.question.id]["loose_accuracy"] == pytest.approx(right / of)
    whole = [
        AnsweredItem(
            q, Prediction(answers={b.name: [a.text for a in b.answers] for b in q.branches})
        )
        for q in questions
    ]
    means = score_items(TASK, whole).aggregates["all"]
    assert {means[key].mean for key in ("strict_em", "loose_accuracy", "strict_accuracy")} == {1}
