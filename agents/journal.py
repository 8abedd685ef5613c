"""Where an item's calls are remembered. Declared here, implemented by the run store in eval.

`ResponseCache` makes a killed run continue: what a model or a tool answered is kept before it is
used, and comes back instead of being asked for again. `Journal` adds the trace.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol


@dataclass(frozen=True)
class CallKey:
    """Identity of one call within an item: `digest` covers everything the answer depends on.

    The implementation adds system, question, epoch and an occurrence number (how often this item
    has asked for the same key), so that repeated sampling stays independent.
    """

    kind: Literal["model", "tool", "node"]
    role: str
    digest: str


@dataclass(frozen=True)
class Asker:
    """The item that asks: its question's id, and which of the question's epochs it is."""

    question: str
    epoch: int


@dataclass(frozen=True)
class Slot:
    """One occurrence of a key: `value` is what was recorded for it, None where nothing was.

    `asker` is there where the journal belongs to an item of a run.
    """

    key: CallKey
    occurrence: int
    value: Mapping[str, Any] | None
    asker: Asker | None = None


class ResponseCache(Protocol):
    """Recorded responses of one item; values are JSON-serialisable mappings."""

    def recall(self, key: CallKey) -> Slot:
        """The next occurrence of `key`. Counts: calling twice gives occurrences 0 and 1."""
        ...

    async def keep(self, slot: Slot, value: Mapping[str, Any]) -> None:
        """Record the answer of `slot`; returns once it is committed and safe to use."""
        ...


class Journal(ResponseCache, Protocol):
    """A response cache that also takes the item's trace."""

    def event(self, kind: str, data: Mapping[str, Any]) -> None:
        """Append one event to the trace; JSON-serialisable, written in small batches."""
        ...


def item_of(journal: Journal) -> object:
    """What the journals of one item's conversations have in common: the item's own journal."""
    return getattr(journal, "item", journal)


class MemoryJournal:
    """A journal that lives as long as the item: for `ask`, for embedding, for tests."""

    def __init__(self) -> None:
        self.events: list[tuple[str, Mapping[str, Any]]] = []
        self._seen: dict[CallKey, int] = {}

    def recall(self, key: CallKey) -> Slot:
        occurrence = self._seen.get(key, 0)
        self._seen[key] = occurrence + 1
        return Slot(key, occurrence, None)

    async def keep(self, slot: Slot, value: Mapping[str, Any]) -> None:
        return None

    def event(self, kind: str, data: Mapping[str, Any]) -> None:
        self.events.append((kind, data))
