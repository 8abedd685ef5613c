"""Where models' replies about names and answers are kept, so that none is asked for twice."""

from collections.abc import Mapping
from typing import Any, Protocol

from branchwise.agents.journal import CallKey, Journal, Slot


class Judgements(Journal, Protocol):
    """A journal by request digest and sample number.

    Unlike an item's journal it counts no occurrences (equal requests are one) and has no trace.
    """

    def recall(self, key: CallKey, sample: int = 0) -> Slot:
        """What is kept of a request; `sample` tells repeated measurements of it apart."""
        ...


class MemoryJudgements:
    """Judgements kept as long as the object lives."""

    def __init__(self) -> None:
        self._kept: dict[tuple[CallKey, int], Mapping[str, Any]] = {}

    def recall(self, key: CallKey, sample: int = 0) -> Slot:
        return Slot(key, sample, self._kept.get((key, sample)))

    async def keep(self, slot: Slot, value: Mapping[str, Any]) -> None:
        self._kept[slot.key, slot.occurrence] = value

    def event(self, kind: str, data: Mapping[str, Any]) -> None:
        return None
