"""What plug-ins' nodes made of a tool's result, and what the agent still saw of it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from branchwise.eval.errors.sought import Found, Sought


class NodeEvent(Protocol):
    """What is read of a node's event."""

    @property
    def seq(self) -> int: ...
    @property
    def data(self) -> Mapping[str, Any]: ...


class Sighting(NamedTuple):
    """A piece of evidence: what it mentions (`things`), and which of these the agent saw there.

    `taken`: of those that it did not see, the step of the node that took them out. `step`: of the
    node that brought the piece; None for what the tool itself brought.
    """

    things: Found
    shown: Found
    passage: str | None = None
    row: int | None = None
    taken: Mapping[int, int] = {}
    step: int | None = None


@dataclass(frozen=True)
class Change:
    """A tool result as a node left it: the node's step, the text, ids and texts of passages.

    `passages` is None where its artifact lists none.
    """

    step: int
    content: str
    passages: Mapping[str, tuple[str, str]] | None

    def visible(self, things: Found, passage: str | None, sought: Sought) -> Found:
        """Which of these a reader of the text sees; nothing of a passage that is not listed."""
        if passage is not None and self.passages is not None and passage not in self.passages:
            return frozenset()
        return things & sought.in_text(self.content)


def changes_of(events: Iterable[NodeEvent]) -> dict[int, list[Change]]:
    """What the nodes of a turn changed, by the place of the call; records of any form are read."""
    found: dict[int, list[Change]] = {}
    for event in events:
        for record in _listed(_mapping(event.data.get("update")).get("pending")):
            of = record.get("of")
            if isinstance(of, int):
                found.setdefault(of, []).append(_change(event.seq, record))
    return found


def _change(step: int, record: Mapping[str, Any]) -> Change:
    artifact = _mapping(record.get("artifact"))
    passages = None
    if "passages" in artifact:
        passages = {
            str(one.get("id")): (str(one.get("title") or ""), str(one.get("text") or ""))
            for one in _listed(artifact["passages"])
        }
    return Change(step, str(record.get("content") or ""), passages)


def changed(
    pieces: Iterable[Sighting], changes: Sequence[Change], sought: Sought
) -> Iterator[Sighting]:
    """What a tool brought, with what nodes left of it, and then what nodes brought themselves.

    The agent saw the last of the texts.
    """
    known: set[int] = set()
    ids: set[str | None] = set()
    for piece in pieces:
        known |= piece.things
        ids.add(piece.passage)
        yield _left_of(piece, changes, sought)
    last = changes[-1]
    for id, (title, text) in (last.passages or {}).items():
        if id not in ids and (things := sought.in_passage(title, text) - known):
            known |= things
            seen = last.visible(things, id, sought)
            yield Sighting(things, seen, id, step=_bringer(id, changes))
    for change in changes:
        if fresh := sought.in_text(change.content) - known:
            known |= fresh
            yield Sighting(fresh, last.visible(fresh, None, sought), step=change.step)


def _left_of(piece: Sighting, changes: Sequence[Change], sought: Sought) -> Sighting:
    seen = [change.visible(piece.things, piece.passage, sought) for change in changes]
    shown = piece.shown & seen[-1]
    taken = {
        thing: next(c.step for c, left in zip(changes, seen, strict=True) if thing not in left)
        for thing in piece.things - seen[-1]
    }
    return piece._replace(shown=shown, taken=taken) if taken or shown != piece.shown else piece


def _bringer(id: str, changes: Sequence[Change]) -> int:
    return next(change.step for change in changes if id in (change.passages or {}))


def _listed(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
