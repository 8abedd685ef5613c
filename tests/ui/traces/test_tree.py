"""Steps as a tree: calls below their turn, extraction below its call, gold answers counted."""

from hypothesis import given
from hypothesis import strategies as st

from branchwise.trace.events import Event
from branchwise.ui.traces.trace import steps, tree
from support.trace_records import trace

TURN = {"turn": 1, "tool_calls": [{}, {}], "invalid_tool_calls": [], "finish": "tool_calls"}
CALL = {"name": "find", "args": {"query": "x"}}
KINDS = (
    *("start", "expansion", "model", "tool", "extraction", "repair", "retry", "budget"),
    *("left_out", "compacted", "context_trimmed", "answer", "error", "of a plug-in"),
)


def tool(of, *texts):
    passages = [{"id": "p", "title": "t", "text": text} for text in texts]
    return "tool", {"of": of, "call": CALL, "error": None, "artifact": {"passages": passages}}


def extraction(of, *spans):
    record = {"id": "p", "how": "spans", "spans": [*spans]}
    return "extraction", {"of": of, "call": CALL, "passages": [record]}


def test_calls_stand_below_their_turn_in_its_order_each_with_its_extraction():
    events = trace(
        ("start", {}), ("model", TURN), tool(1), tool(0), ("retry", {"role": "extractor"}),
        extraction(0), extraction(1), ("retry", {"role": "agent"}), ("model", TURN), tool(0),
        ("answer", {}),
    )  # fmt: skip
    assert [(step.seq, step.depth) for step in steps(events)] == [
        *((0, 0), (1, 0), (3, 1), (5, 2), (2, 1), (6, 2), (4, 1)),
        *((7, 0), (8, 0), (9, 1), (10, 0)),
    ]


@given(st.lists(st.tuples(st.sampled_from(KINDS), st.sampled_from([0, 1, 2, None, "x", [1]]))))
def test_every_event_is_one_step_whatever_their_order(listed):
    records = [(kind, {"of": of, "role": "extractor"}) for kind, of in listed]
    events = [Event(seq, kind, 0.0, record) for seq, (kind, record) in enumerate(records)]
    found = steps(events, [["x"]])
    assert sorted(step.seq for step in found) == [*range(len(events))]
    assert all(0 <= step.depth <= 2 for step in found)
    roots = [root.event.seq for root in tree(events)]
    assert roots == sorted(roots)


def test_gold_answers_are_counted_in_rows_matches_and_plain_text():
    uri = "http://www.wikidata.org/entity/Q1"
    cells = [{"type": "uri", "value": uri}, {"type": "literal", "value": "Val Kilmer"}, None]
    rows = {"variables": ["who", "name", "x"], "rows": [cells], "labels": {uri: "Al Pacino"}}
    kept = {"call": CALL, "error": None}
    events = trace(
        ("model", TURN),
        ("tool", {**kept, "artifact": {"rows": rows}, "content": ""}),
        ("tool", {**kept, "artifact": {"matches": [{"label": "Al Pacino"}]}}),
        ("tool", {**kept, "artifact": {}, "content": "Val Kilmer: 1"}),
        ("tool", {**kept, "error": "no Al Pacino", "content": "no Al Pacino", "artifact": {}}),
    )
    found = steps(events, [["Al Pacino"], ["Val Kilmer"]])
    assert [step.gold for step in found] == [None, 2, 1, 1, None]


def test_counting_stops_where_a_trace_is_too_long_to_be_searched():
    long = [tool(0, f"{n} {'Al Pacino ' * 19_000}") for n in range(60)]
    found = steps(trace(("model", TURN), *long), [["Al Pacino"]])
    assert found[1].gold == 1
    assert found[-1].gold is None
