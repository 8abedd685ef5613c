"""Gold beside predicted: what became of every answer, and where one key leads."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.agents.prediction import Prediction
from branchwise.corpora.questions import Answer, Branch, Question
from branchwise.eval.branch_scores import align_answers, gold_branches, strict_score
from branchwise.eval.errors.attribution import examine
from branchwise.eval.errors.gold_evidence import EvidencePlace
from branchwise.eval.items import AnsweredItem
from branchwise.eval.qualifiers import read_name
from branchwise.trace.events import Event
from branchwise.ui.traces.answers import gold_names, judged_lines, open_lines
from branchwise.ui.traces.trace import AnswerLine, BranchLines

OLD, NEW = "King Kong (1933 film)", "King Kong (1976 film)"
QUESTION = Question(
    id="q",
    question="Who directed King Kong?",
    ambiguous=True,
    branches=(
        Branch(name=OLD, answers=(Answer(text="Merian C. Cooper"), Answer(text="Willis O'Brien"))),
        Branch(name=NEW, answers=(Answer(text="John Guillermin", aliases=("J. Guillermin",)),)),
    ),
)


def passage(id: str, text: str) -> dict[str, Any]:
    return {"id": id, "title": "t", "text": text, "score": 1.0}


def trace(*passages: dict[str, Any], last: str = "", **answer: Any) -> list[Event]:
    call = {"id": "c", "name": "find", "args": {"query": "x"}}
    turn = {"turn": 1, "text": "", "tool_calls": [call], "invalid_tool_calls": []}
    result = {"of": 0, "call": call, "error": None, "artifact": {"passages": [*passages]}}
    events = [
        ("start", {"artifact": {"passages": []}}),
        ("model", turn),
        ("tool", result),
        ("model", {**turn, "turn": 2, "tool_calls": [], "text": last}),
        ("answer", {"how": "strict", "problem": None, **answer}),
    ]
    return [Event(seq, kind, 0.0, data) for seq, (kind, data) in enumerate(events)]


def lines(answers: dict[str, Any], events: list[Event], **item: Any) -> list[BranchLines]:
    answered = AnsweredItem(QUESTION, Prediction(answers=answers), **item)
    errors = examine(answered, events).errors
    return judged_lines(QUESTION.branches, answers, errors, events)


def test_right_wrong_missing_and_under_the_wrong_branch():
    events = trace(passage("p1", "John Guillermin and Fay Wray."))
    answers = {OLD: ["Merian C. Cooper", "john guillermin"], "a third": ["Fay Wray", "Nobody Else"]}
    old, new, none = lines(answers, events)
    place = EvidencePlace(2, 1, "p1")
    assert (old.name, old.keys, none.name, none.keys) == (OLD, (OLD,), None, ("a third",))
    assert old.gold == (
        AnswerLine("Merian C. Cooper", "right"),
        AnswerLine("Willis O'Brien", "missing", "never retrieved"),
    )
    assert old.predicted == (
        AnswerLine("Merian C. Cooper", "right"),
        AnswerLine("john guillermin", "wrong_branch", f"belongs to '{NEW}'", (place,), 2),
    )
    assert new.gold == (AnswerLine("John Guillermin", "wrong_branch", f"under '{OLD}'", (), 4),)
    assert none.predicted == (
        AnswerLine("Fay Wray", "wrong", "read · step 2 [p1]", (place,), 2),
        AnswerLine("Nobody Else", "wrong", "nowhere in the evidence", (), 4),
    )


def test_an_answer_lost_in_a_text_that_could_not_be_read_leads_to_that_turn():
    events = trace(last="It was John Guillermin", how="failed", problem="no JSON object")
    old, new = lines({}, events, how="failed")
    why = "lost with an answer that could not be read"
    assert new.gold == (AnswerLine("John Guillermin", "missing", why, (), 3),)
    assert old.gold[0] == AnswerLine("Merian C. Cooper", "missing", "never retrieved", (), 4)


def test_a_failed_question_leads_to_its_error():
    events = [*trace()[:2], Event(2, "error", 0.0, {"kind": "auth", "message": "no"})]
    old, new = lines({}, events, how="failed", error="auth: no")
    assert {line.why for line in (*old.gold, *new.gold)} == {"the question failed"}
    assert {line.step for line in (*old.gold, *new.gold)} == {2}


def test_a_text_that_is_right_under_another_form_says_for_what():
    answers = {NEW: ["J. Guillermin", "John Guillermin", "  "]}
    _, new = lines(answers, trace())
    assert new.gold == (AnswerLine("John Guillermin", "right"),)
    assert new.predicted == (
        AnswerLine("J. Guillermin", "right", "for 'John Guillermin'"),
        AnswerLine("John Guillermin", "right", "counted already"),
        AnswerLine("(empty)", "open", "counts nothing"),
    )
    (_, new) = lines({NEW: ["J. Guillermin"]}, trace())
    assert new.predicted == (AnswerLine("J. Guillermin", "right", "for 'John Guillermin'"),)


def test_where_nobody_decided_answers_stand_side_by_side_without_a_verdict():
    first, second, third = open_lines(QUESTION.branches, {NEW: ["A sentence."], "x": ["b", "c"]})
    assert (first.name, first.keys, first.predicted) == (OLD, (), ())
    assert (second.keys, second.predicted) == ((NEW,), (AnswerLine("A sentence.", "open"),))
    assert third == BranchLines(
        None, ("x",), (), (AnswerLine("b", "open"), AnswerLine("c", "open"))
    )
    assert {line.verdict for branch in (first, second) for line in branch.gold} == {"open"}


TEXTS = st.sampled_from(
    ["Merian C. Cooper", "merian c cooper", "Willis O'Brien", "J. Guillermin", "Fay Wray", " ", "x"]
)
KEYS = st.sampled_from([OLD, NEW, "King Kong of 1933", "default", "a third", "King Kong"])


@pytest.mark.slow
@given(st.dictionaries(KEYS, st.lists(TEXTS, max_size=4)))
def test_verdicts_are_those_of_the_strict_score(answers):
    gold = gold_branches(QUESTION.branches)
    alignment = align_answers(gold, answers)
    score = strict_score(gold, answers, alignment)
    shown = lines(answers, trace())
    found = [line.verdict for branch in shown for line in branch.gold]
    assert found.count("right") == score.right
    assert len(found) == score.gold
    assert [key for branch in shown for key in branch.keys] == [
        *(key for i in range(2) for key in sorted(k for k in answers if alignment[k] == i)),
        *(key for key in answers if alignment[key] is None),
    ]
    for branch in shown:
        texts = [text for key in branch.keys for text in answers[key]]
        assert len(branch.predicted) == len(texts)
        right = {read_name(line.text).key for line in branch.predicted if line.verdict == "right"}
        wrong = {read_name(t.text).key for t in branch.predicted if t.verdict.startswith("wrong")}
        assert not right & wrong
        assert bool(right) == any(line.verdict == "right" for line in branch.gold)


def test_names_are_those_of_an_entity_in_all_branches():
    branches = (
        Branch(name="a", answers=(Answer(text="Heat", qid="Q1", aliases=("Hit",)),)),
        Branch(name="b", answers=(Answer(text="Heat (film)", qid="Q1"), Answer(text="Ronin"))),
    )
    assert gold_names(branches) == [["Heat", "Hit", "Heat (film)"], ["Ronin"]]
