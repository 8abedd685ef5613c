"""What plug-ins' nodes made of a tool's result, and what the agent still saw of it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from branchwise.eval.errors.sought import Found, Sought
from branchwise.trace.artifacts import ShownPassage
from branchwise.trace.conversation import Change


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
class Left:
    """A tool result as the node of a step left it: its text, its passages by id.

    `passages` is None where its artifact lists none.
    """

    step: int
    content: str
    passages: Mapping[str, ShownPassage] | None

    @classmethod
    def of(cls, change: Change) -> "Left":
        """What a node changed."""
        found = change.message.found
        passages = {one.id: one for one in found.passages} if found.lists_passages else None
        return cls(change.step, change.message.content, passages)

    def visible(self, things: Found, passage: str | None, sought: Sought) -> Found:
        """Which of these a reader of the text sees; nothing of a passage that is not listed."""
        if passage is not None and self.passages is not None and passage not in self.passages:
            return frozenset()
        return things & sought.in_text(self.content)


def changed(
    pieces: Iterable[Sighting], changed_by: Sequence[Change], sought: Sought
) -> Iterator[Sighting]:
    """What a tool brought, with what nodes left of it, and then what nodes brought themselves.

    The agent saw the last of the texts.
    """
    changes = [Left.of(change) for change in changed_by]
    known: set[int] = set()
    ids: set[str | None] = set()
    for piece in pieces:
        known |= piece.things
        ids.add(piece.passage)
        yield _left_of(piece, changes, sought)
    last = changes[-1]
    for id, passage in (last.passages or {}).items():
        if id not in ids and (things := sought.in_passage(passage.title, passage.text) - known):
            known |= things
            seen = last.visible(things, id, sought)
            yield Sighting(things, seen, id, step=_bringer(id, changes))
    for change in changes:
        if fresh := sought.in_text(change.content) - known:
            known |= fresh
            yield Sighting(fresh, last.visible(fresh, None, sought), step=change.step)


def _left_of(piece: Sighting, changes: Sequence[Left], sought: Sought) -> Sighting:
    seen = [change.visible(piece.things, piece.passage, sought) for change in changes]
    shown = piece.shown & seen[-1]
    taken = {
        thing: next(c.step for c, left in zip(changes, seen, strict=True) if thing not in left)
        for thing in piece.things - seen[-1]
    }
    return piece._replace(shown=shown, taken=taken) if taken or shown != piece.shown else piece


def _bringer(id: str, changes: Sequence[Left]) -> int:
    return next(change.step for change in changes if id in (change.passages or {}))
