"""What the result of a tool call mentions, piece by piece, and what of it the agent saw."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from branchwise.eval.errors.targets import TargetNumbers, Targets
from branchwise.trace.artifacts import ShownPassage
from branchwise.trace.conversation import Change, ToolCall
from branchwise.trace.events import Start
from branchwise.trace.evidence import EvidencePiece, other_pieces
from branchwise.trace.parts import Extracted


class Sighting(NamedTuple):
    """A piece of evidence: what it mentions (`things`), and which of these the agent saw there.

    `taken`: of those that it did not see, the step of the node that took them out. `step`: of the
    node that brought the piece; None for what the tool itself brought.
    """

    things: TargetNumbers
    shown: TargetNumbers
    passage: str | None = None
    row: int | None = None
    taken: Mapping[int, int] = {}
    step: int | None = None


@dataclass(frozen=True)
class ChangedResult:
    """A tool result as the node of a step left it: its text, its passages by id.

    `passages` is None where its artifact lists none.
    """

    step: int
    content: str
    passages: Mapping[str, ShownPassage] | None

    @classmethod
    def of(cls, change: Change) -> "ChangedResult":
        """What a node changed."""
        found = change.message.found
        passages = {one.id: one for one in found.passages} if found.lists_passages else None
        return cls(change.step, change.message.content, passages)

    def visible(
        self, things: TargetNumbers, passage: str | None, targets: Targets
    ) -> TargetNumbers:
        """Which of these a reader of the text sees; nothing of a passage that is not listed."""
        if passage is not None and self.passages is not None and passage not in self.passages:
            return frozenset()
        return things & targets.in_text(self.content)


def _changed(
    pieces: Iterable[Sighting], changed_by: Sequence[Change], targets: Targets
) -> Iterator[Sighting]:
    """What a tool brought, with what nodes left of it, and then what nodes brought themselves.

    The agent saw the last of the texts.
    """
    changes = [ChangedResult.of(change) for change in changed_by]
    known: set[int] = set()
    ids: set[str | None] = set()
    for piece in pieces:
        known |= piece.things
        ids.add(piece.passage)
        yield _left_of(piece, changes, targets)
    last = changes[-1]
    for id, passage in (last.passages or {}).items():
        if id not in ids and (things := targets.in_passage(passage.title, passage.text) - known):
            known |= things
            seen = last.visible(things, id, targets)
            yield Sighting(things, seen, id, step=_bringer(id, changes))
    for change in changes:
        if fresh := targets.in_text(change.content) - known:
            known |= fresh
            yield Sighting(fresh, last.visible(fresh, None, targets), step=change.step)


def _left_of(piece: Sighting, changes: Sequence[ChangedResult], targets: Targets) -> Sighting:
    seen = [change.visible(piece.things, piece.passage, targets) for change in changes]
    shown = piece.shown & seen[-1]
    taken = {
        thing: next(c.step for c, left in zip(changes, seen, strict=True) if thing not in left)
        for thing in piece.things - seen[-1]
    }
    return piece._replace(shown=shown, taken=taken) if taken or shown != piece.shown else piece


def _bringer(id: str, changes: Sequence[ChangedResult]) -> int:
    return next(change.step for change in changes if id in (change.passages or {}))


_CUT = re.compile(r"\n\[cut: \d+ characters\]\Z")
_MAX_CUT = 60


def sightings(call: ToolCall, targets: Targets) -> Iterator[Sighting]:
    """Passages, rows, matches by name, or the text of a tool that has none of them.

    Nothing for a call that failed: its text repeats what was asked. What its tool did not put out
    (rows behind those that fitted) was not retrieved. What nodes brought in is evidence, too.
    """
    found: Iterator[Sighting] = iter(())
    if call.result.error is None:
        found = _brought(call, targets)
    if call.changes:
        found = _after_nodes(call, found, targets)
    for sighting in found:
        if sighting.things:
            yield sighting if call.seen else sighting._replace(shown=frozenset())


def given_passages(start: Start, targets: Targets) -> Iterator[Sighting]:
    """Passages that came with the question: they are in every request."""
    for passage in start.given.passages:
        if things := targets.in_passage(passage.title, passage.text):
            yield Sighting(things, things, passage.id)


def _brought(call: ToolCall, targets: Targets) -> Iterator[Sighting]:
    content, found = call.result.content, call.result.found
    records = _extracted(call, found.passages) if call.extraction is not None else ()
    visible = targets.in_text(content) if _CUT.search(content[-_MAX_CUT:]) else None
    # Most of the work on a trace is here: the same passages come again and again.
    for number, passage in enumerate(found.passages):
        things = shown = targets.in_passage(passage.title, passage.text)
        if not things:
            continue
        record = records[number] if records else None
        if record is not None:
            shown = _in_spans(record, passage.title, things, targets)
        elif visible is not None:
            shown = things & visible
        yield Sighting(things, shown, passage.id)
    for piece in other_pieces(found, content):
        if things := _mentioned(piece, targets):
            yield Sighting(things, things, row=piece.number)


def _mentioned(piece: EvidencePiece, targets: Targets) -> TargetNumbers:
    """Entities by the id at the end of their IRI and by their names, texts by what they say."""
    found: set[int] = set()
    for address, names in piece.things:
        found |= targets.named(_last_part(address), names)
    for text in piece.texts:
        found |= targets.in_text(text)
    return frozenset(found)


def _after_nodes(call: ToolCall, found: Iterator[Sighting], targets: Targets) -> Iterator[Sighting]:
    """What nodes left and brought, less what extraction, which read this, cut off then."""
    for piece in _changed(found, call.changes, targets):
        if call.extraction is None or piece.step is None:
            yield piece
        else:
            yield piece._replace(shown=piece.shown & targets.in_text(call.extraction.content))


def _extracted(call: ToolCall, passages: Sequence[ShownPassage]) -> Sequence[Extracted | None]:
    """What the extraction made of each passage; None for one that it left alone."""
    records = call.extraction.passages if call.extraction else ()
    if [record.id for record in records] == [passage.id for passage in passages]:
        return records
    by_id = {record.id: record for record in records}
    return [by_id.get(passage.id) for passage in passages]


def _in_spans(
    record: Extracted, title: str, things: TargetNumbers, targets: Targets
) -> TargetNumbers:
    """Of a passage with spans the agent sees the title and these, of one without nothing.

    Where the extraction failed, or a span is the whole passage, it sees all.
    """
    if record.how == "failed" or record.whole:
        return things
    if not record.spans:
        return frozenset()
    seen = targets.among(things, title)
    for span in record.spans:
        if seen == things:
            break
        seen |= targets.among(things, span)
    return seen


def _last_part(address: str) -> str:
    """The last part of an IRI: the number of an entity, for Wikidata's."""
    return address[max(address.rfind("/"), address.rfind("#")) + 1 :]
