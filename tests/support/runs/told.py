"""What runs hold apart from the clock of the process that made them, to compare them by."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from branchwise.runs.store import open_run

WALL_CLOCK = ("retry", "left_out")
"""Events that tell of requests on their way: where none is sent there are none."""
Told = tuple[str, dict[str, Any]]


def told(path: Path) -> list[tuple[object, ...]]:
    """By item: its question, epoch, status, outcome and events."""
    reader = open_run(path)
    found = []
    for row in reader.items():
        outcome = _without(row.outcome or {}, "seconds")
        events = [_timeless(event.kind, event.data) for event in reader.events(row.item)]
        kept = _in_order_of_calls([event for event in events if event[0] not in WALL_CLOCK])
        found.append((row.question.id, row.epoch, row.status, outcome, kept))
    reader.close()
    return found


def _timeless(kind: str, data: Mapping[str, Any]) -> Told:
    """An event without what its tools took in this process."""
    if kind == "expansion" and "looked" in data:
        looked = [{**search, "seconds": 0.0} for search in data["looked"]]
        return kind, {**data, "looked": looked}
    return kind, _without(data, *(["seconds"] if kind == "tool" else []))


def _without(data: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key not in keys}


def _in_order_of_calls(events: Sequence[Told]) -> list[Told]:
    """Tools that run at the same time end in any order."""
    turns = groupby(events, key=lambda event: event[0])
    return [
        e for kind, turn in turns for e in (sorted(turn, key=_place) if kind == "tool" else turn)
    ]


def _place(event: Told) -> int:
    of: int = event[1]["of"]
    return of
