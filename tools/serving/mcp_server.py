"""An MCP server with our tools, for one client over any transport. Needs mcp."""

import asyncio
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import mcp.types as types
import orjson
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from mcp.server.lowlevel import Server
from pydantic import ValidationError

from branchwise.corpora.text import encodable
from branchwise.tools.errors import ToolError

CALL_SECONDS = 120.0
MAX_TEXT_CHARS = 200_000
MAX_STRUCTURED_BYTES = 256 * 1024
_MAX_ERROR_CHARS = 500


def listed(tool: BaseTool) -> types.Tool:
    """The tool with the description and the schema that our own agents see."""
    function = convert_to_openai_tool(tool)["function"]
    return types.Tool(
        name=function["name"],
        description=function["description"],
        inputSchema=function["parameters"],
    )


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
        return _error(_bad_arguments(error))
    except ToolError as error:
        return _error(str(error), one_line=False)
    except Exception as error:  # noqa: BLE001 - the other calls of this client go on
        if isinstance(error, TimeoutError) and limit.expired():
            return _error(f"no result within {seconds:.0f} seconds")
        return _error(f"{type(error).__name__}: {error}")
    return _result(message)


def _result(message: ToolMessage) -> types.CallToolResult:
    return types.CallToolResult(
        content=_text(_bounded(message.text)),
        structuredContent=_structured(message.artifact),
        isError=message.status == "error",
    )


def _structured(artifact: object) -> dict[str, Any] | None:
    """The artifact as plain JSON, None if it is not an object or too large: the text has it too."""
    if not isinstance(artifact, Mapping) or not artifact:
        return None
    try:
        body = orjson.dumps(dict(artifact))
    except TypeError:
        return None
    return orjson.loads(body) if len(body) <= MAX_STRUCTURED_BYTES else None


def _bad_arguments(error: ValidationError) -> str:
    problems: Sequence[Any] = error.errors(include_url=False, include_input=False)
    said = (f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in problems)
    return f"bad arguments: {'; '.join(said)}"


def _error(problem: str, *, one_line: bool = True) -> types.CallToolResult:
    said = " ".join(problem.split())[:_MAX_ERROR_CHARS] if one_line else _bounded(problem)
    return types.CallToolResult(content=_text(said), isError=True)


def _text(text: str) -> list[types.ContentBlock]:
    return [types.TextContent(type="text", text=encodable(text))]


def _bounded(text: str) -> str:
    if len(text) <= MAX_TEXT_CHARS:
        return text
    return f"{text[:MAX_TEXT_CHARS]}\n[cut: {len(text)} characters]"


NAME = "branchwise"


def mcp_server(tools: Sequence[BaseTool], instructions: str | None = None) -> Server[Any, Any]:
    """The server; `instructions` tell a client's model how the tools go together.

    Requests are handled here, not by the SDK's decorators, which would check arguments first and
    report errors in the words of the schema language.
    """
    by_name = {tool.name: tool for tool in tools}
    catalogue = types.ListToolsResult(tools=[listed(tool) for tool in tools])
    server: Server[Any, Any] = Server(NAME, version("branchwise"), instructions)

    async def list_tools(_: types.ListToolsRequest) -> types.ServerResult:
        return types.ServerResult(catalogue)

    async def call_tool(request: types.CallToolRequest) -> types.ServerResult:
        wanted = request.params
        return types.ServerResult(await call(by_name, wanted.name, wanted.arguments or {}))

    server.request_handlers[types.ListToolsRequest] = list_tools
    server.request_handlers[types.CallToolRequest] = call_tool
    return server
