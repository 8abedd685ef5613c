"""An MCP server's response as a tool's result: text, and an artifact for the trace."""

from collections.abc import Iterable, Mapping
from typing import Any

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

from branchwise.corpora.plugins.faults import WrongResult
from branchwise.tools.mcp.transport import short_line
from branchwise.tools.plugins.plugged import PluginResult
from branchwise.tools.plugins.results import bounded, read_artifact


def read_call(name: str, result: CallToolResult) -> PluginResult:
    """The result of tool `name`: its text, its structured content as the artifact."""
    text = bounded("\n".join(_said(result.content)))
    if result.isError:
        told = text or "it failed, and says no more"
        return PluginResult(
            f"Error: {told}", {}, "", bounded(" ".join(f"{name}: {told}".split())), "failed"
        )
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
            yield from _resource(block)


def _resource(block: EmbeddedResource) -> Iterable[str]:
    resource = block.resource
    kind = f", {short_line(resource.mimeType)}" if resource.mimeType else ""
    if isinstance(resource, BlobResourceContents):
        yield f"[left out: resource {short_line(str(resource.uri))}{kind}, {_bytes(resource.blob)}]"
    else:
        yield f"[resource {short_line(str(resource.uri))}{kind}]\n{resource.text}"


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
