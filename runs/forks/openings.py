"""What a fork copies of its parent: the events before the step, or up to its edited one."""

from collections.abc import Sequence

from branchwise.runs.forks.edits import edited
from branchwise.trace.conversation import execution_of, taken_up_at
from branchwise.trace.events import Event, Expansion, Extraction, Model, Node, Tool


def opening_of(events: Sequence[Event], place: int, edit: str | None) -> list[Event]:
    """The first events of a fork at `events[place]`; none if everything is repeated.

    Without an edit the step's own node runs again; with one, only what follows the step does.
    Raises InputError for a text that the step cannot have.
    """
    if edit is None:
        return [_replayed(event) for event in events[: taken_up_at(events, place)]]
    changed = edited(events[place], edit)
    end = _behind(events, place)
    return [_replayed(event) for event in (*events[:place], changed, *events[place + 1 : end])]


def _behind(events: Sequence[Event], place: int) -> int:
    """How many events go before the next node of a step, its turn's other results included."""
    kind = type(events[place].body)
    if kind not in (Tool, Extraction):
        return place + 1
    own = execution_of(events, place)
    return 1 + max(n for n in range(own.first, own.end) if isinstance(events[n].body, kind))


def _replayed(event: Event) -> Event:
    """The event as copied: marked as replayed, if its kind has that field."""
    match event.body:
        case Extraction() as body:
            read = tuple(passage.changed(replayed=True) for passage in body.passages)
            asked = tuple(request.changed(replayed=True) for request in body.requests)
            return event.with_body(body.changed(passages=read, requests=asked))
        case Expansion() as body:
            looked = tuple(search.changed(replayed=True) for search in body.looked)
            return event.with_body(body.changed(replayed=True, looked=looked))
        case Model() | Tool() | Node() as body:
            return event.with_body(body.changed(replayed=True))
    return event
