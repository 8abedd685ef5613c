"""Answers that are sentences: each gold one beside the predicted one that scorers align with it."""

from collections.abc import Iterator

from branchwise.agents.prediction import Prediction
from branchwise.corpora.questions import DEFAULT_BRANCH, Question
from branchwise.eval.properties import (
    Property,
    align_properties,
    gold_properties,
    predicted_properties,
)
from branchwise.ui.cells import number
from branchwise.ui.traces.answers import one_line
from branchwise.ui.traces.trace import AnswerLine, BranchLines

TASK = "condambigqa"


def sentence_lines(question: Question, prediction: Prediction) -> list[BranchLines]:
    """Gold and predicted properties, aligned as `eval.tasks.condambigqa` scores them.

    No answer is right or wrong: a predicted one says how much of its words it has in common with
    the gold one beside it. Those that stand for no gold one come last.
    """
    gold, predicted = gold_properties(question), predicted_properties(prediction)
    pairs = {pair.gold: pair for pair in align_properties(predicted, gold)}
    found = []
    for place, wanted in enumerate(gold):
        # The first wording: the others are what counts as it, too.
        lines = tuple(AnswerLine(one_line(text), "open") for text in wanted.answers[:1])
        pair = pairs.get(place)
        if pair is None:
            found.append(BranchLines(_name(wanted), (), lines, ()))
            continue
        why = f"answer F1 {number(pair.answer_f1)}"
        if wanted.condition:
            why += f", condition F1 {number(pair.condition_f1)}"
        said = predicted[pair.predicted]
        found.append(BranchLines(_name(wanted), (_name(said),), lines, tuple(_lines(said, why))))
    aligned = {pair.predicted for pair in pairs.values()}
    left = [said for place, said in enumerate(predicted) if place not in aligned]
    found += [BranchLines(None, (_name(said),), (), tuple(_lines(said, ""))) for said in left]
    return found


def _name(one: Property) -> str:
    return one_line(one.condition or DEFAULT_BRANCH)


def _lines(one: Property, why: str) -> Iterator[AnswerLine]:
    yield from (AnswerLine(one_line(text), "open", why) for text in one.answers)
