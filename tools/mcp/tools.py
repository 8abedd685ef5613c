"""Tools of MCP servers as an agent's tools, and the servers' responses as the tools' results.

Import lazily: it needs the extra `mcp`.
"""

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson
from langchain_core.tools import BaseTool
from langchain_core.tools.base import ArgsSchema
from mcp import McpError
from mcp.types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
)
from pydantic import SkipValidation, ValidationError

from branchwise.corpora.errors import InputError
from branchwise.corpora.plugins.faults import WrongResult, fault_line
from branchwise.corpora.plugins.mcp_specs import McpSpec
from branchwise.corpora.plugins.sources import PluginSource
from branchwise.corpora.text import one_line, storable
from branchwise.tools.mcp.client import (
    MAX_TOOLS,
    Listed,
    LostError,
    McpServer,
    fault,
    short_line,
)
from branchwise.tools.plugin_tools import PluggedTool, PluginResult, failed
from branchwise.tools.tool_results import bounded, read_artifact


def read_call(name: str, result: CallToolResult) -> PluginResult:
    """The result of tool `name`: its text, its structured content as the artifact."""
    text = bounded("\n".join(_said(result.content)))
    if result.isError:
        told = text or "it failed, and says no more"
        return PluginResult(f"Error: {told}", {}, bounded(one_line(f"{name}: {told}")), "failed")
    structured = result.structuredContent
    # The SDK's own servers repeat a text under this key.
    artifact = {} if structured == {"result": text} else _artifact(structured)
    return PluginResult(text or "(nothing)", artifact)


def _said(content: Iterable[ContentBlock]) -> Iterable[str]:
    for block in content:
        if isinstance(block, TextContent):
            yield block.text
        elif isinstance(block, ImageContent | AudioContent):
            kind = "image" if isinstance(block, ImageContent) else "audio"
            yield f"[left out: {kind}, {short_line(block.mimeType)}, {_bytes(block.data)}]"
        elif isinstance(block, ResourceLink):
            about = f": {short_line(block.description)}" if block.description else ""
            yield f"[resource {short_line(str(block.uri))}, {short_line(block.name)}{about}]"
        elif isinstance(block, EmbeddedResource):
            resource = block.resource
            about = short_line(str(resource.uri))
            about += f", {short_line(resource.mimeType)}" if resource.mimeType else ""
            if isinstance(resource, BlobResourceContents):
                yield f"[left out: resource {about}, {_bytes(resource.blob)}]"
            else:
                yield f"[resource {about}]\n{resource.text}"


def _bytes(base64: str) -> str:
    return f"{len(base64) * 3 // 4} bytes"


def _artifact(structured: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Structured content with parts of our artifacts (as `branchwise serve mcp` sends them) is
    evidence; any other is kept under `structured`, unless it is too large."""
    if not structured:
        return {}
    try:
        return read_artifact(structured)
    except WrongResult:
        pass
    try:
        return read_artifact({"structured": structured})
    except WrongResult:
        return {}


CALL_SECONDS = 120.0
MAX_SECTION_CHARS = 4000
MAX_DESCRIPTION_BYTES = 64 * 1024
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class McpTool(PluggedTool):
    """One tool of a server. Its identity is the server's name and version and its own schema."""

    server: SkipValidation[McpServer]

    @property
    def tool_call_schema(self) -> ArgsSchema:
        """The server's own JSON schema, unchanged."""
        assert isinstance(self.args_schema, dict)
        return {**self.args_schema, "description": self.description}

    async def call(
        self, arguments: Mapping[str, Any], seconds: float, call_id: str = ""
    ) -> PluginResult:
        """Call it on the server; a call that takes too long is also cancelled there."""
        limit = self.limit(seconds)
        try:
            async with asyncio.timeout(limit) as over:
                result = await self.server.call(self.name, _whole(arguments))
            return read_call(self.name, result)
        except LostError as error:
            return failed(f"{self.name}: the MCP server is gone: {error}; ask again")
        except McpError as error:
            return failed(f"{self.name}: {fault_line(error).removeprefix('McpError: ')}")
        except Exception as error:  # noqa: BLE001 - the SDK's and the transport's, of any kind
            if isinstance(error, TimeoutError) and over.expired():
                return failed(f"{self.name}: no result within {limit:g} seconds (cancelled)")
            line = fault(error) if isinstance(error, ValidationError) else fault_line(error)
            return failed(f"{self.name}: {line}")


def _whole(value: Any) -> Any:
    """The same without lone surrogates, which the protocol cannot carry."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, Mapping):
        return {_whole(key): _whole(inner) for key, inner in value.items()}
    return [_whole(inner) for inner in value] if isinstance(value, list) else value


def mcp_tools(server: McpServer, specs: Sequence[McpSpec]) -> dict[McpSpec, list[McpTool]]:
    """Open a server; returns, by spec, the tools that it names.

    Raises InputError, with the server closed, if the server cannot be used, lacks the tool, or has
    one that cannot be described to a model.
    """
    listed = server.open()
    try:
        found = {spec: _chosen(spec, listed) for spec in specs}
        chosen = {one.name: one for some in found.values() for one in some}
        tools = {name: _tool(one, server, listed) for name, one in chosen.items()}
        return {spec: [tools[one.name] for one in some] for spec, some in found.items()}
    except BaseException:
        server.close()
        raise


def _chosen(spec: McpSpec, listed: Listed) -> list[BaseTool]:
    names = [tool.name for tool in listed.tools]
    place = spec.server.place
    if spec.tool:
        one = [tool for tool in listed.tools if tool.name == spec.tool][:1]
        if not one:
            known = storable(", ".join(names[:20]))[:500] or "none"
            raise InputError(
                f"the MCP server has no tool {spec.tool!r}", where=place, remedy=f"it has {known}"
            )
        return one
    if not names or len(names) > MAX_TOOLS:
        count = "no tools" if not names else f"more than {MAX_TOOLS} tools"
        raise InputError(
            f"the MCP server has {count}",
            where=place,
            remedy="name those that you mean with #NAME at its end",
        )
    if twice := {name for name in names if names.count(name) > 1}:
        raise InputError(
            f"the MCP server has the tool {storable(min(twice))!r} twice",
            where=place,
            remedy="rename one of them in the server",
        )
    return list(listed.tools)


def _tool(one: BaseTool, server: McpServer, listed: Listed) -> McpTool:
    _check(one, server.server.place)
    return McpTool(
        name=one.name,
        description=storable(one.description),
        args_schema=_whole(one.args_schema),
        response_format="content_and_artifact",
        server=server,
        seconds=CALL_SECONDS,
        section=listed.instructions[:MAX_SECTION_CHARS],
        source=PluginSource(server.server.place, {}, f"{listed.name}=={listed.version}"),
    )


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
