"""An MCP server for as long as an agent needs it: one conversation, reopened if it broke.

Needs the extra `mcp`. All conversations are in one event loop on a thread of its own: an agent is
made before its run's loop begins and may outlive it.
"""

import asyncio
import atexit
import contextlib
import logging
import os
import tempfile
import threading
import weakref
from collections.abc import AsyncIterator, Awaitable, Coroutine, Mapping
from concurrent.futures import Future
from functools import cache, partial
from importlib.metadata import version
from typing import Any, TypeVar

import anyio
import httpx
from langchain_core.tools import BaseTool
from langchain_mcp_adapters.sessions import Connection, create_session
from langchain_mcp_adapters.tools import load_mcp_tools
from mcp import ClientSession, McpError, StdioServerParameters, stdio_client, types
from pydantic import ValidationError

from branchwise.base.errors import InputError
from branchwise.base.files import first_problem
from branchwise.base.keys import NO_KEYS, Keys, Origin
from branchwise.base.plugins.sources import fault_line
from branchwise.base.plugins.specs import Server
from branchwise.base.secrets import without_keys
from branchwise.base.text import one_line, printable

_Value = TypeVar("_Value")

START_SECONDS = 60.0
"""A server may have to be fetched first, as uvx and npx do."""
AFTER_NONSENSE_SECONDS = 3.0
PING_SECONDS = 5.0
_WATCH_SECONDS = 2.0
_CLOSING_SECONDS = 10.0
_TAIL_BYTES = 4096
_UNKNOWN_SESSION = 32600
"""The SDK's code for a server over HTTP that has been started anew."""
_IN_A_GROUP = '"$@"; kill -KILL 0'
"""A shell runs a server, so that what it started ends with it. The SDK makes the group."""

_LOCK = threading.Lock()
_open: "set[_Conversation]" = set()


@cache
def _loop() -> asyncio.AbstractEventLoop:
    # The SDK reports a server's errors with tracebacks; we do it in one line.
    logging.getLogger("mcp").addHandler(logging.NullHandler())
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="MCP servers", daemon=True).start()
    atexit.register(_close_all)
    return loop


def _submit(work: "Coroutine[Any, Any, _Value]") -> "Future[_Value]":
    """Run a coroutine in the servers' loop."""
    with _LOCK:
        return asyncio.run_coroutine_threadsafe(work, _loop())


def _close_all() -> None:
    with contextlib.suppress(TimeoutError):
        _submit(_close(list(_open))).result(_CLOSING_SECONDS)


def short_line(text: str) -> str:
    """On one line, short, without keys and terminal control characters."""
    return printable(one_line(without_keys(text))[:300], "?")


def fault(error: BaseException) -> str:
    """What is wrong, in one line; for a violation of the protocol, also where."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, ValidationError):
        return printable(f"its answer is not MCP's ({error.title}: {first_problem(error)})")
    return printable(fault_line(error).removeprefix("McpError: "))


class LostError(Exception):
    """There is no conversation, or no longer: why, on one line. `untouched`: the request has not
    reached the server."""

    def __init__(self, why: str, *, untouched: bool = False) -> None:
        super().__init__(why)
        self.untouched = untouched


class McpServer:
    """A server that tools share. It belongs to no event loop; `open` and `close` block.

    After `close` the next call opens it again. `keys`: a server with an address gets its own.
    """

    def __init__(self, server: Server, keys: Keys = NO_KEYS) -> None:
        self.server, self._keys = server, keys
        self._opening = asyncio.Lock()
        self._current: list[_Conversation] = []
        # Does not wait for the end: this may run in the servers' own thread.
        weakref.finalize(
            self, lambda left: left and _submit(_close(left)), self._current
        ).atexit = False

    def open(self) -> tuple[types.InitializeResult, list[BaseTool]]:
        """Start or find it: what it says of itself, and its tools as the adapters describe them.
        Raises InputError."""
        opened = _submit(self._conversation())
        try:
            conversation = opened.result()
        except KeyboardInterrupt:
            opened.cancel()
            raise
        except Exception as error:  # noqa: BLE001 - the SDK's and the transport's, of any kind
            why = str(error) if isinstance(error, LostError) else fault(error)
            check = "check the command by running it in a terminal"
            raise InputError(
                f"the MCP server cannot be used: {why}",
                where=self.server.place,
                remedy="start it, and check its address" if self.server.url else check,
            ) from None
        return conversation.hello, conversation.tools

    async def call(self, name: str, arguments: Mapping[str, Any]) -> types.CallToolResult:
        """Call a tool; a server that was gone before is reopened at once, one that goes during the
        call at the next call. Raises LostError if it is gone, and what the SDK raises."""
        return await asyncio.wrap_future(_submit(self._call(name, arguments)))

    def close(self) -> None:
        """End the conversation."""
        _submit(_close(self._current)).result()

    async def _call(
        self, name: str, arguments: Mapping[str, Any], *, reopens: bool = True
    ) -> types.CallToolResult:
        conversation = await self._conversation()
        try:
            return await conversation.call(name, arguments)
        except LostError as error:
            if conversation in self._current:
                await _close(self._current)
            if not (reopens and error.untouched):
                raise
        return await self._call(name, arguments, reopens=False)

    async def _conversation(self) -> "_Conversation":
        async with self._opening:
            if not self._current:
                conversation = _Conversation(self.server, self._keys)
                await conversation.open()
                self._current.append(conversation)
            return self._current[0]


async def _close(conversations: "list[_Conversation]") -> None:
    closing = [conversations.pop().close() for _ in tuple(conversations)]
    await asyncio.gather(*closing, return_exceptions=True)


class _Conversation:
    """One conversation. The SDK requires one task to open and close it; any task may call."""

    hello: types.InitializeResult
    tools: list[BaseTool]

    def __init__(self, server: Server, keys: Keys) -> None:
        self._server, self._keys = server, keys
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - `close` does
        self._ready: asyncio.Future[ClientSession] = asyncio.get_running_loop().create_future()
        self._end = asyncio.Event()
        self._nonsense: Exception | None = None
        self._calls, self._doubtful = 0, False
        self._task = asyncio.ensure_future(self._live())
        _open.add(self)

    async def open(self) -> None:
        """Wait until the server is ready. Raises LostError; nothing is left open then."""
        waiting: set[asyncio.Future[Any]] = {self._ready, self._task}
        try:
            await asyncio.wait(waiting, timeout=START_SECONDS, return_when="FIRST_COMPLETED")
            if not self._ready.done():
                raise LostError(self._why())
        except BaseException:
            await self.close()
            raise

    async def call(self, name: str, arguments: Mapping[str, Any]) -> types.CallToolResult:
        """Call a tool; cancelling tells the server. Raises LostError, and McpError for errors of
        the protocol."""
        if self._task.done() or self._end.is_set():
            raise LostError("it has ended", untouched=True)
        session = self._ready.result()
        if self._doubtful and not await _is_well(session.send_ping(), PING_SECONDS):
            raise LostError("it does not answer any more", untouched=True)
        self._doubtful = False
        number: int | None = None

        async def ask() -> types.CallToolResult:
            nonlocal number  # the SDK counts requests, and says a number to nobody
            number = getattr(session, "_request_id", None)
            return await session.call_tool(name, dict(arguments))

        call = asyncio.ensure_future(ask())
        self._calls += 1
        try:
            await asyncio.wait({call, self._task}, return_when="FIRST_COMPLETED")
            if not call.done():
                raise LostError(self._why())
            return call.result()
        except asyncio.CancelledError:
            self._doubtful = True
            if number is not None:
                why = "the caller's time is over"
                about = types.CancelledNotificationParams(requestId=number, reason=why)
                note = types.CancelledNotification(method="notifications/cancelled", params=about)
                notified = session.send_notification(types.ClientNotification(note))
                await _is_well(notified, 1.0)
            raise
        except McpError as error:
            if error.error.code not in (types.CONNECTION_CLOSED, _UNKNOWN_SESSION):
                raise
            untouched = error.error.code == _UNKNOWN_SESSION
            raise LostError(self._why(), untouched=untouched) from None
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream):
            raise LostError(self._why(), untouched=True) from None  # nothing was written
        finally:
            self._calls -= 1
            call.cancel()

    async def close(self) -> None:
        """End the conversation, and the program with it: asked first, then killed."""
        self._end.set()
        if not self._ready.done():
            self._task.cancel()
        await asyncio.wait([self._task], timeout=_CLOSING_SECONDS)
        self._task.cancel()
        # The waiting caller was told the reason; asyncio reports unretrieved errors.
        await asyncio.gather(self._task, return_exceptions=True)
        self._errors.close()
        _open.discard(self)

    async def _live(self) -> None:
        async with self._session() as session:
            self.hello = await session.initialize()
            self.tools = await load_mcp_tools(session)
            self._ready.set_result(session)
            while not await _is_well(self._end.wait(), _WATCH_SECONDS):
                # Only a request shows that a server over HTTP has ended; the SDK then ends this.
                if self._server.url and self._calls:
                    await _is_well(session.send_ping(), _WATCH_SECONDS)

    @contextlib.asynccontextmanager
    async def _session(self) -> AsyncIterator[ClientSession]:
        """A program gets none of our keys; an address gets its own."""
        settings: dict[str, Any] = {
            "message_handler": self._hear,
            "client_info": types.Implementation(name="branchwise", version=version("branchwise")),
        }
        if url := self._server.url:
            connection: Connection = {
                "transport": "streamable_http",
                "url": url,
                "session_kwargs": settings,
                "httpx_client_factory": partial(_client, url, self._keys),
            }
            async with create_session(connection) as session:
                yield session
            return
        # Not the adapters' session: its program writes to the stderr of the time of their import.
        # No `env`: the SDK then hands on a few variables (PATH, HOME, ...) and so none of our keys.
        program = StdioServerParameters(
            command="sh",
            args=["-c", _IN_A_GROUP, "sh", *self._server.command],
            encoding_error_handler="replace",
        )
        async with (
            stdio_client(program, errlog=self._errors) as streams,
            ClientSession(*streams, **settings) as session,
        ):
            yield session

    async def _hear(self, message: object) -> None:
        """A program may print a line of its own before it speaks the protocol."""
        if isinstance(message, Exception) and not self._nonsense and not self._ready.done():
            self._nonsense = message
            loop = asyncio.get_running_loop()
            loop.call_later(
                AFTER_NONSENSE_SECONDS, lambda: self._ready.done() or self._task.cancel()
            )

    def _why(self) -> str:
        """Why there is no conversation, or no longer."""
        if not self._ready.done():
            if not self._task.done():
                return f"it was not ready within {START_SECONDS:g} seconds"
            if self._nonsense is not None:
                line = str(self._nonsense).split("input_value=")[-1].split(", input_type")[0]
                return f"it does not speak MCP: {short_line(line)}"
        error: BaseException | None = None
        if self._task.done() and not self._task.cancelled():
            error = self._task.exception()
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        is_end = isinstance(error, McpError) and error.error.code == types.CONNECTION_CLOSED
        if error and not is_end and not isinstance(error, anyio.BrokenResourceError):
            line, url = fault(error), self._server.url
            return short_line(line.replace(url, self._server.place) if url else line)
        if self._errors.closed:  # another call that was lost has ended the conversation
            return "it has ended"
        size = os.fstat(self._errors.fileno()).st_size
        tail = os.pread(self._errors.fileno(), _TAIL_BYTES, max(size - _TAIL_BYTES, 0))
        words = [line for line in tail.decode("utf-8", "replace").splitlines() if line.strip()]
        return f"it has ended; its last words: {short_line(words[-1])}" if words else "it has ended"


def _client(
    url: str,
    keys: Keys,
    headers: dict[str, str] | None = None,
    timeout: httpx.Timeout | None = None,
    auth: httpx.Auth | None = None,
) -> httpx.AsyncClient:
    """A client that sends the key to the server and to no other address."""

    async def guard(request: httpx.Request) -> None:
        if Origin.of(str(request.url)) != Origin.of(url):
            raise httpx.UnsupportedProtocol("it redirects to another server, which is not followed")
        if key := keys.key(url):
            request.headers["Authorization"] = f"Bearer {key}"

    hooks = {"request": [guard]}
    return httpx.AsyncClient(
        headers=headers, timeout=timeout, auth=auth, event_hooks=hooks, follow_redirects=True
    )


async def _is_well(work: Awaitable[object], seconds: float) -> bool:
    """Whether it ends in time, and without an error."""
    try:
        async with asyncio.timeout(seconds):
            await work
    except Exception:  # noqa: BLE001 - whatever it is, it does not answer
        return False
    return True
