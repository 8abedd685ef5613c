"""Two traces side by side: pairs of steps, and where the traces part."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.ui.traces import comparison
from branchwise.ui.traces.comparison import TraceComparison, compare
from branchwise.ui.traces.lines import ItemLine
from branchwise.ui.traces.trace import Step, Trace
from support.trace_records import trace

Made = tuple[str, dict[str, Any]]


def start() -> Made:
    return ("start", {"system": "s", "content": "Who directed Heat?", "artifact": {}})


def turn(text: str, id: str = "c0", seconds: float = 1.0) -> Made:
    calls = [{"id": id, "name": "local_retriever", "args": {"query": text}}]
    return (
        "model",
        {"text": "", "tool_calls": calls, "usage": {"input": 9}, "seconds": seconds},
    )  # fmt: skip


def result(text: str, name: str = "local_retriever", id: str = "c0") -> Made:
    return ("tool", {"call": {"id": id, "name": name, "args": {}}, "of": 0, "content": text})


def answer(text: str) -> Made:
    return ("answer", {"how": "strict", "prediction": {"answers": {"default": [text]}}})


def retry() -> Made:
    return ("retry", {"kind": "rate_limit", "message": "slow down", "wait": 0.5})


def made(events: Sequence[Made], status: str = "done") -> Trace:
    """A trace whose tree has its events in their order."""
    numbered = trace(*events)
    steps = [Step(event.seq, event.kind, event.kind) for event in numbered]
    line = ItemLine(0, "q1", 0, "Who directed Heat?", False, status)
    return Trace(line, numbered, steps, ())


def rows(compared: TraceComparison) -> list[tuple[int | None, int | None, bool]]:
    return [
        (pair.a.seq if pair.a else None, pair.b.seq if pair.b else None, pair.same)
        for pair in compared.pairs
    ]


def test_the_same_events_are_the_same_whatever_their_time_and_ids() -> None:
    a = made([start(), turn("heat", "c0", 1.0), result("x", id="c0"), answer("Mann")])
    b = made([start(), turn("heat", "c7", 9.0), result("x", id="c7"), answer("Mann")])
    compared = compare(a, b)
    assert rows(compared) == [(n, n, True) for n in range(4)]
    assert compared.parted is None


def test_traces_part_at_the_first_step_of_another_content() -> None:
    a = made([start(), turn("heat"), result("x"), answer("Mann")])
    b = made([start(), turn("heat"), result("y"), answer("Mann")])
    compared = compare(a, b)
    assert rows(compared) == [(0, 0, True), (1, 1, True), (2, 2, False), (3, 3, True)]
    assert compared.parted == 2


def test_a_reply_stands_beside_a_reply() -> None:
    kind, data = turn("heat")
    reply = (kind, data | {"tool_calls": [], "text": "Mann"})
    a, b = made([turn("one"), reply]), made([turn("two"), turn("three"), reply])
    assert rows(compare(a, b)) == [(0, 0, False), (None, 1, False), (1, 2, True)]
    other = (kind, data | {"tool_calls": [], "text": "Bay"})
    b = made([turn("two"), turn("three"), other])
    assert rows(compare(a, b)) == [(0, 0, False), (None, 1, False), (1, 2, False)]


def test_a_repeated_request_is_no_parting() -> None:
    a = made([start(), retry(), turn("heat"), answer("Mann")])
    b = made([start(), turn("heat"), answer("Mann")])
    compared = compare(a, b)
    assert rows(compared) == [(0, 0, True), (1, None, False), (2, 1, True), (3, 2, True)]
    assert compared.parted is None


def test_a_trace_that_goes_on_has_not_parted_where_it_ends_so_far() -> None:
    events = [start(), turn("heat"), result("x"), answer("Mann")]
    whole = made(events)
    assert compare(whole, made(events[:2], "running")).parted is None
    assert compare(whole, made([], "pending")).parted is None
    assert compare(whole, made(events[:2], "failed")).parted == 2
    assert compare(whole, made([start(), turn("film")], "running")).parted == 1


def test_a_result_whose_fields_are_called_like_ours_is_compared_by_them() -> None:
    kind, data = result("x")
    a = made([(kind, data | {"artifact": {"rows": [{"seconds": "12"}]}})])
    b = made([(kind, data | {"artifact": {"rows": [{"seconds": "13"}]}})])
    assert compare(a, b).parted == 0


def test_traces_too_long_to_align_stand_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "MAX_CELLS", 3)
    a, b = made([start(), answer("a"), answer("b")]), made([start(), turn("x"), answer("b")])
    assert rows(compare(a, b)) == [(0, 0, True), (1, 1, False), (2, 2, True)]


def test_the_row_of_a_step_is_found_on_its_side() -> None:
    compared = compare(made([start(), turn("x"), answer("a")]), made([start(), answer("a")]))
    assert compared.row_of(0, 2) == compared.row_of(1, 1) == 2
    assert compared.row_of(1, 2) is None


deeds = st.lists(
    st.sampled_from([turn("x"), turn("y"), result("x"), result("y", "wikisparql"), retry()]),
    max_size=7,
)


@given(deeds, deeds)
def test_each_step_stands_once_and_in_order(a: list[Made], b: list[Made]) -> None:
    compared = compare(made(a), made(b))
    for side, events in enumerate((a, b)):
        steps = [pair.side(side) for pair in compared.pairs]
        assert [step.seq for step in steps if step] == list(range(len(events)))
    assert all(pair.a or pair.b for pair in compared.pairs)


@pytest.mark.slow
@given(deeds, deeds)
def test_pairs_weigh_as_much_as_in_any_pairing(a: list[Made], b: list[Made]) -> None:
    def weight(x: Made, y: Made) -> int:
        if x == y:
            return 4
        names = [event[1].get("call", {}).get("name") for event in (x, y)]
        return (2 if names[0] == names[1] else 1) if x[0] == y[0] else 0

    def most(i: int, j: int) -> int:
        if i == len(a) or j == len(b):
            return 0
        return max(most(i + 1, j), most(i, j + 1), weight(a[i], b[j]) + most(i + 1, j + 1))

    pairs = compare(made(a), made(b)).pairs
    assert sum(weight(a[p.a.seq], b[p.b.seq]) for p in pairs if p.a and p.b) == most(0, 0)
