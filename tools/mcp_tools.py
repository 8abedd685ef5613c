"""Tools of MCP servers as an agent's tools, and the servers' responses as the tools' results.

Import lazily: it needs the extra `mcp`.
"""

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from langchain_core.tools import BaseTool
from mcp import types
from pydantic import SkipValidation

from branchwise.base.errors import InputError
from branchwise.base.plugins.sources import PluginSource
from branchwise.base.plugins.specs import McpSpec
from branchwise.base.text import one_line, storable
from branchwise.tools.mcp_client import LostError, McpServer, fault, short_line
from branchwise.tools.plugin_tools import PluggedTool, PluginResult, failed
from branchwise.tools.tool_results import bounded, kept_artifact

CALL_SECONDS = 120.0
MAX_TOOLS = 128
MAX_SECTION_CHARS = 4000
MAX_DESCRIPTION_BYTES = 64 * 1024
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class McpTool(PluggedTool):
    """One tool of a server. Its identity is the server's name and version and its own schema. It
    is called here: the adapters' conversion hands pictures to the model, raises on sound and loses
    arguments called `config` or `runtime`."""

    server: SkipValidation[McpServer]

    async def call(
        self, arguments: Mapping[str, Any], seconds: float, call_id: str = ""
    ) -> PluginResult:
        """Call it on the server; a call that takes too long is also cancelled there."""
        limit = self.limit(seconds)
        try:
            async with asyncio.timeout(limit) as over:
                result = await self.server.call(self.name, _whole(arguments))
            return _read(self.name, result)
        except LostError as error:
            return failed(f"{self.name}: the MCP server is gone: {error}; ask again")
        except Exception as error:  # noqa: BLE001 - the SDK's and the transport's, of any kind
            if isinstance(error, TimeoutError) and over.expired():
                return failed(f"{self.name}: no result within {limit:g} seconds (cancelled)")
            return failed(f"{self.name}: {fault(error)}")


def _whole(value: Any) -> Any:
    """The same without lone surrogates, which the protocol cannot carry."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, Mapping):
        return {_whole(key): _whole(inner) for key, inner in value.items()}
    return [_whole(inner) for inner in value] if isinstance(value, list) else value


def _read(name: str, result: types.CallToolResult) -> PluginResult:
    """The result of tool `name`: its text, and its structured content as the artifact."""
    whole = "\n".join(map(_shown, result.content))
    text = bounded(whole)
    if result.isError:
        text = text or "it failed, and says no more"
        return PluginResult(f"Error: {text}", {}, bounded(one_line(f"{name}: {text}")), "failed")
    structured = result.structuredContent or {}
    # The SDK's own servers repeat a text under this key.
    # Parts of our artifacts (as `branchwise serve mcp` sends them) are evidence.
    artifact = {} if structured == {"result": whole} else kept_artifact(structured, "structured")
    return PluginResult(text or "(nothing)", artifact)


def _shown(block: types.ContentBlock) -> str:
    """What a model reads of it; models of text cannot use the rest."""
    if isinstance(block, types.TextContent):
        return block.text
    if isinstance(block, types.ImageContent | types.AudioContent):
        size = len(block.data) * 3 // 4
        return f"[left out: {block.type}, {short_line(block.mimeType)}, {size} bytes]"
    if isinstance(block, types.ResourceLink):
        about = f", {block.name}" + (f": {block.description}" if block.description else "")
        return f"[resource {short_line(f'{block.uri}{about}')}]"
    resource = block.resource
    about = short_line(", ".join(filter(None, (str(resource.uri), resource.mimeType))))
    if isinstance(resource, types.BlobResourceContents):
        return f"[left out: resource {about}, {len(resource.blob) * 3 // 4} bytes]"
    return f"[resource {about}]\n{resource.text}"


def mcp_tools(server: McpServer, specs: Sequence[McpSpec]) -> dict[McpSpec, list[McpTool]]:
    """Open a server; returns, by spec, the tools that it names. Raises InputError, with the server
    closed, if it cannot be used, lacks the tool, or has one that cannot be described to a model."""
    hello, listed = server.open()
    about = hello.serverInfo
    distribution = f"{short_line(about.name)}=={short_line(about.version)}"
    source = PluginSource(server.server.place, {}, distribution)
    made: dict[str, McpTool] = {}
    try:
        named = {spec: _named(spec, listed) for spec in specs}
        for tool in {tool.name: tool for tools in named.values() for tool in tools}.values():
            _check(tool, source.place)
            made[tool.name] = McpTool(
                name=tool.name,
                description=storable(tool.description),
                args_schema=_whole(tool.args_schema),
                response_format="content_and_artifact",
                server=server,
                seconds=CALL_SECONDS,
                section=storable(hello.instructions or "")[:MAX_SECTION_CHARS],
                source=source,
            )
        return {spec: [made[tool.name] for tool in tools] for spec, tools in named.items()}
    except BaseException:
        server.close()
        raise


def _named(spec: McpSpec, listed: Sequence[BaseTool]) -> Sequence[BaseTool]:
    names = [tool.name for tool in listed]
    what, remedy = "", "name those that you mean with #NAME at its end"
    if spec.tool:
        listed = [tool for tool in listed if tool.name == spec.tool][:1]
        if not listed:
            known = storable(", ".join(names[:20]))[:500] or "none"
            what, remedy = f"no tool {spec.tool!r}", f"it has {known}"
    elif not names:
        what, remedy = "no tools", "name another server"
    elif len(names) > MAX_TOOLS:
        what = f"more than {MAX_TOOLS} tools"
    elif len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        what = f"the tool {storable(twice)!r} twice"
    if what:
        raise InputError(f"the MCP server has {what}", where=spec.server.place, remedy=remedy)
    return listed


def _check(tool: BaseTool, place: str) -> None:
    """Refuse before the first request what model servers would refuse in every one."""
    problem = ""
    schema = tool.args_schema
    try:
        size = len(orjson.dumps([tool.description, schema]))
    except TypeError:  # numbers of more than 64 bits, half characters, deep nesting
        size = 0
    if storable(tool.name) != tool.name:
        problem = "its name contains a key"
    elif not _NAME.fullmatch(tool.name):
        problem = "its name is not made of 1 to 64 letters, digits, _ and -"
    elif not isinstance(schema, dict) or schema.get("type", "object") != "object":
        problem = "its schema is not that of an object"
    elif not size:
        problem = "its schema contains values that are not portable JSON"
    elif size > MAX_DESCRIPTION_BYTES:
        problem = f"its description and schema are larger than {MAX_DESCRIPTION_BYTES} bytes"
    if problem:
        raise InputError(
            f"the tool {storable(tool.name)[:80]!r} of the MCP server cannot be given to a model: "
            f"{problem}",
            where=place,
            remedy="name the others with #NAME at the server's end",
        )
