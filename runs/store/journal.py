"""The journal of one item: its recorded responses, and its events on the way to the store."""

import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import orjson

from branchwise.agents.journal import Asker, CallKey, Slot
from branchwise.runs.store.passage_references import StoredPassage, fold
from branchwise.runs.store.tables import Layout
from branchwise.runs.store.writer import Statement
from branchwise.trace.events import Event

Recorded = Mapping[tuple[CallKey, int], Mapping[str, Any]]


class Beginning(NamedTuple):
    """What the journal of an item begins with.

    `recorded`: the responses of earlier attempts. `first` is written before everything else.
    `asker` is what every slot says about the item. `opening`: the events that `first` writes,
    which precede the journal's own.
    """

    item: int
    recorded: Recorded
    first: Sequence[Statement]
    asker: Asker | None = None
    opening: Sequence[Event] = ()


class Commits(Protocol):
    """Where statements are committed: the run's writer, or the way to it from another process."""

    @property
    def layout(self) -> Layout:
        """How statements write rows."""
        ...

    async def commit(self, statements: Sequence[Statement], *, ends_item: bool = False) -> None:
        """Write a batch; returns once it is committed. Raises StoreError."""
        ...


class ItemJournal:
    """Implements `agents.journal.Journal` for one item of a run.

    Events wait in memory and travel with the next response that is kept, so tracing costs no extra
    commits; the item's last events and its final row are one transaction.
    """

    def __init__(self, writer: Commits, beginning: Beginning) -> None:
        self._writer, self._layout = writer, writer.layout
        self._item, self._recorded, first, self._asker, self.opening = beginning
        self._kept, self._first = set(self._recorded), list(first)
        self._occurrences: dict[CallKey, int] = {}
        self._events: list[tuple[int, int, str, float, bytes]] = []
        self._passages: list[StoredPassage] = []
        self._seq = len(self.opening)
        # A tool result comes twice, as a response and as an event, but is folded once. The
        # artifact is held beside its id so that the id stays its own.
        self._folds: dict[int, tuple[Any, dict[str, Any]]] = {}

    def recall(self, key: CallKey) -> Slot:
        occurrence = self._occurrences.get(key, 0)
        self._occurrences[key] = occurrence + 1
        return Slot(key, occurrence, self._recorded.get((key, occurrence)), self._asker)

    async def keep(self, slot: Slot, value: Mapping[str, Any]) -> None:
        body = self._folded(value)
        key = slot.key
        row = (self._item, key.kind, key.role, key.digest, slot.occurrence, body)
        insert = self._layout.insert("responses", "INSERT OR REPLACE")
        # Counted first: if the caller is cancelled, the row is written all the same.
        self._kept.add((key, slot.occurrence))
        await self._writer.commit([*self._take(), (insert, [row])])

    def event(self, kind: str, data: Mapping[str, Any]) -> None:
        self._events.append((self._item, self._seq, kind, time.time(), self._folded(data)))
        self._seq += 1

    async def finish(self, status: str, outcome: Mapping[str, Any]) -> None:
        """Write the item's remaining events and its final row, all or nothing."""
        await self._writer.commit(self.ending(status, outcome), ends_item=True)

    def ending(self, status: str, outcome: Mapping[str, Any]) -> list[Statement]:
        """The statements of `finish`, which are one batch."""
        row = (status, self._seq, len(self._kept), orjson.dumps(outcome), self._item)
        return [*self._take(), (self._layout.end_item(), [row])]

    def _folded(self, record: Mapping[str, Any]) -> bytes:
        """The record as JSON without passage texts, which are queued."""
        artifact = record.get("artifact")
        known = self._folds.pop(id(artifact), None)
        if known is None:
            slim, passages = fold(record)
            self._passages += passages
            if passages and artifact is not None:
                kept = {"content": slim["content"], "artifact": slim["artifact"]}
                self._folds[id(artifact)] = (artifact, kept)
        else:
            slim = {**record, **known[1]}
        return orjson.dumps(slim)

    def _take(self) -> list[Statement]:
        """The waiting statements, which the journal then forgets."""
        passages, events, statements = self._passages, self._events, self._first
        self._passages, self._events, self._first = [], [], []
        if passages:
            statements.append((self._layout.insert_passage(), passages))
        if events:
            statements.append((self._layout.insert("events"), events))
        return statements
