"""Events of a trace as tests write them by hand: with the fields that a test speaks of."""

from collections.abc import Mapping
from typing import Any

from branchwise.trace.events import Event, read_body


def whole(kind: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """The record with every field of its kind: those that it lacks are empty."""
    return read_body(kind, data).record()


def whole_event(kind: str, data: Mapping[str, Any], seq: int = 0) -> Event:
    return Event(seq, kind, 0.0, whole(kind, data))


def trace(*events: tuple[str, Mapping[str, Any]]) -> list[Event]:
    return [whole_event(kind, data, seq) for seq, (kind, data) in enumerate(events)]
