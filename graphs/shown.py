"""Which passages the agent has before it whole, for the tool calls of a turn in their order."""

import asyncio
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import ToolMessage

from branchwise.graphs.context_window import with_omissions
from branchwise.graphs.state import AgentState
from branchwise.tools.passage_blocks import shown_whole
from branchwise.trace.artifacts import Artifact


def shown_before(state: AgentState) -> frozenset[str]:
    """Ids of the passages that stand whole in the conversation as requests hold it.

    What was cut, extracted, left out by a plug-in or to fit the context window is not among them.
    """
    messages = with_omissions(state["messages"], state.get("omitted", 0))
    results = (message for message in messages if isinstance(message, ToolMessage))
    return frozenset(id for one in results for id in _ids(one.text, one.artifact))


class TurnPassages:
    """The passages that each call of a turn finds shown: by earlier turns and the calls before."""

    def __init__(self, before: Collection[str], calls: int) -> None:
        self.before = before
        self._added: list[Collection[str]] = [()] * calls
        self._ended = [asyncio.Event() for _ in range(calls)]

    def end(self, of: int, content: str = "", artifact: Mapping[str, Any] | None = None) -> None:
        """Call number `of` has ended with this result; what is said of it later is ignored."""
        if not self._ended[of].is_set():
            self._added[of] = list(_ids(content, artifact))
            self._ended[of].set()

    def at(self, of: int) -> "CallPassages":
        """What call number `of` finds."""
        return CallPassages(self, of)

    async def until(self, of: int) -> frozenset[str]:
        """Ids of what is shown before call number `of`, once the calls before it have ended."""
        for ended in self._ended[:of]:
            await ended.wait()
        return frozenset(self.before).union(*self._added[:of])


@dataclass(frozen=True)
class CallPassages:
    """`ShownPassages` for one call of a turn."""

    turn: TurnPassages
    of: int

    @property
    def most(self) -> int:
        return len(self.turn.before) + 5 * self.of

    async def ids(self) -> Collection[str]:
        return await self.turn.until(self.of)


def _ids(content: str, artifact: Mapping[str, Any] | None) -> Iterable[str]:
    passages = Artifact(artifact or {}).passages
    return shown_whole(content, [passage.data for passage in passages])
