"""Which parts of a system did nothing, by counts worked out by hand."""

from collections import Counter

import pytest

from branchwise.agents.prediction import Prediction
from branchwise.corpora.questions import Question
from branchwise.eval.errors.module_work import (
    ExpansionWork,
    ExtractionWork,
    ModuleWork,
    NodeWork,
    ToolWork,
    inert_cautions,
    inert_parts,
    module_work,
    tool_names,
    total_work,
)
from branchwise.eval.items import AnsweredItem
from branchwise.eval.judging.settle import Settled
from branchwise.trace.events import Event

SPANS = Counter({"not in the passage": 24})


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (
            ModuleWork(tools={"a": ToolWork(3, 3), "b": ToolWork()}),
            ["the tool b: it was never called"],
        ),
        (
            ModuleWork(ExpansionWork(dropped=Counter(alone=16), items=16)),
            ["expansion: it wrote readings for none of 16 items"],
        ),
        (ModuleWork(ExpansionWork(items=16, expanded=1, readings=2)), []),
        (ModuleWork(extraction=ExtractionWork()), ["extraction: it had no passage to read"]),
        (
            ModuleWork(extraction=ExtractionWork(dropped=SPANS, passages=12, emptied=12)),
            ["extraction: it kept nothing of 12 passages, and dropped 24 spans"],
        ),
        (
            ModuleWork(extraction=ExtractionWork(passages=12)),
            ["extraction: it kept nothing of 12 passages"],
        ),
        (
            ModuleWork(
                extraction=ExtractionWork(
                    Counter(server=2), passages=13, with_spans=10, spans=10, whole=10, reused=1
                )
            ),
            ["extraction: it cut nothing of 12 passages"],
        ),
        (ModuleWork(extraction=ExtractionWork(passages=12, with_spans=12, spans=12, whole=11)), []),
        (ModuleWork(extraction=ExtractionWork(passages=12, with_spans=11, spans=11, whole=11)), []),
        (
            ModuleWork(nodes={"a": NodeWork(3), "b": NodeWork(3, 1), "c": NodeWork()}),
            ["the node a: it changed nothing in 3 calls", "the node c: it was never called"],
        ),
    ],
)
def test_parts_that_did_nothing_are_told_from_those_that_did_little(
    work: ModuleWork, said: list[str]
) -> None:
    found = inert_parts(work, Settled(()))
    assert [f"{one.what}: {one.how}" for one in found.values()] == said


def test_a_comparison_names_what_is_idle_in_either_system_once() -> None:
    base = inert_parts(ModuleWork(tools={"a": ToolWork(), "b": ToolWork()}), Settled(()))
    other = inert_parts(ModuleWork(tools={"b": ToolWork(), "c": ToolWork()}), Settled(()))
    assert inert_cautions(base, other, "base") == [
        "the tool b did nothing: it was never called",
        "the tool c did nothing: it was never called",
        "the tool a did nothing in base: it was never called",
    ]
    assert inert_cautions({}, {}, "base") == []


def test_tools_are_counted_by_the_name_that_was_called() -> None:
    events = [
        Event(1, "tool", 0.0, {"call": {"name": "a"}, "of": 0, "error": None}),
        Event(2, "tool", 0.0, {"call": {"name": "a"}, "of": 1, "error": "boom"}),
        Event(3, "tool", 0.0, {"call": {"name": "made up"}, "of": 2, "error": "no such tool"}),
    ]
    counts = {"a": ToolWork(2, 1), "made up": ToolWork(1, 1)}
    assert module_work(events).tools == counts
    assert total_work(module_work([event]) for event in events).tools == counts
    identity = {"tools": [{"function": {"name": name}} for name in ("b", "a")]}
    found = module_work(events).of_system({}, identity)
    assert found.tools == {"b": ToolWork()} | counts
    assert found.to_json()["tools"]["b"] == {"calls": 0, "failed": 0, "searches": 0}


def test_a_tool_that_expansion_alone_searched_with_did_something() -> None:
    looked = [{"tool": "names", "args": {}, "hits": 1}]
    event = Event(
        1, "expansion", 0.0, {"readings": ["a?", "b?"], "looked": looked, "how": "readings"}
    )
    identity = {"tools": [{"function": {"name": name}} for name in ("names", "other")]}
    work = module_work([event]).of_system({}, identity)
    assert work.tools["names"] == ToolWork(searches=1)
    assert [*inert_parts(work, Settled(()))] == ["tool other"]


@pytest.mark.parametrize(
    "identity", [None, {}, {"tools": 3}, {"tools": [3, {}, {"function": "x"}]}]
)
def test_an_identity_that_names_no_tool_has_none(identity: object) -> None:
    assert tool_names(identity) == ()
    assert ModuleWork().of_system({}, identity) == ModuleWork()


@pytest.mark.parametrize(
    ("asked", "said"), [(["", ""], ["it asked nothing on 2 items"]), (["", "Which?"], [])]
)
def test_a_pipeline_that_never_asks_back_is_told(asked: list[str], said: list[str]) -> None:
    found = inert_parts(ModuleWork(), Settled([*map(_clarified, asked)]))
    assert [one.how for one in found.values()] == said


def _clarified(asked: str) -> AnsweredItem:
    output = {"ambiguous": bool(asked), "clarification_question": asked, "answers": []}
    question = Question(id="q", question="Who?", ambiguous=False, branches=())
    return AnsweredItem(question, Prediction(task_output=output))
