"""Asking a caller whose waits are recorded, with a journal that remembers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.tools import tool

from branchwise.agents.caller import ModelCaller
from branchwise.agents.journal import CallKey, Journal, MemoryJournal, Slot
from branchwise.agents.reply import ModelError, Reply

KEY = "sk-test-0123456789abcdef"
QUESTION = (SystemMessage("Answer."), HumanMessage("Who directed Heat?"))
both_protocols = pytest.mark.parametrize("api", ["chat", "responses"])
both_ways = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


@dataclass
class Waits:
    """What `asyncio.sleep` was called with."""

    seconds: list[float] = field(default_factory=list)

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


class RecordingJournal(MemoryJournal):
    """A journal that remembers what was kept, as the run store does."""

    def __init__(self, kept: dict[tuple[CallKey, int], Mapping[str, Any]] | None = None) -> None:
        super().__init__()
        self.kept = {} if kept is None else kept

    def recall(self, key: CallKey) -> Slot:
        slot = super().recall(key)
        return Slot(key, slot.occurrence, self.kept.get((key, slot.occurrence)))

    async def keep(self, slot: Slot, value: Mapping[str, Any]) -> None:
        self.kept[slot.key, slot.occurrence] = value


@tool
def local_retriever(query: str, k: int = 3) -> str:
    """Search the corpus for passages."""
    return f"{k} passages on {query}"


async def ask(caller: ModelCaller, journal: Journal | None = None, **more: Any) -> Reply:
    return await caller.ask(
        more.pop("messages", QUESTION), journal=journal or MemoryJournal(), **more
    )


async def error_of(caller: ModelCaller, **more: Any) -> ModelError:
    with pytest.raises(ModelError) as raised:
        await ask(caller, **more)
    return raised.value
