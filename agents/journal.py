"""Where an item's calls are remembered, and under which digests.

`ResponseCache` makes a killed run continue: what a model or a tool answered is kept before it is
used, and comes back instead of being asked for again. `Journal` adds the trace. The run store
implements both.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

import orjson

from branchwise.agents.reasoning import native_of

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage
    from langchain_core.tools import BaseTool


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
    """One occurrence of a key: `value` is what was recorded for it, None where nothing was; `asker`
    is there where the journal belongs to an item of a run."""

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


def sample_of(journal: Journal) -> int:
    """Which of several samples of one conversation asks, from 1; 0 where there is but one."""
    sample: int = getattr(journal, "sample", 0)
    return sample


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


@dataclass(frozen=True)
class ToolSet:
    """Tools and, made once, their OpenAI schemas and the bytes that enter digests."""

    tools: tuple[BaseTool, ...]
    schemas: tuple[dict[str, Any], ...]
    canonical: bytes

    @classmethod
    def of(cls, tools: Sequence[BaseTool]) -> ToolSet:
        """The set of `tools`, in their order."""
        if not tools:
            return cls((), (), b"[]")
        from langchain_core.utils.function_calling import convert_to_openai_tool

        schemas = tuple(convert_to_openai_tool(tool) for tool in tools)
        return cls(tuple(tools), schemas, canonical(schemas))


def _sorted(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def canonical(value: Any) -> bytes:
    """JSON with sorted keys: equal values, equal bytes."""
    try:
        return _sorted(value)
    except TypeError:
        # orjson refuses what JSON from elsewhere may hold: half surrogates, 70-bit integers.
        return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


@dataclass
class ConversationDigest:
    """SHA-256 of a conversation's requests. Each repeats the one before and adds to it: what was
    hashed for that one is not hashed again, or the cost would grow with the square of its turns.
    """

    _head: bytes = b""
    _messages: Sequence[BaseMessage] = ()
    _hashed: hashlib._Hash = field(default_factory=hashlib.sha256)

    def of(
        self, before: bytes, schema: Any, messages: Sequence[BaseMessage], *, reasoning: bool
    ) -> str:
        """The digest of `before`, then of `canonical([schema, fingerprints])`, as hexadecimal."""
        try:
            return self._of(b"%b[%b,[" % (before, _sorted(schema)), messages, reasoning)
        except TypeError:
            seen = [fingerprint(message, reasoning=reasoning) for message in messages]
            return hashlib.sha256(before + canonical([schema, seen])).hexdigest()

    def _of(self, head: bytes, messages: Sequence[BaseMessage], reasoning: bool) -> str:
        known = self._messages
        # Messages are never changed.
        continues = head == self._head and len(known) <= len(messages)
        if not continues or any(a is not b for a, b in zip(known, messages, strict=False)):
            self._head, self._messages, self._hashed = head, (), hashlib.sha256(head)
        new = messages[len(self._messages) :]
        added = [_sorted(fingerprint(message, reasoning=reasoning)) for message in new]
        self._hashed.update(b"," * bool(self._messages and added) + b",".join(added))
        self._messages = tuple(messages)
        request = self._hashed.copy()
        request.update(b"]]")
        return request.hexdigest()


def fingerprint(message: BaseMessage, *, reasoning: bool = False) -> list[Any]:
    """What the model sees of a message; ids and metadata that it does not see are left out.

    `reasoning`: whether that of earlier turns goes back to it.
    """
    seen: list[Any] = [message.type, message.content]
    if message.type == "tool":
        return [*seen, getattr(message, "tool_call_id", None)]
    if message.type == "ai":
        calls = getattr(message, "tool_calls", []), getattr(message, "invalid_tool_calls", [])
        return [*seen, *calls, native_of(message)] if reasoning else [*seen, *calls]
    return seen
