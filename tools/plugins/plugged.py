"""A plug-in's tool as the harness binds it to a model and calls it."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal

from langchain_core.tools import BaseTool
from pydantic import SkipValidation, ValidationError

from branchwise.corpora.plugins.injection import Filled
from branchwise.corpora.plugins.isolator import PluginFailure, isolator
from branchwise.corpora.plugins.sources import PluginSource
from branchwise.corpora.text import one_line, storable
from branchwise.tools.errors import ToolError
from branchwise.tools.plugins.declared import Render, ToolPlugin
from branchwise.tools.plugins.results import read_result

RENDERED = "rendered"
"""The key of the artifact that holds the lines."""
SECONDS = 5.0
MAX_LINES, MAX_CHARS = 1000, 20_000


async def rendered(
    render: Render,
    name: str,
    arguments: Mapping[str, Any],
    content: str,
    artifact: Mapping[str, Any],
) -> list[str]:
    """The lines that a renderer shows for a call, bounded; if it fails, one line that says so."""

    def lines(arguments: Any, content: str, artifact: Any) -> str:
        shown = render(arguments, content, artifact)
        parts = [shown] if isinstance(shown, str) else islice(shown, MAX_LINES)
        return "\n".join(map(str, parts))

    given = {"arguments": dict(arguments), "content": content, "artifact": dict(artifact)}
    try:
        called = await isolator(f"the renderer of {name}").call(
            lines, given, seconds=SECONDS, read=str
        )
    except PluginFailure as failure:
        return [storable(failure.line)]
    text = called.value
    shown = storable(text)[:MAX_CHARS].splitlines()[:MAX_LINES]
    return [*shown, f"[cut: {len(text)} characters]"] if len(text) > MAX_CHARS else shown


MAX_SECONDS = 600.0
"""The limit outside a run, if the plug-in has none."""


@dataclass(frozen=True)
class PluginResult:
    """The result of a call. `error`: one line, or None; `failure`: whose fault it is.

    `content` is what the model reads, also for an error.
    """

    content: str
    artifact: Mapping[str, Any] = field(default_factory=dict)
    printed: str = ""
    error: str | None = None
    failure: Literal["arguments", "failed"] | None = None


def failed(
    line: str, printed: str = "", failure: Literal["arguments", "failed"] = "failed"
) -> PluginResult:
    """A failed call, because of `line`."""
    return PluginResult(f"Error: {line}", {}, printed, line, failure)


class PluggedTool(BaseTool):
    """A tool made of foreign code: called with care, and part of the system by its source.

    Everything except `call` is LangChain's, so that it can be bound and invoked like any tool.
    """

    source: SkipValidation[PluginSource]
    section: str = ""
    seconds: float | None = None
    render: SkipValidation[Render | None] = None

    @abstractmethod
    async def call(
        self, arguments: Mapping[str, Any], seconds: float, call_id: str = ""
    ) -> PluginResult:
        """Call with a model's arguments, for at most `seconds`. Raises nothing but cancellation."""

    @property
    def plugin_identity(self) -> Mapping[str, Any]:
        """What answers depend on apart from the schema: JSON-serialisable, free of paths."""
        return {**self.source.identity, "section": self.section, "seconds": self.seconds}

    def limit(self, seconds: float) -> float:
        """Seconds that a call may take if `seconds` are left."""
        return seconds if self.seconds is None else min(self.seconds, seconds)

    def _run(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError("plug-ins run in an event loop: use ainvoke")

    async def _arun(self, **arguments: Any) -> tuple[str, Mapping[str, Any]]:
        """For callers that know only LangChain's tools. Raises ToolError."""
        result = await self.call(arguments, MAX_SECONDS)
        if result.error is not None:
            raise ToolError(result.content.removeprefix("Error: "))
        return result.content, result.artifact


def plugin_sections(tools: Sequence[BaseTool]) -> list[str]:
    """What the plug-ins among the tools add to the system prompt, each text once, in order."""
    found = [tool.section.strip() for tool in tools if isinstance(tool, PluggedTool)]
    return list(dict.fromkeys(filter(None, found)))


class FunctionTool(PluggedTool):
    """A function that was declared with `@tool`."""

    plugin: SkipValidation[ToolPlugin]
    filled: SkipValidation[Filled]

    @property
    def plugin_identity(self) -> Mapping[str, Any]:
        """Includes the checked settings."""
        return {**super().plugin_identity, "settings": self.filled.settings_json}

    async def call(
        self, arguments: Mapping[str, Any], seconds: float, call_id: str = ""
    ) -> PluginResult:
        """Check the arguments, call the function, read what it returned."""
        try:
            given = self.plugin.signature.read(arguments)
        except ValidationError as error:
            return bad_arguments(error)
        except RecursionError:
            return failed("bad arguments: nested too deeply", failure="arguments")
        try:
            called = await isolator(self.name).call(
                self.plugin.function,
                given,
                seconds=self.limit(seconds),
                injected=self.filled.now(),
                read=read_result,
            )
        except PluginFailure as failure:
            return told(failure)
        text, artifact = called.value
        if self.render is not None:
            lines = await rendered(self.render, self.name, arguments, text, artifact)
            artifact = {**artifact, RENDERED: lines}
        return PluginResult(text, artifact, storable(called.printed))


def told(failure: PluginFailure) -> PluginResult:
    """A failed call; a ToolError's own words are unchanged."""
    printed = storable(failure.printed)
    if isinstance(failure.error, ToolError):
        text = storable(str(failure.error))
        return PluginResult(f"Error: {text}", {}, printed, one_line(text), "failed")
    return failed(storable(failure.line), printed)


def bad_arguments(error: ValidationError) -> PluginResult:
    """What a model got wrong, by the first place of it."""
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(map(str, first["loc"]))
    return failed(f"bad arguments: {where}: {first['msg']}", failure="arguments")
