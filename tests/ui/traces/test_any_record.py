"""Whatever a record holds, a trace can be walked through."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from branchwise.trace.events import Event
from branchwise.ui.steps.words import describe, label
from branchwise.ui.traces.lines import ItemLine
from branchwise.ui.traces.plain import markdown, plain_lines, trace_lines
from branchwise.ui.traces.trace import Trace, blocks, steps
from support.ui.hostile_trace import events

pytestmark = pytest.mark.slow

LINE = ItemLine(1, "q", 0, "Who?", False, "done")
OTHERS: tuple[Any, ...] = (None, 3, "Ann", ["Ann"], [[None]], {"a": {"b": 1}})
GONE = object()
MAX_TEXT = 40


def short(value: Any) -> Any:
    """Without the lines of a megabyte, which are tried elsewhere."""
    if isinstance(value, dict):
        return {key: short(part) for key, part in value.items()}
    if isinstance(value, list):
        return [short(part) for part in value]
    return value[:MAX_TEXT] if isinstance(value, str) else value


def paths(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where each value of a record stands."""
    listed = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in listed:
        yield (*above, key)
        if isinstance(part, dict | list):
            yield from paths(part, (*above, key))


def changed(record: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """The record with another value in one place, or without it."""
    found = copied = copy.deepcopy(record)
    for key in path[:-1]:
        found = found[key]
    if value is GONE:
        del found[path[-1]]
    else:
        found[path[-1]] = value
    return copied


@pytest.mark.long
@pytest.mark.parametrize("number", range(len(events())))
def test_a_record_with_any_other_value_anywhere_is_shown_in_every_way(number: int):
    listed = [short(data) for _, data in events()]
    kinds = [kind for kind, _ in events()]
    record = listed[number]
    for path in paths(record):
        for value in (GONE, *OTHERS):
            data = changed(record, path, value)
            whole = [*listed[:number], data, *listed[number + 1 :]]
            trace = [Event(seq, kinds[seq], 0.0, whole[seq]) for seq in range(len(whole))]
            check(trace, number)


def check(trace: list[Event], seq: int) -> None:
    event = trace[seq]
    assert label(event).isprintable()
    assert describe(event)
    walked = Trace(LINE, trace, steps(trace, [["Ann"]]), (), None, [["Ann"]])
    assert len(walked.steps) == len(trace)
    shown = blocks(walked, seq)
    assert shown[0].kind == "heading"
    assert len(shown) > 1 or not event.data
    assert all(line.isprintable() for line in plain_lines(shown))
    if event.kind in ("tool", "extraction"):
        # A result shows what was extracted of it, an extraction the passages of its result.
        assert all(len(blocks(walked, step.seq)) > 1 for step in walked.steps if step.depth)


def test_records_of_no_known_form_print_as_a_whole():
    listed = [Event(seq, kind, 0.0, {"a": [1]}) for seq, (kind, _) in enumerate(events())]
    trace = Trace(LINE, listed, steps(listed), ())
    assert all(line.isprintable() for line in trace_lines(listed))
    assert markdown(trace, "R").count('"a": [') == len(listed)
