"""Any LangChain tool, used unchanged and called like a plug-in."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, StructuredTool, Tool
from langchain_core.tools.base import ArgsSchema
from pydantic import SkipValidation, ValidationError

from branchwise.corpora.plugins.faults import WrongResult
from branchwise.corpora.plugins.isolator import PluginFailure, isolator
from branchwise.corpora.plugins.sources import PluginSource
from branchwise.corpora.text import one_line, storable
from branchwise.tools.plugins.plugged import PluggedTool, PluginResult, bad_arguments, told
from branchwise.tools.plugins.results import (
    WHAT_TO_RETURN,
    bounded,
    read_artifact,
)


class ForeignTool(PluggedTool):
    """Shows the model what `inner` shows, and calls it.

    A tool that only has `_run` runs on its own thread, so that a hang can be abandoned.
    """

    inner: SkipValidation[BaseTool]

    @classmethod
    def of(cls, inner: BaseTool, source: PluginSource) -> "ForeignTool":
        """The tool, under its own name and description."""
        return cls(
            name=inner.name,
            description=inner.description,
            args_schema=shown_schema(inner),
            response_format="content_and_artifact",
            inner=inner,
            source=source,
        )

    @property
    def tool_call_schema(self) -> ArgsSchema:
        """The inner tool's: it hides what is injected."""
        if isinstance(self.args_schema, dict):
            return {**self.args_schema, "description": self.description}
        return self.inner.tool_call_schema

    async def call(
        self, arguments: Mapping[str, Any], seconds: float, call_id: str = ""
    ) -> PluginResult:
        """Invoke the tool with a tool call, as a LangChain agent would."""
        request = {
            "type": "tool_call",
            "id": call_id or "call",
            "name": self.name,
            "args": dict(arguments),
        }
        invoke = self.inner.invoke if is_blocking(self.inner) else self.inner.ainvoke
        try:
            called = await isolator(self.name).call(
                invoke, {"input": request}, seconds=self.limit(seconds), read=self._read
            )
        except PluginFailure as failure:
            # A tool's own code may also use pydantic: only errors of its schema are the model's.
            if isinstance(failure.error, ValidationError) and self._is_of_arguments(failure.error):
                return bad_arguments(failure.error)
            return told(failure)
        return replace(called.value, printed=storable(called.printed))

    def _is_of_arguments(self, error: ValidationError) -> bool:
        return error.title in (self.name, getattr(self.inner.args_schema, "__name__", None))

    def _read(self, message: Any) -> PluginResult:
        if not isinstance(message, ToolMessage):
            name = type(message).__name__
            raise WrongResult(f"it returned a value of type {name}; {WHAT_TO_RETURN}")
        text = bounded(_text(message))
        if message.status == "error":
            line = one_line(f"{self.name}: {text}")
            return PluginResult(f"Error: {text}", error=line, failure="failed")
        return PluginResult(text, _artifact(message.artifact))


def shown_schema(tool: BaseTool) -> Any:
    """What becomes `args_schema`; LangChain's plain `Tool` takes one text under a set name."""
    if isinstance(tool, Tool) and not tool.args_schema:
        return {
            "type": "object",
            "properties": {"__arg1": {"type": "string"}},
            "required": ["__arg1"],
        }
    return tool.args_schema


def is_blocking(tool: BaseTool) -> bool:
    """Whether a tool has no asynchronous way to be called."""
    own = type(tool)._arun
    if own is BaseTool._arun:
        return True
    named = isinstance(tool, StructuredTool | Tool) and tool.coroutine is None
    return named and own in (StructuredTool._arun, Tool._arun)


def _text(message: ToolMessage) -> str:
    """Its text, with a note for each picture or file left out."""
    if isinstance(message.content, str):
        return message.content
    blocks = [block for block in message.content if isinstance(block, dict)]
    left_out = [str(block.get("type")) for block in blocks if block.get("type") != "text"]
    notes = [f"[left out: {kind[:40]}]" for kind in left_out]
    return "\n".join(filter(None, [str(message.text), *notes]))


def _artifact(value: Any) -> Mapping[str, Any]:
    """What a tool returns beside its text, kept if JSON can hold it.

    It was not made for our trace: a part whose name means something else there is kept under
    `artifact`.
    """
    if value is None:
        return {}
    for artifact in (value, {"artifact": value}):
        try:
            return read_artifact(artifact)
        except WrongResult:
            continue
    return {}
