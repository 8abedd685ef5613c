"""A caller on the scripted server whose waits are recorded instead of waited."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from branchwise.agents.caller import ModelCaller
from branchwise.agents.decoding import Decoding
from branchwise.agents.journal import CallKey, MemoryJournal, Slot
from branchwise.agents.prompt_files import Prompts
from branchwise.agents.spec import ModelSpec
from support.chat_server import ChatServer

KEY = "sk-test-0123456789abcdef"


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


MakeCaller = Callable[..., ModelCaller]


@pytest.fixture
def waits() -> Waits:
    return Waits()


@pytest.fixture
def make_caller(
    chat_server: ChatServer, waits: Waits, monkeypatch: pytest.MonkeyPatch
) -> MakeCaller:
    """Makes a caller of the scripted server; keyword arguments are decoding settings."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def make(**decoding: Any) -> ModelCaller:
        spec = ModelSpec.parse(f"openai:scripted@{chat_server.url}")
        return ModelCaller(spec, Decoding(**decoding), Prompts.load(), sleep=waits)

    return make
