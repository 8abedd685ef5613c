"""An MCP server with our tools, over standard input and output or streamable HTTP. Needs mcp."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from importlib.metadata import version
from io import TextIOWrapper
from typing import Any, BinaryIO, cast

import anyio
import mcp.types as types
import orjson
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.types import ASGIApp

from branchwise.base.errors import InputError
from branchwise.base.text import encodable, one_line
from branchwise.tools.tool_results import ToolError
from branchwise.tools.web_server import service

PATH = "/mcp"
MAX_BYTES = 4 * 1024 * 1024
"""Of a request's line or body."""
CALL_SECONDS = 120.0
MAX_TEXT_CHARS = 200_000
MAX_STRUCTURED_BYTES = 256 * 1024
_MAX_ERROR_CHARS = 500


async def call(
    tools: Mapping[str, BaseTool],
    name: str,
    arguments: Mapping[str, Any],
    seconds: float = CALL_SECONDS,
) -> types.CallToolResult:
    """A tool's text, and its artifact as structured content; any failure is an error result.

    The protocol also has errors for failures, but those go to the client; a model reads these.
    """
    if name not in tools:
        return _error(f"there is no tool {name[:80]!r}; the tools are: {', '.join(tools)}")
    request = {"type": "tool_call", "id": "mcp", "name": name, "args": dict(arguments)}
    try:
        async with asyncio.timeout(seconds) as limit:
            message = await tools[name].ainvoke(request)
    except ValidationError as error:
        problems: Sequence[Any] = error.errors(include_url=False, include_input=False)
        parts = (f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in problems)
        return _error(f"bad arguments: {'; '.join(parts)}")
    except ToolError as error:
        return _result(str(error), is_error=True)
    except Exception as error:  # noqa: BLE001 - the other calls of this client go on
        if isinstance(error, TimeoutError) and limit.expired():
            return _error(f"no result within {seconds:.0f} seconds")
        return _error(f"{type(error).__name__}: {error}")
    result = _result(message.text, is_error=message.status == "error")
    if message.artifact and isinstance(message.artifact, Mapping):
        # Left out where it is too large, or not JSON: the text has it too.
        with contextlib.suppress(TypeError):
            body = orjson.dumps(dict(message.artifact))
            if len(body) <= MAX_STRUCTURED_BYTES:
                result.structuredContent = orjson.loads(body)
    return result


def _error(problem: str) -> types.CallToolResult:
    return _result(one_line(problem)[:_MAX_ERROR_CHARS], is_error=True)


def _result(text: str, *, is_error: bool) -> types.CallToolResult:
    if len(text) > MAX_TEXT_CHARS:
        text = f"{text[:MAX_TEXT_CHARS]}\n[cut: {len(text)} characters]"
    content = types.TextContent(type="text", text=encodable(text))
    return types.CallToolResult(content=[content], isError=is_error)


def mcp_server(tools: Sequence[BaseTool], instructions: str | None = None) -> Server[Any, Any]:
    """The server; `instructions` tell a client's model how the tools go together.

    Requests are handled here, not by the SDK's decorators, which would check arguments first and
    report errors in the words of the schema language.
    """
    by_name = {tool.name: tool for tool in tools}
    shown = [convert_to_openai_tool(tool)["function"] for tool in tools]  # as our agents see them
    catalogue = [
        types.Tool(name=f["name"], description=f["description"], inputSchema=f["parameters"])
        for f in shown
    ]
    server: Server[Any, Any] = Server("branchwise", version("branchwise"), instructions)

    async def list_tools(_: types.ListToolsRequest) -> types.ServerResult:
        return types.ServerResult(types.ListToolsResult(tools=catalogue))

    async def call_tool(request: types.CallToolRequest) -> types.ServerResult:
        wanted = request.params
        return types.ServerResult(await call(by_name, wanted.name, wanted.arguments or {}))

    server.request_handlers[types.ListToolsRequest] = list_tools
    server.request_handlers[types.CallToolRequest] = call_tool
    return server


def take_standard_streams() -> tuple[BinaryIO, BinaryIO]:
    """Reserve standard input and output for the protocol; returns the original ones.

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
    return os.fdopen(source, "rb"), os.fdopen(sink, "wb")


async def serve_stdio(server: Server[Any, Any], source: BinaryIO, sink: BinaryIO) -> None:
    """Answer one client until it closes its end."""

    async def lines() -> AsyncIterator[str]:
        # In pieces of bounded size, which the protocol refuses. The SDK's own stream reads in a
        # thread that nothing can stop.
        read = source.readline
        while line := await anyio.to_thread.run_sync(read, MAX_BYTES, abandon_on_cancel=True):
            yield line.decode("utf-8", "replace")

    output = anyio.wrap_file(TextIOWrapper(sink, "utf-8"))
    try:
        async with stdio_server(cast(Any, lines()), output) as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
    except* BrokenPipeError:
        pass  # the client has left


def mcp_app(server: Server[Any, Any], *, only_loopback: bool = True) -> Starlette:
    """The app: the protocol at `/mcp`.

    There are no sessions: our tools remember nothing between calls, a client that vanishes leaves
    nothing behind, and one that stays is not disturbed by a restart.
    """
    sessions = StreamableHTTPSessionManager(
        server, json_response=True, stateless=True, max_request_body_size=MAX_BYTES
    )

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with sessions.run():
            yield

    async def converse(_: Request) -> ASGIApp:
        return sessions.handle_request

    about = {"protocol": f"MCP, streamable HTTP: {PATH}"}
    return service(PATH, converse, about, only_loopback=only_loopback, lifespan=lifespan)
