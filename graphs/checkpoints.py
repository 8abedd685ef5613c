"""Checkpointers that keep the steps within a node, whichever way the graph around it is invoked."""

import asyncio
from collections.abc import AsyncIterator, Collection, Iterator
from typing import TYPE_CHECKING, Any

from langgraph.checkpoint.base import BaseCheckpointSaver

if TYPE_CHECKING:
    from langgraph.types import Checkpointer


def from_any_loop(checkpointer: "Checkpointer") -> "Checkpointer":
    """The same checkpointer, also usable in an event loop.

    The steps are asynchronous even where `invoke` is not, and `SqliteSaver` and others have no
    asynchronous methods: what is missing is called on a thread.
    """
    if isinstance(checkpointer, BaseCheckpointSaver):
        return _FromAnyLoop(checkpointer)
    return checkpointer


class _FromAnyLoop(BaseCheckpointSaver[Any]):
    def __init__(self, saver: BaseCheckpointSaver[Any]) -> None:
        super().__init__(serde=saver.serde)
        self._saver = saver

    @property
    def config_specs(self) -> list[Any]:
        return self._saver.config_specs

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> "_FromAnyLoop":
        return _FromAnyLoop(self._saver.with_allowlist(extra_allowlist))

    def get_next_version(self, current: Any, channel: None) -> Any:
        return self._saver.get_next_version(current, channel)

    def get_tuple(self, *given: Any, **named: Any) -> Any:
        return self._saver.get_tuple(*given, **named)

    def list(self, *given: Any, **named: Any) -> Iterator[Any]:
        return self._saver.list(*given, **named)

    def put(self, *given: Any, **named: Any) -> Any:
        return self._saver.put(*given, **named)

    def put_writes(self, *given: Any, **named: Any) -> None:
        self._saver.put_writes(*given, **named)

    def delete_thread(self, *given: Any, **named: Any) -> None:
        self._saver.delete_thread(*given, **named)

    async def aget_tuple(self, *given: Any, **named: Any) -> Any:
        return await self._either("get_tuple", *given, **named)

    async def alist(self, *given: Any, **named: Any) -> AsyncIterator[Any]:
        try:
            async for one in self._saver.alist(*given, **named):
                yield one
        except NotImplementedError:
            for one in await asyncio.to_thread(lambda: [*self._saver.list(*given, **named)]):
                yield one

    async def aput(self, *given: Any, **named: Any) -> Any:
        return await self._either("put", *given, **named)

    async def aput_writes(self, *given: Any, **named: Any) -> None:
        await self._either("put_writes", *given, **named)

    async def adelete_thread(self, *given: Any, **named: Any) -> None:
        await self._either("delete_thread", *given, **named)

    async def _either(self, method: str, *given: Any, **named: Any) -> Any:
        try:
            return await getattr(self._saver, f"a{method}")(*given, **named)
        except NotImplementedError:
            return await asyncio.to_thread(getattr(self._saver, method), *given, **named)
