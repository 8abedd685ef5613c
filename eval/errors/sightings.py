"""What the result of a tool call mentions, piece by piece, and what of it the agent saw."""

import re
from collections.abc import Iterator, Sequence

from branchwise.eval.errors.node_changes import Sighting, changed
from branchwise.eval.errors.sought import Found, Sought
from branchwise.trace.artifacts import ShownPassage
from branchwise.trace.conversation import ToolCall
from branchwise.trace.events import Start
from branchwise.trace.evidence import Piece, other_pieces
from branchwise.trace.parts import Extracted

_CUT = re.compile(r"\n\[cut: \d+ characters\]\Z")
_MAX_CUT = 60


def sightings(call: ToolCall, sought: Sought) -> Iterator[Sighting]:
    """Passages, rows, matches by name, or the text of a tool that has none of them.

    Nothing for a call that failed: its text repeats what was asked. What its tool did not put out
    (rows behind those that fitted) was not retrieved. What nodes brought in is evidence, too.
    """
    found: Iterator[Sighting] = iter(())
    if call.result.error is None:
        found = _brought(call, sought)
    if call.changes:
        found = _after_nodes(call, found, sought)
    for sighting in found:
        if sighting.things:
            yield sighting if call.seen else sighting._replace(shown=frozenset())


def given_passages(start: Start, sought: Sought) -> Iterator[Sighting]:
    """Passages that came with the question: they are in every request."""
    for passage in start.given.passages:
        if things := sought.in_passage(passage.title, passage.text):
            yield Sighting(things, things, passage.id)


def _brought(call: ToolCall, sought: Sought) -> Iterator[Sighting]:
    content, found = call.result.content, call.result.found
    records = _extracted(call, found.passages) if call.extraction is not None else ()
    visible = sought.in_text(content) if _CUT.search(content[-_MAX_CUT:]) else None
    # Most of the work on a trace is here: the same passages come again and again.
    for number, passage in enumerate(found.passages):
        things = shown = sought.in_passage(passage.title, passage.text)
        if not things:
            continue
        record = records[number] if records else None
        if record is not None:
            shown = _in_spans(record, passage.title, things, sought)
        elif visible is not None:
            shown = things & visible
        yield Sighting(things, shown, passage.id)
    for piece in other_pieces(found, content):
        things = _mentioned(piece, sought)
        yield Sighting(things, things, row=piece.number)


def _mentioned(piece: Piece, sought: Sought) -> Found:
    """Entities by the id at the end of their IRI and by their names, texts by what they say."""
    found: set[int] = set()
    for address, names in piece.things:
        found |= sought.named(last_part(address), names)
    for text in piece.texts:
        found |= sought.in_text(text)
    return frozenset(found)


def _after_nodes(call: ToolCall, found: Iterator[Sighting], sought: Sought) -> Iterator[Sighting]:
    """What nodes left and brought, less what extraction, which read this, cut off then."""
    for piece in changed(found, call.changes, sought):
        if call.extraction is None or piece.step is None:
            yield piece
        else:
            yield piece._replace(shown=piece.shown & sought.in_text(call.extraction.content))


def _extracted(call: ToolCall, passages: Sequence[ShownPassage]) -> Sequence[Extracted | None]:
    """What the extraction made of each passage; None for one that it left alone."""
    records = call.extraction.passages if call.extraction else ()
    if [record.id for record in records] == [passage.id for passage in passages]:
        return records
    by_id = {record.id: record for record in records}
    return [by_id.get(passage.id) for passage in passages]


def _in_spans(record: Extracted, title: str, things: Found, sought: Sought) -> Found:
    """Of a passage with spans the agent sees the title and these, of one without nothing.

    Where the extraction failed, or a span is the whole passage, it sees all.
    """
    if record.how == "failed" or record.whole:
        return things
    texts = [title, *record.spans] if record.spans else []
    return frozenset().union(*(sought.among(things, text) for text in texts))


def last_part(address: str) -> str:
    """The last part of an IRI: the number of an entity, for Wikidata's."""
    return address[max(address.rfind("/"), address.rfind("#")) + 1 :]
