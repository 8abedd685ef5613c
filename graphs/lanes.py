"""Several conversations of one item: what each records is its own, and in an order that lasts."""

import hashlib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from branchwise.agents.journal import CallKey, Journal, Slot, item_of


class Lanes:
    """The events of conversations that run at the same time, in the order of the conversations.

    The first that has not ended writes at once; what the others write waits for it. So a trace does
    not depend on which of them is faster.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._waiting: dict[int, list[tuple[str, Mapping[str, Any]]]] = defaultdict(list)
        self._ended: set[int] = set()
        self._first: float = 0

    def event(self, lane: int, kind: str, data: Mapping[str, Any]) -> None:
        """Append to a conversation; lanes are numbered from 0."""
        if lane <= self._first:
            self._journal.event(kind, data)
        else:
            self._waiting[lane].append((kind, data))

    def end(self, lane: int) -> None:
        """A conversation has ended: the next one need no longer wait."""
        self._ended.add(lane)
        while self._first in self._ended:
            self._first += 1
            self._write(int(self._first))

    def close(self) -> None:
        """Write what waits, in order; whatever comes from now on is written at once."""
        self._first = float("inf")
        for lane in sorted(self._waiting):
            self._write(lane)

    def _write(self, lane: int) -> None:
        for kind, data in self._waiting.pop(lane, ()):
            self._journal.event(kind, data)


class ConversationJournal:
    """An item's journal as one of its conversations sees it; implements `Journal`.

    Results of tools and nodes depend on what the conversation has seen and not only on the call, so
    each conversation finds its own again. Requests to models hold all that their replies depend on:
    their keys stay as they are, so that replays find them. In a `lane` its events wait their turn.
    """

    def __init__(
        self, journal: Journal, name: str, lanes: Lanes | None = None, lane: int = 0
    ) -> None:
        self.item = item_of(journal)
        self._journal, self._name = journal, name
        self._lanes, self._lane = lanes, lane

    def recall(self, key: CallKey) -> Slot:
        if key.kind == "model":
            return self._journal.recall(key)
        own = hashlib.sha256(f"{self._name}\0{key.digest}".encode()).hexdigest()
        return self._journal.recall(replace(key, digest=own))

    async def keep(self, slot: Slot, value: Mapping[str, Any]) -> None:
        await self._journal.keep(slot, value)

    def event(self, kind: str, data: Mapping[str, Any]) -> None:
        if self._lanes is None:
            self._journal.event(kind, data)
        else:
            self._lanes.event(self._lane, kind, data)
