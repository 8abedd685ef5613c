"""Tools of others: functions declared with `@tool`, and LangChain's tools as they are."""

import inspect
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, ClassVar, Literal, overload

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, StructuredTool, Tool, create_schema_from_function
from langchain_core.tools.base import ArgsSchema
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel, ConfigDict, SkipValidation, ValidationError

from branchwise.base.errors import InputError
from branchwise.base.numbers import MOST_SECONDS
from branchwise.base.plugins.call import PluginFailure, call
from branchwise.base.plugins.declare import (
    FILLS,
    Declaration,
    Group,
    InjectionContext,
    Plugin,
    check_settings,
    made,
)
from branchwise.base.plugins.sources import PluginSource, WrongResult, fault_line
from branchwise.base.plugins.specs import LoadedPlugin, find_plugin, is_plugin
from branchwise.base.text import one_line, storable
from branchwise.corpora.folder import Corpus
from branchwise.kg.answers import Graph
from branchwise.tools.tool_results import (
    WHAT_TO_RETURN,
    ToolError,
    bounded,
    kept_artifact,
    read_result,
)

FILLS |= {Corpus: "corpus", Graph: "graph"}

Render = Callable[[Mapping[str, Any], str, Mapping[str, Any]], Iterable[Any]]
"""`render(call_args, content, artifact)`: what the trace app shows of a call."""
RENDERED, RENDER_SECONDS = "rendered", 5.0
"""The key of the artifact that holds the lines; what making them may take."""
MAX_LINES, MAX_CHARS = 1000, 20_000


@dataclass(frozen=True, eq=False, kw_only=True)
class ToolPlugin(Plugin):
    """A declared tool. `description`: what the model reads, without the parameters. `arguments`:
    what it gives. `section`: added to the system prompt. `render`: shows a call in the trace app.
    """

    plugin_group: ClassVar[Group] = "tools"
    fills: ClassVar[tuple[str, ...]] = ("corpus", "graph", "run", "settings")
    may_wait: ClassVar[bool] = True
    arguments: type[BaseModel] = field(repr=False)
    section: str = ""
    render: Render | None = None


@overload
def tool(function: Callable[..., Any], /) -> ToolPlugin: ...
@overload
def tool(
    *,
    name: str | None = None,
    section: str = "",
    seconds: float | None = None,
    settings: type[BaseModel] | None = None,
    render: Render | None = None,
) -> Callable[[Callable[..., Any]], ToolPlugin]: ...
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    section: str = "",
    seconds: float | None = None,
    settings: type[BaseModel] | None = None,
    render: Render | None = None,
) -> ToolPlugin | Callable[[Callable[..., Any]], ToolPlugin]:
    """Declare a function, async or not, as a tool that an agent may call.

    Its docstring and its annotations become what the model sees: Google's `Args:` describe the
    parameters. It returns text, what JSON can hold, or a `ToolResult`; it raises `ToolError` to
    tell the model what to do; the model is also told of any other exception. A function that is
    not async runs on its own thread.

    Parameters annotated `Corpus`, `Graph`, `RunContext` or with the class given as `settings` are
    filled by the harness and hidden from the model. `name`: of the tool, by default the
    function's. `section`: text for the system prompt. `seconds`: a limit for a call. `render`:
    see `ToolPlugin`.

    Raises InputError, with file and line, for a function that cannot be a tool.
    """

    def read(declaration: Declaration) -> Mapping[str, Any]:
        declaration.check(isinstance(section, str), "section is not a text")
        declaration.check(render is None or callable(render), "render is not a function")
        arguments = _arguments_of(declaration)
        own = {"section": section, "render": render}
        return {"description": arguments.__doc__, "arguments": arguments, **own}

    def declare(declared: Callable[..., Any]) -> ToolPlugin:
        return ToolPlugin.declared(declared, read, name=name, seconds=seconds, settings=settings)

    return declare if function is None else declare(function)


def _arguments_of(declaration: Declaration) -> type[BaseModel]:
    """What a model sees of a function, as LangChain reads it. Raises InputError."""
    name, function, shown = declaration.name, declaration.function, declaration.others
    parameters = inspect.signature(function).parameters.values()
    for parameter in parameters:
        called = f"the parameter {parameter.name!r} of {name}"
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            what = f"{called} cannot be given by its name alone"
            raise declaration.refused(what, "give it named parameters only")
        if parameter.annotation is parameter.empty:
            remedy = f"write its type, such as `{parameter.name}: str`"
            raise declaration.refused(f"{called} has no annotation", remedy)

    def described() -> None:
        """Stands for the function: what is injected may be of types that pydantic does not know."""

    given = [shown.get(one.name, one.replace(annotation=Any)) for one in parameters]
    vars(described)["__signature__"] = inspect.Signature(given)
    described.__annotations__ = {one.name: one.annotation for one in given}
    described.__doc__ = function.__doc__
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of names that pydantic's models have, too
            seen = create_schema_from_function(
                name, described, filter_args=[*declaration.injected], parse_docstring=True
            )
        config = {"model_config": ConfigDict(extra="forbid"), "__doc__": seen.__doc__}
        arguments: type[BaseModel] = type(name, (seen,), config)
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # pydantic only warns of a default that is not JSON
            arguments.model_json_schema()
    except Exception as error:  # noqa: BLE001 - LangChain's and pydantic's, and those of types
        raise declaration.refused(
            f"the parameters of {name} cannot be described to a model: {fault_line(error)}",
            "use types and defaults that JSON has, and describe parameters under `Args:`",
        ) from None
    if left_out := shown.keys() - arguments.model_fields.keys():
        what = f"a parameter of {name} cannot be called {min(left_out)!r}"
        raise declaration.refused(what, "LangChain uses this name itself; choose another")
    if not (arguments.__doc__ or "").strip():
        what = f"the docstring of {name} describes only parameters"
        raise declaration.refused(what, "say first what it does, because the model reads it")
    return arguments


@dataclass(frozen=True)
class PluginResult:
    """The result of a call. `error`: one line, or None; `failure`: whose fault it is.

    `content` is what the model reads, also for an error.
    """

    content: str
    artifact: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None
    failure: Literal["arguments", "failed"] | None = None


def failed(line: str, failure: Literal["arguments", "failed"] = "failed") -> PluginResult:
    """A failed call, because of `line`."""
    return PluginResult(f"Error: {line}", {}, line, failure)


def _failed_by(failure: PluginFailure) -> PluginResult:
    """A failed call; a ToolError's own words are unchanged."""
    if isinstance(failure.error, ToolError):
        text = storable(str(failure.error))
        return PluginResult(f"Error: {text}", {}, one_line(text), "failed")
    return failed(storable(failure.line))


def _bad_arguments(error: ValidationError) -> PluginResult:
    """What a model got wrong, by the first place of it."""
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(map(str, first["loc"]))
    return failed(f"bad arguments: {where}: {first['msg']}", "arguments")


class PluggedTool(BaseTool):
    """A tool made of foreign code, part of the system by its source. It is LangChain's so that it
    can be bound to a model; runs call it by `call`."""

    source: SkipValidation[PluginSource]
    section: str = ""
    seconds: float | None = None
    response_format: Literal["content_and_artifact"] = "content_and_artifact"

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
        """For callers that know only LangChain's tools, as `serve mcp`. Raises ToolError."""
        result = await self.call(arguments, MOST_SECONDS)
        if result.error is not None:
            raise ToolError(result.content.removeprefix("Error: "))
        return result.content, result.artifact


def plugin_sections(tools: Sequence[BaseTool]) -> list[str]:
    """What the plug-ins among the tools add to the system prompt, each text once, in order."""
    sections = [tool.section.strip() for tool in tools if isinstance(tool, PluggedTool)]
    return list(dict.fromkeys(filter(None, sections)))


class FunctionTool(PluggedTool):
    """A function that was declared with `@tool`."""

    plugin: SkipValidation[ToolPlugin]

    @classmethod
    def of(cls, plugin: ToolPlugin) -> "FunctionTool":
        """The tool of a filled plug-in."""
        return cls(
            name=plugin.name,
            description=plugin.description,
            args_schema=plugin.arguments,
            source=plugin.source,
            section=plugin.section,
            seconds=plugin.seconds,
            plugin=plugin,
        )

    @property
    def plugin_identity(self) -> Mapping[str, Any]:
        """Includes the checked settings."""
        return {**super().plugin_identity, "settings": self.plugin.chosen_json}

    async def call(
        self, arguments: Mapping[str, Any], seconds: float, call_id: str = ""
    ) -> PluginResult:
        """Check the arguments, call the function, read what it returned."""
        try:
            given = dict(self.plugin.arguments.model_validate(dict(arguments)))
            text, artifact = await call(
                self.name,
                self.plugin.function,
                given,
                seconds=self.limit(seconds),
                injected=self.plugin.now(),
                read=read_result,
            )
        except ValidationError as error:
            return _bad_arguments(error)
        except RecursionError:
            return failed("bad arguments: nested too deeply", "arguments")
        except PluginFailure as failure:
            return _failed_by(failure)
        if self.plugin.render is not None:
            lines = await rendered(self.plugin.render, self.name, arguments, text, artifact)
            artifact = {**artifact, RENDERED: lines}
        return PluginResult(text, artifact)


async def rendered(
    render: Render,
    name: str,
    arguments: Mapping[str, Any],
    content: str,
    artifact: Mapping[str, Any],
) -> list[str]:
    """The lines that a renderer shows for a call, bounded; if it fails, one line that says so."""
    # When the call is made, and kept: opening a trace, perhaps another person's, imports no code.

    def lines(arguments: Any, content: str, artifact: Any) -> str:
        shown = render(arguments, content, artifact)
        parts = [shown] if isinstance(shown, str) else islice(shown, MAX_LINES)
        return "\n".join(map(str, parts))

    given = {"arguments": dict(arguments), "content": content, "artifact": dict(artifact)}
    try:
        text = await call(f"the renderer of {name}", lines, given, seconds=RENDER_SECONDS, read=str)
    except PluginFailure as failure:
        return [storable(failure.line)]
    shown = storable(text)[:MAX_CHARS].splitlines()[:MAX_LINES]
    return [*shown, f"[cut: {len(text)} characters]"] if len(text) > MAX_CHARS else shown


class ForeignTool(PluggedTool):
    """Shows the model what a LangChain tool shows. A tool that only has `_run` runs on
    its own thread, so that a hang can be abandoned."""

    inner: SkipValidation[BaseTool]

    @classmethod
    def of(cls, inner: BaseTool, source: PluginSource) -> "ForeignTool":
        """The tool, under its own name and description."""
        schema: Any = inner.args_schema
        if isinstance(inner, Tool) and not schema:
            # LangChain's plain `Tool` takes one text under a set name.
            properties = {"__arg1": {"type": "string"}}
            schema = {"type": "object", "properties": properties, "required": ["__arg1"]}
        return cls(
            name=inner.name,
            description=inner.description,
            args_schema=schema,
            inner=inner,
            source=source,
        )

    @property
    def is_blocking(self) -> bool:
        """Whether the tool has no asynchronous way to be called."""
        own = type(self.inner)._arun
        if isinstance(self.inner, StructuredTool | Tool) and self.inner.coroutine is None:
            return own in (StructuredTool._arun, Tool._arun)
        return own is BaseTool._arun

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
        request = {"type": "tool_call", "id": call_id or "call", "name": self.name}
        invoke = self.inner.invoke if self.is_blocking else self.inner.ainvoke
        given = {"input": {**request, "args": dict(arguments)}}
        try:
            return await call(
                self.name, invoke, given, seconds=self.limit(seconds), read=self._read
            )
        except PluginFailure as failure:
            schemas = (self.name, getattr(self.inner.args_schema, "__name__", None))
            # A tool's own code may also use pydantic: only errors of its schema are the model's.
            if isinstance(failure.error, ValidationError) and failure.error.title in schemas:
                return _bad_arguments(failure.error)
            return _failed_by(failure)

    def _read(self, message: Any) -> PluginResult:
        if not isinstance(message, ToolMessage):
            name = type(message).__name__
            raise WrongResult(f"it returned a value of type {name}; {WHAT_TO_RETURN}")
        text = message.content
        if not isinstance(text, str):
            types = [str(block.get("type")) for block in text if isinstance(block, dict)]
            notes = [f"[left out: {type[:40]}]" for type in types if type != "text"]
            text = "\n".join(filter(None, [str(message.text), *notes]))
        text = bounded(text)
        if message.status == "error":
            line = one_line(f"{self.name}: {text}")
            return PluginResult(f"Error: {text}", {}, line, "failed")
        return PluginResult(text, kept_artifact(message.artifact, "artifact"))


def find_tool(spec: str) -> LoadedPlugin:
    """What a spec names: a `ToolPlugin` or a LangChain tool. Raises InputError."""
    plugin = find_plugin(spec, "tools")
    where = spec if is_plugin(spec) else f"{spec} ({plugin.source.place})"
    tool = made(plugin.object, "tools", where)
    if isinstance(tool, ToolPlugin):
        tool = replace(tool, source=plugin.source)
    return LoadedPlugin(tool, plugin.source)


def open_tool(spec: str, context: InjectionContext) -> PluggedTool:
    """The tool that a spec names, with its settings and injected parameters. Raises InputError if
    there is none, its settings do not fit, it needs a missing corpus or graph, or it cannot be
    described to a model."""
    plugin = find_tool(spec)
    if isinstance(plugin.object, ToolPlugin):
        return FunctionTool.of(plugin.object.fill(context))
    tool = ForeignTool.of(plugin.object, plugin.source)
    check_settings(tool.name, None, context.settings.get(tool.name))
    try:
        convert_to_openai_tool(tool)
    except Exception as error:  # noqa: BLE001 - anyone's class
        raise InputError(
            f"the tool {tool.name} cannot be described to a model: {fault_line(error)}",
            where=spec,
            remedy="give it an args_schema that JSON has",
        ) from None
    return tool
