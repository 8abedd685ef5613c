"""Error labels, on traces that a person worked out by hand (hand_traces/*.yaml), and totals."""

import json
from dataclasses import replace
from typing import Any

import orjson
import pytest

from branchwise.agents.prediction import Prediction
from branchwise.eval.errors.attribution import attribute, examine, with_reach
from branchwise.eval.errors.item_errors import ItemErrors, LabelTotal, totals
from branchwise.eval.errors.labels import ANSWER_ERRORS, Label, found_errors
from branchwise.trace.events import Event
from support.eval.hand_traces import HandTrace, found, hand_traces

TRACES = hand_traces()
OF_ENDS = {
    Label.CUT_REPLY: {"cut": True},
    Label.INTERRUPTED: {"error": "interrupted: the reply was broken off"},
}
"""Labels that say how an item ended, which its outcome knows and no trace, with such outcomes."""


@pytest.mark.parametrize("trace", TRACES, ids=lambda trace: trace.name)
def test_labels_are_those_that_a_person_sees(trace: HandTrace) -> None:
    assert found(attribute(trace.item, trace.events)) == trace.expected


@pytest.mark.parametrize(("label", "ending"), OF_ENDS.items())
def test_labels_of_an_ending_follow_the_outcome(label: Label, ending: dict[str, Any]) -> None:
    whole = replace(TRACES[0].item, cut=False, error=None)
    assert label not in attribute(whole, TRACES[0].events).labels
    assert label in attribute(replace(whole, **ending), TRACES[0].events).labels


BY_SENTENCE = {
    "everything goes wrong at once": (3, 3),
    "no span holds the answer": (0, 1),
    "a result that never fitted the context window was retrieved and not seen": (0, 2),
    "an answer that only other passages mention was never retrieved": (0, 1),
    "an answer of two branches that is right in one is lost in the other": (0, 0),
    "two answers exchanged, of which one was never retrieved": (1, 0),
    "an answer that is right and comes again under another key": (1, 0),
    "a wrong answer that was read has no label but its places": (0, 0),
    "a name of two gold answers that does not say which is ambiguous, and brings neither": (2, 0),
    "a failed item blames nobody for its answers": (0, 0),
    "without a trace only the wrong branch is known": (0, 0),
}
"""Gold answers in nothing retrieved; those that are there, and nowhere in the answer."""


@pytest.mark.parametrize(("name", "counts"), BY_SENTENCE.items())
def test_classes_by_the_papers_sentences_ask_what_was_retrieved_and_what_was_given(
    name: str, counts: tuple[int, int]
) -> None:
    trace = next(trace for trace in TRACES if trace.name == name)
    errors = attribute(trace.item, trace.events)
    assert (errors.unmentioned, errors.unanswered) == counts
    found = found_errors("q", 0, False, ANSWER_ERRORS, errors)
    keys = ("extraction_paper", "reasoning_paper")
    assert [key in found.found for key in keys] == [count > 0 for count in counts]
    assert [key in found.unknown for key in keys] == [not errors.traced] * 2


@pytest.mark.parametrize("trace", TRACES, ids=lambda trace: trace.name)
def test_errors_are_plain_json_and_read_back(trace: HandTrace) -> None:
    errors = attribute(trace.item, trace.events)
    text = json.dumps(errors.to_json())
    assert ItemErrors.from_json(json.loads(text)) == errors
    assert orjson.loads(orjson.dumps(errors.to_json())) == json.loads(text)


def test_endless_texts_are_kept_as_far_as_they_are_compared() -> None:
    name = "everything goes wrong at once"
    trace = next(trace for trace in TRACES if trace.name == name)
    endless = Prediction(answers={"k" * 10**6: ("x" * 10**6,)})
    calls = [("nope" * 10**5, "no " * 10**6)]
    events = [
        Event(1, "tool", 0.0, {"call": {"name": tool}, "error": error}) for tool, error in calls
    ]
    events.append(Event(2, "budget", 0.0, {"reason": "r" * 10**6}))
    errors = attribute(replace(trace.item, prediction=endless), events)
    (wrong,) = errors.wrong
    assert (len(wrong.branch), len(wrong.text)) == (2_000, 2_000)
    assert len(json.dumps(errors.to_json())) < 10_000


def test_what_nothing_has_that_is_searched_is_told_apart_from_what_was_not_found() -> None:
    (trace,) = [t for t in TRACES if t.name == "everything goes wrong at once"]
    seen = examine(trace.item, trace.events)
    never = [
        pair
        for pair, answer in zip(seen.matches.missing, seen.errors.missing, strict=True)
        if answer.label is Label.INCOMPLETE_EXTRACTION
    ]
    one, other = never  # Di Funk of the film, Gus Hall of the album
    errors = with_reach(seen, {other, seen.matches.missing[0]}, {one: "p9"})
    labels = {answer.text: (answer.label, answer.in_corpus) for answer in errors.missing}
    assert labels["Di Funk"] == (Label.INCOMPLETE_EXTRACTION, "p9")
    assert labels["Gus Hall"] == (Label.NOT_IN_CORPUS, None)
    assert labels["Bo Diaz"] == (
        Label.INCORRECT_REASONING,
        None,
    )  # it was retrieved, so it is there
    assert {Label.INCOMPLETE_EXTRACTION, Label.NOT_IN_CORPUS} < set(errors.labels)
    of_branch = {branch.name: branch.labels for branch in errors.branches}
    assert of_branch["The Storm (album)"] == (Label.MISSING_BRANCH, Label.NOT_IN_CORPUS)
    assert ItemErrors.from_json(errors.to_json()) == errors
    assert with_reach(seen, frozenset(), {}) is seen.errors


def errors(*names: str) -> list[ItemErrors]:
    """Of the hand-made traces with these names."""
    traces = {trace.name: trace for trace in hand_traces()}
    return [attribute(traces[name].item, traces[name].events) for name in names]


MIXED = errors(
    "everything goes wrong at once",
    "a spent budget, a wrong call and an answer that cannot be read",
    "a failed item blames nobody for its answers",
    "without a trace only the wrong branch is known",
    "no span holds the answer",
    "an answer that could not be read at all is lost with the repair",
)


def test_items_answers_and_calls_are_counted_by_label() -> None:
    found = totals(MIXED).subsets["all"]
    assert (found.items, found.traced, found.failed) == (6, 5, 1)
    # Missing: 6, 2, 2, 2, 1, 3 in this order; wrong: 3 and 2.
    assert (found.missing, found.wrong, found.branches) == (16, 5, 1)
    assert found.labels == {
        Label.INCOMPLETE_EXTRACTION: LabelTotal(items=2, missing=3),
        Label.PERHAPS_STATED: LabelTotal(),
        Label.NOT_IN_CORPUS: LabelTotal(),
        Label.MISSING_BRANCH: LabelTotal(items=1),
        Label.INCORRECT_REASONING: LabelTotal(items=4, missing=8),
        Label.WRONG_TOOL_CALL: LabelTotal(items=3),
        Label.WRONG_BRANCH: LabelTotal(items=2, missing=2, wrong=2),
        Label.AMBIGUOUS_ANSWER: LabelTotal(),
        Label.UNSUPPORTED_ANSWER: LabelTotal(items=1, wrong=1),
        Label.FORMAT_ERROR: LabelTotal(items=2),
        Label.CUT_REPLY: LabelTotal(),
        Label.INTERRUPTED: LabelTotal(),
        Label.BUDGET_SPENT: LabelTotal(items=2),
    }
    lost_at = {"agent": 4, "extraction": 2, "node": 0, "repair": 2, "dropped": 0, "merge": 0}
    assert found.lost_at == lost_at
    assert found.calls == {"arguments": 1, "unknown_tool": 2, "failed": 0, "not_run": 1}


def test_order_is_nothing_and_totals_are_plain_json() -> None:
    found = totals(MIXED)
    assert totals(reversed(MIXED)) == found
    record = json.loads(json.dumps(found.to_json()))
    assert record["ambiguous"]["labels"]["wrong_branch"] == {"items": 2, "missing": 2, "wrong": 2}


def test_answers_mentioned_only_elsewhere_are_counted_among_those_never_retrieved() -> None:
    found = totals(
        errors(
            "an answer that only other passages mention was never retrieved",
            "an answer was left out where a passage that supports it was seen",
            "each branch has its own support, "
            "and what gold says none of is perhaps stated by a mention",
        )
    ).subsets["all"]
    assert found.missing == 5
    assert found.labels[Label.INCOMPLETE_EXTRACTION].missing == found.elsewhere == 2
    assert found.labels[Label.PERHAPS_STATED].missing == 1
    assert found.lost_at["agent"] == 2
