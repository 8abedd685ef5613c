"""From specs to tools: each server is opened once, and closed with the agent that has its tools."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from branchwise.base.errors import require
from branchwise.base.keys import NO_KEYS, Keys
from branchwise.base.plugins.specs import McpSpec, Server, parse_mcp

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool


def open_mcp_tools(specs: Sequence[str], keys: Keys = NO_KEYS) -> "dict[str, Sequence[BaseTool]]":
    """The tools of each `mcp:` spec, with the servers' conversations open.

    A server with an address gets its own key of `keys`. Several specs of one server share a
    conversation. Raises a one-line InputError if a server cannot be used; then none is left open.
    """
    by_server: dict[Server, dict[str, McpSpec]] = {}
    for text in specs:
        spec = parse_mcp(text)
        by_server.setdefault(spec.server, {})[text] = spec
    if not by_server:
        return {}
    require("mcp", "a tool of an MCP server", "--tool mcp:")
    from branchwise.tools.mcp import client, tools

    opened: dict[str, Sequence[BaseTool]] = {}
    try:
        for server, named in by_server.items():
            of_spec = tools.mcp_tools(client.McpServer(server, keys), list(named.values()))
            opened |= {text: of_spec[spec] for text, spec in named.items()}
    except BaseException:
        close_now(tool for some in opened.values() for tool in some)
        raise
    return opened


def close_now(tools: "Iterable[BaseTool]") -> None:
    """End the conversations of the MCP servers' tools among these; a later call begins another."""
    for server in {getattr(tool, "server", None) for tool in tools}:
        if server is not None:
            server.close()
