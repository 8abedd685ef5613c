"""An MCP server for as long as an agent needs it: one conversation, opened again where it broke."""

import asyncio
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from langchain_core.tools import BaseTool
from langchain_mcp_adapters.tools import load_mcp_tools
from mcp.types import CallToolResult

from branchwise.corpora.errors import InputError
from branchwise.corpora.keys import NO_KEYS, Keys
from branchwise.corpora.plugins.mcp_specs import Server
from branchwise.corpora.text import storable
from branchwise.tools.mcp.loop import submit
from branchwise.tools.mcp.session import START_SECONDS, LostError, Session
from branchwise.tools.mcp.transport import fault, short_line

MAX_TOOLS = 128


@dataclass(frozen=True)
class Listed:
    """What a server says of itself. `tools` are the adapters': names, descriptions, schemas."""

    name: str
    version: str
    instructions: str
    tools: tuple[BaseTool, ...]


class McpServer:
    """A server that tools share. It belongs to no event loop; `open` and `close` block.

    After `close` the next call opens it again, as models' connections do.
    """

    def __init__(self, server: Server, keys: Keys = NO_KEYS) -> None:
        """`keys`: of which a server that has an address gets its own."""
        self.server = server
        self._held = _Held(server, keys)
        weakref.finalize(self, _let_go, self._held).atexit = False

    def open(self) -> Listed:
        """Start or find it, and ask what it has. Raises InputError, in one line."""
        asked = submit(self._held.listed())
        try:
            return asked.result()
        except LostError as error:
            raise self._refused(str(error)) from None
        except KeyboardInterrupt:
            asked.cancel()
            raise
        except Exception as error:  # noqa: BLE001 - the SDK's and the transport's, of any kind
            raise self._refused(fault(error)) from None

    async def call(self, name: str, arguments: Mapping[str, Any]) -> CallToolResult:
        """Call a tool. Raises LostError where the server is gone, and what the SDK raises.

        A server that was gone before it was asked is opened again at once; one that goes while it
        works, at the next call.
        """
        return await asyncio.wrap_future(submit(self._held.call(name, arguments)))

    async def aclose(self) -> None:
        """End the conversation."""
        await asyncio.wrap_future(submit(self._held.close()))

    def close(self) -> None:
        """The same, blocking."""
        submit(self._held.close()).result()

    def _refused(self, why: str) -> InputError:
        remedy = (
            "start it, and check its address"
            if self.server.url
            else "check the command by running it in a terminal"
        )
        return InputError(
            f"the MCP server cannot be used: {why}", where=self.server.place, remedy=remedy
        )


class _Held:
    """The present conversation; everything here happens in the servers' loop."""

    def __init__(self, server: Server, keys: Keys) -> None:
        self._server, self._keys = server, keys
        self._session: Session | None = None
        self._opening: asyncio.Lock | None = None

    async def listed(self) -> Listed:
        session = await self._open()
        try:
            async with asyncio.timeout(START_SECONDS):
                sdk = await session.use()
                tools = await load_mcp_tools(sdk)
        except BaseException as error:
            await self.close()
            if isinstance(error, TimeoutError):
                raise LostError("it does not say what tools it has") from None
            raise
        hello = session.hello
        assert hello is not None
        return Listed(
            short_line(hello.serverInfo.name),
            short_line(hello.serverInfo.version),
            storable(hello.instructions or ""),
            tuple(tools[: MAX_TOOLS + 1]),
        )

    async def call(self, name: str, arguments: Mapping[str, Any]) -> CallToolResult:
        for attempt in (0, 1):
            session = await self._open()
            try:
                return await session.call(name, arguments)
            except LostError as error:
                await self._drop(session)
                if not error.untouched or attempt:
                    raise
        raise AssertionError("the second attempt returns or raises")

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _open(self) -> Session:
        self._opening = self._opening or asyncio.Lock()
        async with self._opening:
            if self._session is None:
                session = Session(self._server, self._keys)
                await session.open(START_SECONDS)
                self._session = session
            return self._session

    async def _drop(self, session: Session) -> None:
        """Close it, unless somebody has already; the next call opens another."""
        if self._session is session:
            self._session = None
            await session.close()


def _let_go(held: _Held) -> None:
    """Nobody has its tools any more. Not waited for: this may run in the servers' own thread."""
    if held._session is not None:
        submit(held.close())
