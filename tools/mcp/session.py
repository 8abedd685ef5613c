"""One conversation with an MCP server: opened, used and closed in the servers' loop."""

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from mcp import ClientSession, McpError
from mcp.types import (
    CallToolResult,
    CancelledNotification,
    CancelledNotificationParams,
    ClientNotification,
    InitializeResult,
)

from branchwise.corpora.keys import NO_KEYS, Keys
from branchwise.corpora.plugins.mcp_specs import Server
from branchwise.tools.mcp.loop import closed, opened
from branchwise.tools.mcp.transport import ErrorOutput, conversation, fault, short_line

START_SECONDS = 60.0
"""A server may have to be fetched first, as uvx and npx do."""
_AFTER_NONSENSE = 3.0
_CLOSING_SECONDS = 8.0
_PING_SECONDS = 5.0
_WATCH_SECONDS = 2.0
_LOST_CODES = (-32000, 32600)
"""What the SDK answers itself where a connection is closed, and where a session is unknown."""


class LostError(Exception):
    """There is no conversation (any more); the message says why, on one line.

    `untouched`: what was asked has not reached the server.
    """

    def __init__(self, why: str, *, untouched: bool = False) -> None:
        super().__init__(why)
        self.untouched = untouched


class Session:
    """A conversation. `hello` is what the server said of itself.

    The SDK wants the same task to open and to close it; calls come from any.
    """

    def __init__(self, server: Server, keys: Keys = NO_KEYS) -> None:
        self._server, self._keys, self._errors = server, keys, ErrorOutput()
        self._ready: asyncio.Future[ClientSession] = asyncio.get_running_loop().create_future()
        self._end = asyncio.Event()
        self._nonsense: Exception | None = None
        self._doubtful = False
        self.hello: InitializeResult | None = None
        self._task = asyncio.ensure_future(self._live())

    async def open(self, seconds: float) -> None:
        """Wait until the server is ready. Raises LostError; nothing is left open then."""
        opened(self)
        # The SDK reports on what a server does wrong, with tracebacks; we do in one line.
        logging.getLogger("mcp").addHandler(logging.NullHandler())
        waiting: set[asyncio.Future[Any]] = {self._ready, self._task}
        try:
            await asyncio.wait(waiting, timeout=seconds, return_when="FIRST_COMPLETED")
            why = "" if self._ready.done() else self._why_not(seconds)
        except asyncio.CancelledError:
            await self.close()
            raise
        if why:
            await self.close()
            raise LostError(why)

    async def use(self) -> ClientSession:
        """The SDK's session, where the conversation still goes on. Raises LostError."""
        if self._task.done() or self._end.is_set():
            raise LostError("it has ended", untouched=True)
        session = await self._ready
        if self._doubtful:
            await self._ask_whether_there(session)
        return session

    async def call(self, name: str, arguments: Mapping[str, Any]) -> CallToolResult:
        """Call a tool; cancelling tells the server. Raises LostError, and McpError for errors of
        the protocol."""
        session = await self.use()
        number = getattr(session, "_request_id", None)
        call = asyncio.ensure_future(session.call_tool(name, dict(arguments)))
        try:
            while not call.done() and not self._task.done():
                await asyncio.wait(
                    [call, self._task], timeout=_WATCH_SECONDS, return_when="FIRST_COMPLETED"
                )
                if self._server.url and not call.done() and not self._task.done():
                    await self._watch(session)
        except asyncio.CancelledError:
            self._doubtful = True
            await _cancelled(session, call, number)
            raise
        if not call.done():
            call.cancel()
            raise LostError(self._ended())
        return self._result(call)

    async def close(self) -> None:
        """End the conversation, and the program with it: asked first, then killed."""
        self._end.set()
        if not self._ready.done():
            self._task.cancel()
        await asyncio.wait([self._task], timeout=_CLOSING_SECONDS)
        self._task.cancel()
        # Whatever ended it was told to who waited; asyncio reports what nobody looked at.
        await asyncio.gather(self._task, return_exceptions=True)
        closed(self)

    def _result(self, call: "asyncio.Task[CallToolResult]") -> CallToolResult:
        try:
            return call.result()
        except McpError as error:
            if error.error.code not in _LOST_CODES:
                raise
            self._doubtful = True
            raise LostError(self._ended(), untouched=error.error.code == _LOST_CODES[1]) from None
        except (OSError, RuntimeError) as error:
            if type(error) is RuntimeError:  # of the SDK: a result that is not as was promised
                raise
            self._doubtful = True
            raise LostError(self._ended()) from None
        except Exception as error:
            if type(error).__module__.partition(".")[0] != "anyio":
                raise
            # Nothing can be written to it: the server had left before it was asked.
            self._doubtful = True
            raise LostError(self._ended(), untouched=True) from None

    async def _live(self) -> None:
        opening = conversation(self._server, self._errors, self._heard, self._keys)
        async with opening as session:
            self.hello = await session.initialize()
            self._ready.set_result(session)
            await self._end.wait()

    def _heard(self, nonsense: Exception) -> None:
        if self._nonsense is None and not self._ready.done():
            self._nonsense = nonsense
            asyncio.get_running_loop().call_later(_AFTER_NONSENSE, self._give_up)

    def _give_up(self) -> None:
        if not self._ready.done():
            self._task.cancel()

    async def _ask_whether_there(self, session: ClientSession) -> None:
        """A call was given up: go on only with a server that still listens."""
        try:
            async with asyncio.timeout(_PING_SECONDS):
                await session.send_ping()
        except asyncio.CancelledError:
            raise
        except Exception:  # noqa: BLE001 - whatever it is, it does not answer
            raise LostError("it does not answer any more", untouched=True) from None
        self._doubtful = False

    async def _watch(self, session: ClientSession) -> None:
        """Over HTTP the end of a server is only seen by asking; the SDK then ends our task."""
        wait = timedelta(seconds=_WATCH_SECONDS)
        with contextlib.suppress(McpError):
            ping = asyncio.ensure_future(_ping(session, wait))
            await asyncio.wait([ping, self._task], return_when="FIRST_COMPLETED")
            ping.cancel()

    def _why_not(self, seconds: float) -> str:
        if not self._task.done():
            return f"it was not ready within {seconds:g} seconds"
        if self._nonsense is not None:
            said = str(self._nonsense).split("input_value=")[-1].split(", input_type")[0]
            return f"it does not speak MCP: {short_line(said)}"
        return self._ended()

    def _ended(self) -> str:
        line = self._errors.last_line()
        if not self._task.done() or self._task.cancelled():
            return f"it has ended; its last words: {line}" if line else "it has ended"
        error = _first(self._task.exception())
        if error is None or isinstance(error, McpError):
            why = f"; its last words: {line}" if line else ""
            return f"it has ended{why}" if line or not error else short_line(str(error))
        said, url = fault(error), self._server.url
        return short_line(said.replace(url, self._server.place) if url else said)


async def _ping(session: ClientSession, wait: timedelta) -> None:
    async with asyncio.timeout(wait.total_seconds()):
        await session.send_ping()


async def _cancelled(
    session: ClientSession, call: "asyncio.Task[CallToolResult]", number: object
) -> None:
    """Tell the server that nobody waits any more, so that it can stop its work."""
    call.cancel()
    if not isinstance(number, int):
        return
    params = CancelledNotificationParams(requestId=number, reason="the caller's time is over")
    note = CancelledNotification(method="notifications/cancelled", params=params)
    with contextlib.suppress(Exception):
        async with asyncio.timeout(1.0):
            await session.send_notification(ClientNotification(note))


def _first(error: BaseException | None) -> BaseException | None:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
