"""What expansion, extraction, nodes and tools did, counted from events, and what did nothing."""

import pickle
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


def happened(seq: int, kind: str, data: Any) -> Event:
    return Event(seq, kind, 0.0, data)


def expansion(*readings: str, how: str | None = None, error: str | None = None, **drops: int):
    kind = how or ("readings" if readings else "none")
    record = {"readings": list(readings), "how": kind, "error": error, "dropped": dropped(drops)}
    return happened(1, "expansion", record)


def extraction(*passages: Mapping[str, Any]):
    return happened(2, "extraction", {"passages": list(passages)})


def passage(*spans: str, whole: bool = False, error: str | None = None, **drops: int):
    how = "failed" if error else "spans" if spans else "none"
    record = {"spans": list(spans), "how": how, "whole": whole, "error": error}
    return {**record, "dropped": dropped(drops)}


def dropped(drops: Mapping[str, int]) -> Sequence[Mapping[str, str]]:
    reasons = ((why.replace("_", " "), count) for why, count in drops.items())
    return [{"text": "…", "why": why} for why, count in reasons for _ in range(count)]


def test_questions_with_readings_without_and_failed_are_counted_apart():
    found = module_work(
        [
            expansion("a?", "b?", "c?", repeated=1),
            expansion("d?", "e?"),
            expansion(no_other_reading_beside_it=1, not_a_reading=2),
            expansion(how="failed", error="timeout: m at s: no answer in time"),
            expansion(how="failed", error="the model refused to answer"),
        ]
    )
    assert found.extraction is None
    assert found.to_json()["expansion"] == {
        "items": 5,
        "expanded": 2,
        "readings": 5,
        "failed": 2,
        "failures": {"timeout": 1, "no usable reply": 1},
        "dropped": {"repeated": 1, "no other reading beside it": 1, "not a reading": 2},
    }


def test_passages_with_spans_without_emptied_and_failed_are_counted_apart():
    found = module_work(
        [
            extraction(
                passage("one", "two", not_in_the_passage=1),
                passage("all of it", whole=True),
                passage(),
                passage(not_in_the_passage=3, repeated=1),
                passage(error="server: m at s: HTTP 500: it failed"),
            ),
            extraction(passage("three"), passage(error="server: again")),
        ]
    )
    assert found.expansion is None
    assert found.extraction is not None
    assert found.extraction.with_nothing == 2
    assert found.to_json()["extraction"] == {
        "passages": 7, "with_spans": 3, "spans": 4, "whole": 1, "emptied": 1, "failed": 2,
        "failures": {"server": 2}, "dropped": {"not in the passage": 4, "repeated": 1},
    }  # fmt: skip


def test_passages_that_were_read_together_and_before_are_counted_apart():
    events = [
        extraction(
            passage("one", "two") | {"shared": True}, passage() | {"shared": True}, passage("three")
        ),
        extraction(passage("one") | {"reused": True}, passage(repeated=1) | {"reused": True}),
    ]
    events[0].data["requests"] = [{"passages": 3, "used": 2}]
    found = module_work(events)
    assert found.to_json()["extraction"] == {
        **{"passages": 5, "with_spans": 2, "spans": 3, "whole": 0, "emptied": 0, "failed": 0},
        **{"failures": {}, "dropped": {}, "requests": 2, "reused": 2},
    }
    assert found.extraction.with_nothing == 1


def test_a_trace_without_these_events_has_no_work():
    others = [happened(1, "model", {"text": "…"}), happened(2, "tool", {"passages": [passage()]})]
    assert module_work(others) == module_work([]) == ModuleWork()
    assert ModuleWork().to_json() == {"expansion": None, "extraction": None}


def test_a_module_that_was_on_and_had_no_work_is_there_with_zeros():
    system = {"expand": True, "extract": True}
    found = module_work([expansion("a?", "b?")]).of_system(system)
    assert found.expansion is not None
    assert found.expansion.readings == 2
    assert found.extraction is not None
    assert found.extraction.passages == 0
    assert ModuleWork().of_system({"expand": False}) == ModuleWork()
    assert ModuleWork().of_system({}) == ModuleWork()


def node(name: str, *, update: Any = None, error: str | None = None) -> Event:
    return happened(3, "node", {"name": name, "error": error, "update": update or {}})


def test_calls_of_nodes_that_changed_something_nothing_and_failed_are_counted_by_name():
    items = [
        [node("rerank", update={"pending": [{"of": 0}]}), node("rewrite")],
        [node("rerank", error="rerank: ValueError:\n no"), node("rerank"), node("rerank")],
        [
            node("rerank", error="rerank: KeyError: 'x'"),
            node("rewrite", update={"messages": [{"type": "ai"}]}),
        ],
    ]
    identity = {"nodes": [{"name": name} for name in ("never", "rewrite", "rerank")]}
    found = total_work(map(module_work, items)).of_system({}, identity)
    assert found.to_json() == {
        "expansion": None,
        "extraction": None,
        "nodes": {
            "never": {"calls": 0, "changed": 0, "failed": 0, "first_error": None},
            "rewrite": {"calls": 2, "changed": 1, "failed": 0, "first_error": None},
            "rerank": {"calls": 5, "changed": 1, "failed": 2, "first_error": "ValueError: no"},
        },
    }
    assert list(found.nodes) == ["never", "rewrite", "rerank"]


def test_records_of_nodes_of_anyone_else_are_bounded_and_raise_nothing():
    records = [{}, {"name": 7}, {"name": "x" * 99, "error": "e" * 10_000, "update": 3}]
    found = module_work([happened(1, "node", record) for record in records])
    assert found.nodes == {"x" * 64: NodeWork(1, failed=1, first_error="e" * 500)}


def test_reasons_and_errors_of_anyone_else_are_counted_and_not_repeated():
    hostile = "\x1b[31m" + "x" * 10_000
    record = {"how": "failed", "error": hostile, "dropped": [{"why": hostile}, {"why": None}, 3]}
    found = module_work([happened(1, "expansion", record)]).to_json()["expansion"]
    assert (found["failures"], found["dropped"]) == ({"no usable reply": 1}, {"other": 2})


@pytest.mark.parametrize(
    "record",
    [
        *({}, {"passages": None}, {"passages": "abc"}, {"passages": [None, 3, "x"]}),
        *({"readings": 7, "dropped": 7}, {"readings": [None, {}], "how": ["failed"]}),
    ],
)
def test_records_that_are_no_such_records_raise_nothing(record):
    found = module_work([happened(1, kind, record) for kind in ("expansion", "extraction")])
    assert found.expansion is not None
    assert found.extraction is not None
    assert (found.expansion.items, found.expansion.expanded, found.expansion.failed) == (1, 0, 0)
    assert (found.extraction.passages, found.extraction.failed) == (0, 0)


PASSAGES = st.one_of(
    st.builds(lambda n, d: passage(*"x" * n, repeated=d), st.integers(0, 3), st.integers(0, 3)),
    st.sampled_from([passage("x", whole=True), passage(error="cut: …"), passage(error="odd")]),
)
EVENTS = st.one_of(
    st.lists(PASSAGES, max_size=4).map(lambda passages: extraction(*passages)),
    st.builds(lambda n, d: expansion(*"x" * n, repeated=d), st.integers(0, 3), st.integers(0, 3)),
    st.just(expansion(how="failed", error="connection: …")),
    st.builds(
        lambda role, kind: happened(9, "retry", {"role": role, "kind": kind}),
        st.sampled_from(["agent", "expander"]),
        st.sampled_from(["rate_limit", "server", "of another program"]),
    ),
    st.builds(
        lambda name, update, error: node(name, update=update, error=error),
        st.sampled_from("abc"),
        st.sampled_from([{}, {"readings": ["x"]}]),
        st.none() | st.sampled_from(["a: no", "b"]),
    ),
)


@pytest.mark.slow
@given(st.lists(st.lists(EVENTS, max_size=4), max_size=5))
def test_the_work_of_items_adds_up_and_survives_another_process(items):
    apart = [pickle.loads(pickle.dumps(module_work(events))) for events in items]
    together = module_work([event for events in items for event in events])
    assert total_work(apart) == together
    if (found := together.extraction) is not None:
        assert found.with_spans + found.with_nothing + found.failed == found.passages
        assert (found.reused, found.requests) == (0, found.passages)
        assert 0 <= found.emptied <= found.with_nothing
        assert found.with_spans <= found.spans
    called = sum(event.kind == "node" for events in items for event in events)
    assert sum(work.calls for work in together.nodes.values()) == called
    resent = sum(event.kind == "retry" for events in items for event in events)
    assert sum(kinds.total() for kinds in together.resent.values()) == resent
    assert all(work.changed + work.failed <= work.calls for work in together.nodes.values())


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
def test_parts_that_did_nothing_are_told_from_those_that_did_little(work, said):
    found = inert_parts(work, Settled(()))
    assert [f"{part.name}: {part.how}" for part in found.values()] == said


def test_a_comparison_names_what_is_idle_in_either_system_once() -> None:
    base = inert_parts(ModuleWork(tools={"a": ToolWork(), "b": ToolWork()}), Settled(()))
    other = inert_parts(ModuleWork(tools={"b": ToolWork(), "c": ToolWork()}), Settled(()))
    assert inert_cautions(base, other, "base") == [
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
