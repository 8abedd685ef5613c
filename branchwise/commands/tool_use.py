"""What `branchwise tools show` and `try` do: a tool's card, and a call as an agent makes it."""

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from branchwise.agents.caller import ModelCaller
from branchwise.agents.decoding import Decoding
from branchwise.agents.journal import MemoryJournal
from branchwise.agents.prompt_files import Prompts
from branchwise.agents.spec import ModelSpec
from branchwise.base.errors import InputError
from branchwise.base.keys import NO_KEYS, Keys
from branchwise.base.plugins.specs import is_mcp, is_plugin
from branchwise.base.text import one_line
from branchwise.corpora.open import open_retriever
from branchwise.graphs.budget import Budget
from branchwise.graphs.state import ItemContext, Spent
from branchwise.graphs.system import PluginSettings
from branchwise.graphs.tool_node import make_tool_node
from branchwise.kg.open import open_kg
from branchwise.tools.plugin_tools import ForeignTool, FunctionTool, ToolPlugin, find_tool
from branchwise.tools.registry import (
    ToolContext,
    close_now,
    installed_tools,
    known_tools,
    make_tools,
    sections,
)
from branchwise.trace.events import Tool

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool


_IN_THE_LOOP, _ON_A_THREAD = "in the run's event loop", "on its own thread"


@dataclass(frozen=True)
class ToolCard:
    """What a model sees (`schema`), the prompt's `section`, what fills `injected` parameters."""

    name: str
    schema: Mapping[str, Any]
    section: str = ""
    seconds: float | None = None
    runs: str = _IN_THE_LOOP
    settings: Mapping[str, Any] | None = None
    injected: Mapping[str, str] = field(default_factory=dict)
    renders: bool = False
    source: Mapping[str, Any] = field(default_factory=dict)

    def lines(self) -> Iterator[str]:
        """The card as text."""
        import orjson

        yield f"{self.name}: what a model sees"
        schema = orjson.dumps(self.schema, option=orjson.OPT_INDENT_2).decode()
        yield from (f"  {line}" for line in schema.splitlines())
        if self.section:
            yield "in the system prompt"
            yield from (f"  {line}" for line in self.section.splitlines())
        limit = "the item's remaining time" if self.seconds is None else f"{self.seconds:g} seconds"
        yield f"a call    runs {self.runs}, for at most {limit}"
        if self.settings is not None:
            required = self.settings.get("required", ())
            for key, about in self.settings.get("properties", {}).items():
                types = (str(choice.get("type", "…")) for choice in about.get("anyOf", ()))
                type_ = about.get("type") or " or ".join(types) or "see the source"
                default = f"default {about.get('default')!r}"
                must = "must be given" if key in required else default
                yield f"setting   {self.name}.{key}: {type_}, {must}"
        for parameter, filler in self.injected.items():
            yield f"injected  {parameter}: {_FILLS[filler]}"
        if self.renders:
            yield "trace     shown by its own renderer"
        for key, value in self.source.items():
            yield f"{key:<9} {value}"


_FILLS = {
    "corpus": "the corpus of --corpus",
    "graph": "the graph of --kg",
    "run": "the item that calls it",
    "settings": "its settings",
}


def cards_of(spec: str, keys: Keys) -> list[ToolCard]:
    """The tools that a spec names: one, or all of an MCP server's. Calls nothing."""
    if spec in known_tools():
        absent: Any = _Absent()
        [tool] = make_tools([spec], ToolContext(retriever=absent, kg=absent))
        section = "\n\n".join(map(Prompts.load(None).render, sections([spec])))
        return [ToolCard(spec, _schema(tool), section, source={"source": "built in"})]
    if (is_plugin(spec) and not is_mcp(spec)) or spec in installed_tools():
        return [_plugin(spec)]
    tools = make_tools([spec], ToolContext(keys=keys))  # of a server; raises for an unknown name
    try:
        return [ToolCard(t.name, _schema(t), source=_source(t, of_server=True)) for t in tools]
    finally:
        close_now(tools)


class _Absent:
    """Stands in for a corpus and a graph: a tool that is only inspected uses neither."""

    name, identity = "", dict[str, Any]()


def _plugin(spec: str) -> ToolCard:
    named = find_tool(spec)
    plugin = named.object
    if not isinstance(plugin, ToolPlugin):
        foreign = ForeignTool.of(plugin, named.source)
        runs = _ON_A_THREAD if foreign.is_blocking else _IN_THE_LOOP
        return ToolCard(foreign.name, _schema(foreign), runs=runs, source=_source(foreign))
    tool = FunctionTool.of(plugin)
    return ToolCard(
        plugin.name,
        _schema(tool),
        plugin.section,
        plugin.seconds,
        _IN_THE_LOOP if inspect.iscoroutinefunction(plugin.function) else _ON_A_THREAD,
        plugin.settings.model_json_schema() if plugin.settings else None,
        {name: filler for name, (filler, _) in plugin.injected.items()},
        plugin.render is not None,
        _source(tool),
    )


def _schema(tool: "BaseTool") -> Mapping[str, Any]:
    from langchain_core.utils.function_calling import convert_to_openai_tool

    function: Mapping[str, Any] = convert_to_openai_tool(tool)["function"]
    return function


def _source(tool: Any, *, of_server: bool = False) -> Mapping[str, Any]:
    """`of_server`: an MCP server says its own name and version; other code is in a package."""
    source, brings = tool.source, {}
    if named := source.distribution:
        brings = {"server": named.replace("==", " ")} if of_server else {"package": named}
    digests = {f"digest of {name}": digest for name, digest in source.sha256.items()}
    return {"source": source.place, **brings, **digests}


SECONDS = 600.0  # an item's default time


async def try_tool(
    spec: str,
    arguments: Mapping[str, Any],
    *,
    corpus: Path | None = None,
    retriever: str | None = None,
    k: int | None = None,
    kg: str | None = None,
    settings: PluginSettings | None = None,
    question: str = "",
    model: str | None = None,
    keys: Keys = NO_KEYS,
) -> Tool:
    """The call as a trace would record it, its errors included; `model`: one that it may ask."""
    # Only the built-in tool uses a retriever, which may be large.
    searches = spec == "local_retriever" and (corpus or retriever) is not None
    searched = open_retriever(corpus, retriever, keys=keys) if searches else None
    opened_kg = open_kg(kg, keys) if kg else None
    tools: list[BaseTool] = []
    try:
        context = ToolContext(searched, k, opened_kg, corpus, settings or {}, keys)
        tools = make_tools([spec], context)
        if len(tools) != 1:
            names = ", ".join(tool.name for tool in tools) or "none"
            problem = f"the server has several tools: {names}"
            raise InputError(problem, where=spec, remedy="name one: SPEC#NAME")
        return await _called(tools[0], arguments, one_line(question), model, keys)
    finally:
        close_now(tools)
        if opened_kg is not None:
            opened_kg.close()


async def _called(
    tool: "BaseTool", arguments: Mapping[str, Any], question: str, model: str | None, keys: Keys
) -> Tool:
    from langchain_core.messages import AIMessage
    from langgraph.runtime import Runtime

    caller = None
    if model is not None:
        caller = ModelCaller(ModelSpec.parse(model), Decoding(), Prompts.load(None), keys=keys)
    journal = MemoryJournal()
    asked = {"name": tool.name, "args": dict(arguments), "id": "call_1", "type": "tool_call"}
    message = AIMessage("", tool_calls=[asked])
    step = make_tool_node([tool], Budget(), caller)
    try:
        await step(
            {"messages": [message], "pending": [], "spent": Spent()},
            runtime=Runtime(context=ItemContext(journal, SECONDS, question=question)),
        )
    finally:
        if caller is not None:
            await caller.aclose()
    return next(Tool.read(data) for kind, data in journal.events if kind == Tool.KIND)


def read_arguments(text: str) -> dict[str, Any]:
    """The arguments of `--args`. Raises InputError for anything but a JSON object."""
    import orjson

    remedy = """write --args '{"name": "value"}'"""
    try:
        arguments = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise InputError(f"is not JSON: {error}", where="--args", remedy=remedy) from None
    if not isinstance(arguments, dict):
        problem = f"is a {type(arguments).__name__}, not an object"
        raise InputError(problem, where="--args", remedy=remedy)
    return arguments
