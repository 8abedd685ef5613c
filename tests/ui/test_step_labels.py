"""A step in a few words."""

import pytest

from branchwise.ui.steps import words
from branchwise.ui.steps.words import MAX_LABEL
from support.trace_records import whole_event

TURN = {"turn": 3, "tool_calls": [{}, {}], "invalid_tool_calls": [], "finish": "tool_calls"}
REPLY = {"turn": 4, "tool_calls": [], "invalid_tool_calls": [], "finish": "stop"}
CALL = {"name": "local_retriever", "args": {"k": 15, "query": "King Kong  cast"}}
PASSAGES = {"artifact": {"passages": [{}] * 15}, "error": None, "call": CALL}
QUERY = {"name": "wikisparql", "args": {"query": "ASK {}"}}
SPANS = [{"how": "spans", "spans": ["a", "b"]}, {"how": "none", "spans": []}]
VERDICT = {"answers": {}, "task_output": {"ambiguous": True}}
NO_ANSWER = {"how": "strict", "prediction": {"answers": {}}}


def label(kind, data):
    return words.label(whole_event(kind, data))


def rows(count, boolean=None):
    artifact = {"rows": {"rows": [[]] * count, "boolean": boolean}}
    return {"call": QUERY, "error": None, "artifact": artifact}


@pytest.mark.parametrize(
    ("kind", "data", "said"),
    [
        ("start", {"content": "Who?\n\nmore", "artifact": {"passages": []}}, "question Who?"),
        ("model", TURN, "turn 3: 2 calls"),
        ("model", {**TURN, "tool_calls": [{}]}, "turn 3: 1 call"),
        ("model", REPLY, "turn 4: reply"),
        ("model", {**REPLY, "finish": "length"}, "turn 4: reply, length"),
        ("model", {**REPLY, "role": "repair"}, "repair: reply"),
        ("tool", PASSAGES, 'local_retriever 15 "King Kong cast"'),
        ("tool", rows(1), 'wikisparql 1 row "ASK {}"'),
        ("tool", rows(0, boolean=False), 'wikisparql no "ASK {}"'),
        ("tool", {**PASSAGES, "artifact": {}}, 'local_retriever "King Kong cast"'),
        ("tool", {**PASSAGES, "error": "it is late"}, "local_retriever failed: it is late"),
        ("extraction", {"passages": SPANS}, "extract 2 spans, 1 of 2"),
        ("extraction", {"passages": [{"how": "failed", "spans": []}]},
         "extract 0 spans, 0 of 1, 1 failed"),
        ("expansion", {"how": "readings", "readings": ["a", "b"]}, "expand 2 readings"),
        ("expansion", {"how": "failed", "error": "auth: no"}, "expand failed: auth: no"),
        ("budget", {"reason": "12 tool calls"}, "budget spent: 12 tool calls; told to answer"),
        ("answer", NO_ANSWER, "answer none"),
        ("answer", {**NO_ANSWER, "prediction": VERDICT}, 'answer { "ambiguous": true }'),
        ("answer", {"how": "tolerant", "prediction": {"answers": {"a": ["x", "y"]}}},
         "answer 1 branch, 2 answers"),
        ("answer", {"how": "failed", "problem": "no JSON"}, "answer: format error: no JSON"),
        ("error", {"kind": "auth", "message": "bad key"}, "error auth: bad key"),
        ("of a plug-in", {"a": 1}, "of a plug-in: {'a': 1}"),
    ],
)  # fmt: skip
def test_a_label_says_the_essential_first(kind: str, data, said: str):
    assert label(kind, data) == said


def test_a_label_is_one_bounded_printable_line():
    data = {"kind": "\x1b[31m\u202e", "message": "a\nb " * 1_000}
    assert label("error", data).isprintable()
    assert len(label("error", data)) == MAX_LABEL


@pytest.mark.parametrize(
    ("kind", "data", "is_failed"),
    [
        ("tool", {"error": "x"}, True),
        ("tool", {"error": None}, False),
        ("tool", {}, False),
        ("error", {}, True),
        ("retry", {}, True),
        ("answer", {"how": "failed"}, True),
        ("answer", {"how": "repaired"}, False),
        ("expansion", {"how": "failed"}, True),
        ("extraction", {"passages": [{"how": "none"}, {"how": "failed"}]}, True),
        ("extraction", {"passages": "x"}, False),
        ("new", {"error": "x"}, True),
    ],
)
def test_a_step_that_brought_an_error_is_told(kind: str, data, is_failed: bool):
    assert whole_event(kind, data).body.failed is is_failed


def test_a_step_that_a_fork_edited_says_so_first():
    assert label("model", {**REPLY, "edited": True}) == "edited turn 4: reply"
    assert label("tool", {**PASSAGES, "artifact": {}, "edited": True}).startswith("edited local_re")
    assert label("budget", {"reason": "3 turns", "text": "x"}).startswith("budget")
    assert label("unknown", {"edited": True, "a": 1}) == "edited unknown: {'a': 1}"
