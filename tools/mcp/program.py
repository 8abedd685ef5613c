"""An MCP server as a child process, over its standard streams. Needs the extra `mcp`.

The SDK's own client reads without a bound, and copies what a line has so far with every piece of
it: ten megabytes take it seconds in which no other thread runs.
"""

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TextIO

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCMessage
from pydantic import ValidationError

MAX_LINE_BYTES = 32 * 1024 * 1024
_PATIENCE = 2.0
_WATCH = 'read -r _; sleep "$2"; kill -TERM "-$1" && sleep "$2" && kill -KILL "-$1"'
"""What `_end` does, for a process that is killed before it can: its end ends what is read here."""

Incoming = MemoryObjectReceiveStream[SessionMessage | Exception]
Outgoing = MemoryObjectSendStream[SessionMessage]


@asynccontextmanager
async def program(
    command: Sequence[str], errors: TextIO
) -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """Start it, and give the streams that the SDK's session wants; at the end it is ended.

    It gets the few variables that the SDK passes on (PATH, HOME, ...), and leads a process group,
    which ends with it, and with this process, however that ends. Raises OSError where it cannot be
    started.
    """
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=PIPE,
        stdout=PIPE,
        stderr=errors,
        env=get_default_environment(),
        start_new_session=True,
        limit=MAX_LINE_BYTES,
    )
    heard, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, said = anyio.create_memory_object_stream[SessionMessage](0)
    try:
        async with _watched(process.pid), anyio.create_task_group() as tasks:
            tasks.start_soon(_read, process, heard)
            tasks.start_soon(_write, process, said)
            tasks.start_soon(_end_deaf, process)
            yield incoming, outgoing
            tasks.cancel_scope.cancel()
    finally:
        for stream in (heard, incoming, outgoing, said):
            stream.close()
        with anyio.CancelScope(shield=True):
            await _end(process)


@asynccontextmanager
async def _watched(group: int) -> AsyncIterator[None]:
    """A shell that waits for the end of this process, and then ends the group.

    Many programs go on when their input has ended, and each killed run would leave one behind.
    """
    watcher = await asyncio.create_subprocess_exec(
        *("sh", "-c", _WATCH, "sh", str(group), str(_PATIENCE)),
        stdin=PIPE,
        stdout=DEVNULL,
        stderr=DEVNULL,
        start_new_session=True,
    )
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            watcher.kill()
        with anyio.CancelScope(shield=True):
            await watcher.wait()


async def _read(
    process: Process, heard: MemoryObjectSendStream[SessionMessage | Exception]
) -> None:
    source = process.stdout
    assert source is not None
    async with heard:
        while line := await _line(source):
            if line.isspace():
                continue
            try:
                text = line.decode("utf-8", "replace").rstrip("\r\n")
                message = JSONRPCMessage.model_validate_json(text)
            except ValidationError as error:
                await heard.send(error)
                continue
            await heard.send(SessionMessage(message))


async def _line(source: asyncio.StreamReader) -> bytes:
    try:
        return await source.readline()
    except ValueError:
        raise ConnectionError(f"it wrote a line of more than {MAX_LINE_BYTES} bytes") from None


async def _write(process: Process, said: MemoryObjectReceiveStream[SessionMessage]) -> None:
    sink = process.stdin
    assert sink is not None
    async with said:
        async for message in said:
            body = message.message.model_dump_json(by_alias=True, exclude_none=True)
            sink.write(body.encode() + b"\n")
            try:
                await sink.drain()
            except ConnectionError:
                return


async def _end_deaf(process: Process) -> None:
    """A program whose input is closed has ended, or is to end: `_read` then sees that."""
    assert process.stdin is not None
    with contextlib.suppress(ConnectionError):
        await process.stdin.wait_closed()
    with contextlib.suppress(ProcessLookupError):
        process.terminate()


async def _end(process: Process) -> None:
    """As the protocol says: its input ends, then it is asked to end, then killed with its group."""
    assert process.stdin is not None
    process.stdin.close()
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE):
                await process.wait()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            # Also where it has ended by itself: what it started belongs to it.
            os.killpg(process.pid, number)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_PATIENCE):
            await process.wait()
