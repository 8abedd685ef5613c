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
from collections.abc import AsyncIterator, Coroutine, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from typing import IO, Any, TypeVar

import anyio
import httpx
from langchain_core.tools import BaseTool
from langchain_mcp_adapters.sessions import StreamableHttpConnection, create_session
from langchain_mcp_adapters.tools import load_mcp_tools
from mcp import ClientSession, McpError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.types import (
    CallToolResult,
    CancelledNotification,
    CancelledNotificationParams,
    ClientNotification,
    Implementation,
    InitializeResult,
)
from pydantic import ValidationError

from branchwise.corpora.errors import InputError
from branchwise.corpora.files import first_problem
from branchwise.corpora.keys import NO_KEYS, Keys, Origin
from branchwise.corpora.plugins.mcp_specs import Server
from branchwise.corpora.secrets import without_keys
from branchwise.corpora.text import one_line, printable, storable

_Value = TypeVar("_Value")

MAX_TOOLS = 128
START_SECONDS = 60.0
"""A server may have to be fetched first, as uvx and npx do."""
AFTER_NONSENSE_SECONDS = 3.0
PING_SECONDS = 5.0
_WATCH_SECONDS = 2.0
_CLOSING_SECONDS = 10.0
_TAIL_BYTES = 4096
_CLOSED, _UNKNOWN_SESSION = -32000, 32600
"""The SDK's own error codes."""
_WITH_ITS_GROUP = '"$@"; kill -KILL 0'
"""A shell runs a server, so that what it started ends with it. The SDK makes the group."""

_LOCK = threading.Lock()
_loops: list[asyncio.AbstractEventLoop] = []
_open: "set[_Conversation]" = set()


def _submit(work: "Coroutine[Any, Any, _Value]") -> "Future[_Value]":
    """Run a coroutine in the servers' loop."""
    with _LOCK:
        if not _loops:
            # The SDK reports a server's errors with tracebacks; we do it in one line.
            logging.getLogger("mcp").addHandler(logging.NullHandler())
            _loops.append(asyncio.new_event_loop())
            threading.Thread(target=_loops[0].run_forever, name="MCP servers", daemon=True).start()
            atexit.register(_close_all)
    return asyncio.run_coroutine_threadsafe(work, _loops[0])


def _close_all() -> None:
    async def close() -> None:
        await asyncio.gather(*(one.close() for one in list(_open)), return_exceptions=True)

    if _open:
        with contextlib.suppress(TimeoutError):
            _submit(close()).result(_CLOSING_SECONDS)


def short_line(text: str) -> str:
    """On one line, short, without keys and terminal control characters."""
    return printable(one_line(without_keys(text))[:300], "?")


def fault(error: BaseException) -> str:
    """What is wrong, in one line; for a violation of the protocol, also where."""
    if isinstance(error, ValidationError):
        return printable(f"its answer is not MCP's ({error.title}: {first_problem(error)})")
    return printable(f"{type(error).__name__}: {error}")


class LostError(Exception):
    """There is no conversation, or no longer; the message says why, on one line.

    `untouched`: the request has not reached the server.
    """

    def __init__(self, why: str, *, untouched: bool = False) -> None:
        super().__init__(why)
        self.untouched = untouched


@dataclass(frozen=True)
class Listed:
    """What a server says of itself. `tools` are the adapters': names, descriptions, schemas."""

    name: str
    version: str
    instructions: str
    tools: tuple[BaseTool, ...]


class McpServer:
    """A server that tools share. It belongs to no event loop; `open` and `close` block.

    After `close` the next call opens it again, as for models' connections.
    """

    def __init__(self, server: Server, keys: Keys = NO_KEYS) -> None:
        """`keys`: a server with an address gets its own."""
        self.server, self._keys = server, keys
        self._opening = asyncio.Lock()
        self._current: list[_Conversation] = []
        weakref.finalize(self, _let_go, self._current).atexit = False

    def open(self) -> Listed:
        """Start or find it, and list its tools. Raises a one-line InputError."""
        asked = _submit(self._listed())
        try:
            return asked.result()
        except KeyboardInterrupt:
            asked.cancel()
            raise
        except Exception as error:  # noqa: BLE001 - the SDK's and the transport's, of any kind
            why = str(error) if isinstance(error, LostError) else fault(error)
        raise InputError(
            f"the MCP server cannot be used: {why}",
            where=self.server.place,
            remedy="start it, and check its address"
            if self.server.url
            else "check the command by running it in a terminal",
        )

    async def call(self, name: str, arguments: Mapping[str, Any]) -> CallToolResult:
        """Call a tool. Raises LostError if the server is gone, and what the SDK raises.

        A server that was gone before the call is reopened at once; one that goes during the call,
        at the next call.
        """
        return await asyncio.wrap_future(_submit(self._call(name, arguments)))

    def close(self) -> None:
        """End the conversation."""
        _submit(_close(self._current)).result()

    async def _listed(self) -> Listed:
        conversation = await self._conversation()
        try:
            async with asyncio.timeout(START_SECONDS):
                tools = await load_mcp_tools(await conversation.use())
        except BaseException as error:
            await _close(self._current)
            if isinstance(error, TimeoutError):
                raise LostError("it does not list its tools") from None
            raise
        hello = conversation.hello
        return Listed(
            short_line(hello.serverInfo.name),
            short_line(hello.serverInfo.version),
            storable(hello.instructions or ""),
            tuple(tools[: MAX_TOOLS + 1]),
        )

    async def _call(self, name: str, arguments: Mapping[str, Any]) -> CallToolResult:
        for last in (False, True):
            conversation = await self._conversation()
            try:
                return await conversation.call(name, arguments)
            except LostError as error:
                if conversation in self._current:
                    await _close(self._current)
                if last or not error.untouched:
                    raise
        raise AssertionError("the second attempt returns or raises")

    async def _conversation(self) -> "_Conversation":
        async with self._opening:
            if not self._current:
                conversation = _Conversation(self.server, self._keys)
                await conversation.open()
                self._current.append(conversation)
            return self._current[0]


async def _close(current: "list[_Conversation]") -> None:
    while current:
        await current.pop().close()


def _let_go(current: "list[_Conversation]") -> None:
    """Its tools are no longer used. Does not wait: this may run in the servers' own thread."""
    if current:
        _submit(_close(current))


class _Conversation:
    """One conversation. The SDK requires one task to open and close it; any task may call."""

    hello: InitializeResult

    def __init__(self, server: Server, keys: Keys) -> None:
        self._server, self._keys = server, keys
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - `close` does
        self._ready: asyncio.Future[ClientSession] = asyncio.get_running_loop().create_future()
        self._end = asyncio.Event()
        self._nonsense: Exception | None = None
        self._doubtful = False
        self._task = asyncio.ensure_future(self._live())
        _open.add(self)

    async def open(self) -> None:
        """Wait until the server is ready. Raises LostError; nothing is left open then."""
        waiting: set[asyncio.Future[Any]] = {self._ready, self._task}
        try:
            await asyncio.wait(waiting, timeout=START_SECONDS, return_when="FIRST_COMPLETED")
            why = "" if self._ready.done() else self._why_not()
        except asyncio.CancelledError:
            await self.close()
            raise
        if why:
            await self.close()
            raise LostError(why)

    async def use(self) -> ClientSession:
        """The SDK's session. Raises LostError unless it is open, and the server responds if it did
        not before."""
        if self._task.done() or self._end.is_set():
            raise LostError("it has ended", untouched=True)
        session = await self._ready
        if self._doubtful:
            if not await _responds(session, PING_SECONDS):
                raise LostError("it does not answer any more", untouched=True)
            self._doubtful = False
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
                    # Only a request shows that a server has ended; the SDK then ends our task.
                    ping = asyncio.ensure_future(_responds(session, _WATCH_SECONDS))
                    await asyncio.wait([ping, self._task], return_when="FIRST_COMPLETED")
                    ping.cancel()
            if not call.done():
                call.cancel()
                raise LostError(self._ended())
            return call.result()
        except asyncio.CancelledError:
            self._doubtful = True
            call.cancel()
            await _tell_cancelled(session, number)
            raise
        except McpError as error:
            if error.error.code not in (_CLOSED, _UNKNOWN_SESSION):
                raise
            untouched = error.error.code == _UNKNOWN_SESSION
            raise LostError(self._ended(), untouched=untouched) from None
        except OSError:
            raise LostError(self._ended()) from None
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream):
            raise LostError(self._ended(), untouched=True) from None  # nothing was written

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
        async with _session(self._server, self._keys, self._errors, self._heard) as session:
            self.hello = await session.initialize()
            self._ready.set_result(session)
            await self._end.wait()

    async def _heard(self, message: object) -> None:
        """A program may print a line of its own before it speaks the protocol."""
        if isinstance(message, Exception) and not self._nonsense and not self._ready.done():
            self._nonsense = message
            asyncio.get_running_loop().call_later(AFTER_NONSENSE_SECONDS, self._give_up)

    def _give_up(self) -> None:
        if not self._ready.done():
            self._task.cancel()

    def _why_not(self) -> str:
        if not self._task.done():
            return f"it was not ready within {START_SECONDS:g} seconds"
        if self._nonsense is not None:
            said = str(self._nonsense).split("input_value=")[-1].split(", input_type")[0]
            return f"it does not speak MCP: {short_line(said)}"
        return self._ended()

    def _ended(self) -> str:
        error: BaseException | None = None
        if self._task.done() and not self._task.cancelled():
            error = self._task.exception()
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        if error is not None and not isinstance(error, McpError | anyio.BrokenResourceError):
            said, url = fault(error), self._server.url
            return short_line(said.replace(url, self._server.place) if url else said)
        if self._errors.closed:  # another call that was lost has ended the conversation
            return "it has ended"
        size = os.fstat(self._errors.fileno()).st_size
        tail = os.pread(self._errors.fileno(), _TAIL_BYTES, max(size - _TAIL_BYTES, 0))
        words = [line for line in tail.decode("utf-8", "replace").splitlines() if line.strip()]
        return f"it has ended; its last words: {short_line(words[-1])}" if words else "it has ended"


@contextlib.asynccontextmanager
async def _session(
    server: Server, keys: Keys, errors: IO[str], heard: Any
) -> AsyncIterator[ClientSession]:
    """A session that is connected but not yet initialised.

    A program gets none of our keys and ends with the conversation; an address gets its own key.
    """
    ourselves = Implementation(name="branchwise", version=version("branchwise"))
    settings = {"message_handler": heard, "client_info": ourselves}
    if server.url:
        connection = StreamableHttpConnection(
            transport="streamable_http",
            url=server.url,
            session_kwargs=settings,
            httpx_client_factory=partial(_client, server.url, keys),
        )
        async with create_session(connection) as session:
            yield session
        return
    words = ["-c", _WITH_ITS_GROUP, "sh", *server.command]
    program = StdioServerParameters(command="sh", args=words, encoding_error_handler="replace")
    async with (
        stdio_client(program, errors) as streams,  # type: ignore[arg-type] # asks for a TextIO
        ClientSession(*streams, **settings) as session,
    ):
        yield session


def _client(
    url: str,
    keys: Keys,
    headers: dict[str, str] | None = None,
    timeout: httpx.Timeout | None = None,
    auth: httpx.Auth | None = None,
) -> httpx.AsyncClient:
    """The SDK's own client, which sends the key to the server and to no other address."""

    async def guard(request: httpx.Request) -> None:
        if Origin.of(str(request.url)) != Origin.of(url):
            raise httpx.UnsupportedProtocol("it redirects to another server, which is not followed")
        if key := keys.key(url):
            request.headers["Authorization"] = f"Bearer {key}"

    client = create_mcp_http_client(headers, timeout, auth)
    client.event_hooks = {"request": [guard]}
    return client


async def _responds(session: ClientSession, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await session.send_ping()
    except asyncio.CancelledError:
        raise
    except Exception:  # noqa: BLE001 - whatever it is, it does not answer
        return False
    return True


async def _tell_cancelled(session: ClientSession, number: object) -> None:
    """Tell the server that the caller has given up, so that it can stop its work."""
    if not isinstance(number, int):
        return
    params = CancelledNotificationParams(requestId=number, reason="the caller's time is over")
    note = CancelledNotification(method="notifications/cancelled", params=params)
    with contextlib.suppress(Exception):
        async with asyncio.timeout(1.0):
            await session.send_notification(ClientNotification(note))
