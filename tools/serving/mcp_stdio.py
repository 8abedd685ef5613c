"""MCP over standard input and output, which then carry only the protocol. Needs mcp."""

import asyncio
import os
import signal
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from branchwise.corpora.errors import InputError

MAX_LINE_BYTES = 4 * 1024 * 1024
_WAITING_LINES = 64


@dataclass(frozen=True)
class ProtocolStreams:
    """The original standard streams."""

    source: BinaryIO
    sink: BinaryIO


def take_standard_streams() -> ProtocolStreams:
    """Reserve standard input and output for the protocol.

    What libraries or child processes print goes to standard error from now on, and their input is
    empty: a single stray line would end the conversation. Raises InputError.
    """
    try:
        source, sink = os.dup(0), os.dup(1)
    except OSError:
        raise InputError(
            "standard input or output is closed",
            where="serve mcp",
            remedy="let an MCP client start it, or add --http PORT",
        ) from None
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return ProtocolStreams(os.fdopen(source, "rb"), os.fdopen(sink, "wb"))


def serve_stdio(server: Server[Any, Any], streams: ProtocolStreams) -> None:
    """Answer one client until it closes its end, or until SIGINT or SIGTERM."""
    asyncio.run(_serve(server, streams))


async def _serve(server: Server[Any, Any], streams: ProtocolStreams) -> None:
    loop, conversation = asyncio.get_running_loop(), asyncio.current_task()
    assert conversation is not None
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, conversation.cancel)
    lines, output = _Lines(streams.source), _Output(streams.sink)
    options = server.create_initialization_options()
    try:
        # The SDK's own streams read in threads that nothing can stop; it asks for no more of them
        # than these have.
        async with stdio_server(cast(Any, lines), cast(Any, output)) as (incoming, outgoing):
            await server.run(incoming, outgoing, options)
    except* (asyncio.CancelledError, BrokenPipeError):
        pass  # ended by the user or the client


class _Lines:
    """The lines of a stream, read by a thread that ends with the process at the latest."""

    def __init__(self, source: BinaryIO) -> None:
        self._source = source

    async def __aiter__(self) -> AsyncIterator[str]:
        queue: asyncio.Queue[str | None] = asyncio.Queue(_WAITING_LINES)
        loop = asyncio.get_running_loop()
        threading.Thread(
            target=self._read, args=(queue, loop), name="standard input", daemon=True
        ).start()
        while (line := await queue.get()) is not None:
            yield line

    def _read(self, queue: "asyncio.Queue[str | None]", loop: asyncio.AbstractEventLoop) -> None:
        more = True
        while more:
            line = self._line()
            more = line is not None
            if line is not None and not line.strip():
                continue
            try:
                asyncio.run_coroutine_threadsafe(queue.put(line), loop).result()
            except RuntimeError:  # the loop has ended, and with it the conversation
                return

    def _line(self) -> str | None:
        """The next line, None at the end; an invalid line in place of one that is too long."""
        try:
            line = self._source.readline(MAX_LINE_BYTES)
            if len(line) < MAX_LINE_BYTES or line.endswith(b"\n"):
                return line.decode("utf-8", "replace") if line else None
            while (rest := self._source.readline(MAX_LINE_BYTES)) and not rest.endswith(b"\n"):
                pass
        except OSError:
            return None
        return "(too long)"


class _Output:
    """Writes lines in a thread, so that a client that does not read blocks only itself."""

    def __init__(self, sink: BinaryIO) -> None:
        self._sink = sink
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="standard output")

    async def write(self, text: str) -> None:
        """Write and send on."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._thread, self._write, text.encode())

    async def flush(self) -> None:
        """Nothing is left: `write` sends on."""

    def _write(self, data: bytes) -> None:
        self._sink.write(data)
        self._sink.flush()
