"""What a fork copies of its parent: the events before the step, or up to its edited one."""

from collections.abc import Sequence
from typing import Any

from branchwise.eval.forks.edits import edited
from branchwise.graphs.executions import executions, taken_up_at
from branchwise.trace.events import Event


def opening_of(events: Sequence[Event], place: int, edit: str | None) -> list[Event]:
    """The first events of a fork at `events[place]`; none where everything is made anew.

    Without an edit the step's own node runs again; with one, what follows the step does. Raises
    InputError for a text that the step cannot have.
    """
    if edit is None:
        return [_replayed(event) for event in events[: taken_up_at(events, place)]]
    changed = edited(events[place], edit)
    end = _behind(events, place)
    return [_replayed(event) for event in (*events[:place], changed, *events[place + 1 : end])]


def _behind(events: Sequence[Event], place: int) -> int:
    """How many first events there are behind a step: its turn's other results are among them."""
    kind = events[place].kind
    if kind not in ("tool", "extraction"):
        return place + 1
    own = next(e for e in executions(events) if e.first <= place < e.end)
    return 1 + max(n for n in range(own.first, own.end) if events[n].kind == kind)


def _replayed(event: Event) -> Event:
    """The event as it is in the copy: where its kind says whether a reply was replayed, it was."""
    data: dict[str, Any] = dict(event.data)
    if "replayed" in data:
        data["replayed"] = True
    if event.kind == "extraction":
        data["passages"] = [{**passage, "replayed": True} for passage in data["passages"]]
    return Event(event.seq, event.kind, event.at, data)
