"""A plug-in's node: what it changed beside what it was given, what it printed and asked."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from branchwise.trace.events import Event
from branchwise.trace.records import listed, mapping
from branchwise.ui.traces import parts
from branchwise.ui.traces.blocks import Block
from branchwise.ui.traces.parts import MAX_TITLE, Looked

_KNOWN = ("name", "slot", "seconds", "replayed", "printed", "error", "update", "asked")
_READ = "as the agent read it"


def node_blocks(
    data: Mapping[str, Any], looked: Looked, results: Sequence[Event]
) -> Iterator[Block]:
    """Name, slot and cost, the error, then each change; `results`: what the turn's tools brought.

    A passage that the node left out is named with the change that left it out.
    """
    yield from parts.note(str(data["name"]), f"slot: {data['slot']}", *parts.cost(data))
    yield from parts.overlong(name=data["name"])
    yield from parts.text(data.get("error"), "error", kind="error")
    update = mapping(data.get("update"))
    if not update and not data.get("error"):
        yield from parts.note("it changed nothing")
    given = {event.data.get("of"): event.data for event in results}
    for record in listed(update.get("pending")):
        if "of" in record:
            yield from _result(record, mapping(given.get(record["of"])), looked)
        else:
            yield from parts.text(record.get("content"), str(record.get("type")), looked=looked)
    readings = update.get("readings")
    yield from parts.text("\n".join(map(str, readings or ())), "readings")
    for record in listed(update.get("messages")):
        yield from parts.said(str(record.get("content")), "read as the answer", looked)
    yield from _asked(data, looked)
    yield from parts.text(data.get("printed"), "printed")
    yield from parts.rest(data, _KNOWN)
    yield from parts.rest(update, ("pending", "readings", "messages"), "also changed")


def _result(
    record: Mapping[str, Any], before: Mapping[str, Any], looked: Looked
) -> Iterator[Block]:
    """A tool result: its passages in their order, those that are gone, the text."""
    artifact = mapping(record.get("artifact"))
    passages = listed(artifact.get("passages"))
    left = {str(passage.get("id")) for passage in passages}
    old = listed(mapping(before.get("artifact")).get("passages"))
    gone = [one for one in old if str(one.get("id")) not in left]
    facts = [f"{len(passages)} passages" if "passages" in artifact else "", f"{len(gone)} left out"]
    yield from parts.note(f"call {record['of'] + 1}", *facts)
    for passage in passages:
        yield parts.passage(passage, looked)
        yield from parts.overlong(MAX_TITLE, id=passage.get("id"), title=passage.get("title"))
        yield from parts.rest(passage, ("id", "title", "text", "score"))
    for passage in gone:
        yield parts.passage(passage, looked, notes=["left out"], folded=True)
    yield from parts.text(record.get("content"), _READ, looked=looked, folded=bool(passages))
    yield from parts.rest(artifact, ("passages",))


def _asked(data: Mapping[str, Any], looked: Looked) -> Iterator[Block]:
    """What it asked the agent's model."""
    for one in listed(data.get("asked")):
        yield from parts.note("asked the model", *parts.cost(one))
        yield from parts.text(one.get("system"), "system prompt", folded=True)
        yield from parts.text(one.get("message"), "message", looked=looked)
        yield from parts.text(one.get("content"), "reply", looked=looked)
        yield from parts.text(one.get("error"), "error", kind="error")
        known = ("system", "message", "content", "error", "usage", "seconds", "replayed")
        yield from parts.rest(one, known)
