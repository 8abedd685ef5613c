"""A conversation with an MCP server, over its standard streams or HTTP. Needs the extra `mcp`."""

import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from importlib.metadata import version
from typing import Any

import httpx
from langchain_mcp_adapters.sessions import StreamableHttpConnection, create_session
from mcp import ClientSession
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.types import Implementation
from pydantic import ValidationError

from branchwise.corpora.files import first_problem
from branchwise.corpora.keys import Keys, Origin
from branchwise.corpora.plugins.mcp_specs import Server
from branchwise.corpora.secrets import without_keys
from branchwise.corpora.text import one_line, printable
from branchwise.tools.mcp.program import program

_TAIL_BYTES = 4096


class ErrorOutput:
    """The end of what a program writes to standard error, which is read and not shown."""

    def __init__(self) -> None:
        reading, writing = os.pipe()
        self.writing = os.fdopen(writing, "w")
        self._tail = b""
        self._thread = threading.Thread(
            target=self._read, args=(reading,), name="MCP server's errors", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Close our side; the program has its own."""
        self.writing.close()

    def last_line(self) -> str:
        """Its last line, printable; "" where it wrote none."""
        self._thread.join(0.2)  # what a program that has ended wrote is on its way
        lines = [
            line for line in self._tail.decode("utf-8", "replace").splitlines() if line.strip()
        ]
        return short_line(lines[-1]) if lines else ""

    def _read(self, reading: int) -> None:
        with os.fdopen(reading, "rb", buffering=0) as source:
            while chunk := source.read(65536):
                self._tail = (self._tail + chunk)[-_TAIL_BYTES:]


def short_line(text: str) -> str:
    """On one line, short, without keys and what a terminal would obey."""
    return printable(one_line(without_keys(text))[:300], "?")


def fault(error: BaseException) -> str:
    """What is wrong, in a line; of what is not as the protocol has it, where."""
    if isinstance(error, ValidationError):
        return printable(f"its answer is not MCP's ({error.title}: {first_problem(error)})")
    return printable(f"{type(error).__name__}: {error}")


@asynccontextmanager
async def conversation(
    server: Server, errors: ErrorOutput, heard: Callable[[Exception], None], keys: Keys
) -> AsyncIterator[ClientSession]:
    """A session that is connected and not yet initialised.

    A program gets none of our keys, and ends with the conversation; an address gets its own.
    `heard` is told of what is no message of the protocol.
    """

    async def on_message(message: object) -> None:
        if isinstance(message, Exception):
            heard(message)

    settings = _session_settings(on_message)
    if server.url:
        errors.close()
        connection = StreamableHttpConnection(
            transport="streamable_http",
            url=server.url,
            session_kwargs=settings,
            httpx_client_factory=partial(_client, server.url, keys),
        )
        async with create_session(connection) as session:
            yield session
        return
    try:
        async with (
            program(server.command, errors.writing) as streams,
            ClientSession(*streams, **settings) as session,
        ):
            errors.close()
            yield session
    finally:
        errors.close()


def _client(
    url: str,
    keys: Keys,
    headers: dict[str, str] | None = None,
    timeout: httpx.Timeout | None = None,
    auth: httpx.Auth | None = None,
) -> httpx.AsyncClient:
    """The SDK's own client, which gives the server its key, and no other address anything."""

    async def guard(request: httpx.Request) -> None:
        if Origin.of(str(request.url)) != Origin.of(url):
            raise httpx.UnsupportedProtocol("it redirects to another server, which is not followed")
        if key := keys.key(url):
            request.headers["Authorization"] = f"Bearer {key}"

    client = create_mcp_http_client(headers, timeout, auth)
    client.event_hooks = {"request": [guard]}
    return client


def _session_settings(on_message: Callable[[object], Awaitable[None]]) -> dict[str, Any]:
    ourselves = Implementation(name="branchwise", version=version("branchwise"))
    return {"message_handler": on_message, "client_info": ourselves}
