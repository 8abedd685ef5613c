"""Forks of the kept runs begin where they began: at every step the same node finds the same state.

`expected/steps.json` has for each run, question and place in the trace the node that a fork enters
and a digest of the state that it finds, as the commit that made the runs rebuilt it.
"""

import hashlib
import json
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage

from branchwise.graphs.flows import NodeSlot, Route
from branchwise.graphs.ledger import Ledger
from branchwise.graphs.rebuild import ResumePoint, rebuild
from branchwise.runs.forks import opening_of
from branchwise.runs.store import open_run
from branchwise.trace.events import Event, Node

HERE = Path(__file__).parent


@pytest.mark.parametrize("run", ["none", "both", "nodes"])
def test_a_fork_of_any_step_finds_the_state_that_it_found(run: str) -> None:
    expected = json.loads((HERE / "expected" / "steps.json").read_text("utf-8"))
    found = states(HERE / "files" / run)
    assert found == {key: said for key, said in expected.items() if key.split()[0] == run}


def states(run: Path) -> dict[str, str]:
    """By run, question and place, the node that a fork enters and a digest of what it finds."""
    reader = open_run(run)
    traces = {row.question.id: list(reader.events(row.item)) for row in reader.items()}
    reader.close()
    modules = run.name == "both"
    route = Route(modules, modules, True, slots(list(chain.from_iterable(traces.values()))))
    return {
        f"{run.name} {id} {place}": entered(opening, route)
        for id, events in traces.items()
        for place in range(len(events))
        if (opening := opening_of(events, place, None))
    }


def slots(events: Sequence[Event]) -> dict[NodeSlot, list[str]]:
    """The nodes of a run by slot, in the order in which they ran."""
    found: dict[Any, dict[str, None]] = {}
    for body in (event.body for event in events):
        if isinstance(body, Node):
            found.setdefault(body.slot, {})[body.name] = None
    return {slot: list(names) for slot, names in found.items()}


def entered(opening: Sequence[Event], route: Route) -> str:
    ledger = Ledger()
    entry = rebuild(opening, route, " | ".join, ledger)
    body = json.dumps(state_of(entry, ledger), sort_keys=True).encode()
    return f"{entry.node} {hashlib.sha256(body).hexdigest()[:16]}"


def state_of(entry: ResumePoint, ledger: Ledger) -> list[Any]:
    state = entry.state
    return [
        entry.node,
        list(entry.fragments),
        [message(one) for one in state["messages"]],
        [message(one) for one in state["pending"]],
        list(state.get("readings", ())),
        list(state["evidence"]),
        list(vars(state["spent"]).values()),
        state["omitted"],
        state["finish"],
        {str(of): kept.content for of, kept in sorted(state.get("kept", {}).items())},
        bool(state.get("told")),
        ledger.record(),
    ]


def message(one: BaseMessage) -> list[Any]:
    calls = [getattr(one, name, ()) for name in ("tool_calls", "invalid_tool_calls")]
    made = [[[call["id"], call["name"], call["args"]] for call in listed] for listed in calls]
    about = [getattr(one, name, None) for name in ("tool_call_id", "artifact")]
    return [one.type, str(one.text), *made, *about]
