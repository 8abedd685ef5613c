"""An MCP server with our tools, for one client over any transport. Needs mcp."""

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import mcp.types as types
from langchain_core.tools import BaseTool
from mcp.server.lowlevel import Server

from branchwise.tools.serving.mcp_calls import call, listed

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
