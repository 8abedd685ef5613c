"""What to know about a tool before an agent uses it."""

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from branchwise.agents.prompt_files import Prompts
from branchwise.base.keys import Keys
from branchwise.base.plugins.specs import is_mcp, is_plugin
from branchwise.tools.plugin_tools import ForeignTool, FunctionTool, ToolPlugin, find_tool
from branchwise.tools.registry import (
    ToolContext,
    close_now,
    installed_tools,
    known_tools,
    make_tools,
    sections,
)

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool


_IN_THE_LOOP, _ON_A_THREAD = "in the run's event loop", "on its own thread"


@dataclass(frozen=True)
class ToolCard:
    """`schema` is what a model sees, `section` what the system prompt adds.

    `settings`: their JSON schema, None if there are none. `injected`: parameters that the model
    does not see, with what fills them. `source`: where the code is, and its identity.
    """

    name: str
    schema: Mapping[str, Any]
    section: str = ""
    seconds: float | None = None
    runs: str = _IN_THE_LOOP
    settings: Mapping[str, Any] | None = None
    injected: Mapping[str, str] = field(default_factory=dict)
    renders: bool = False
    source: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """JSON-serialisable, under the names of the fields."""
        return asdict(self)

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
            yield from self._settings()
        for parameter, kind in self.injected.items():
            yield f"injected  {parameter}: {_FILLS[kind]}"
        if self.renders:
            yield "trace     shown by its own renderer"
        for key, value in self.source.items():
            yield f"{key:<9} {value}"

    def _settings(self) -> Iterator[str]:
        assert self.settings is not None
        required = self.settings.get("required", ())
        for key, about in self.settings.get("properties", {}).items():
            kind = about.get("type") or " or ".join(
                str(one.get("type", "…")) for one in about.get("anyOf", ())
            )
            default = "must be given" if key in required else f"default {about.get('default')!r}"
            yield f"setting   {self.name}.{key}: {kind or 'see the source'}, {default}"


_FILLS = {
    "corpus": "the corpus of --corpus",
    "graph": "the graph of --kg",
    "run": "the item that calls it",
    "settings": "its settings",
}


def cards_of(spec: str, keys: Keys) -> list[ToolCard]:
    """The tools that a spec names: one, or all of an MCP server's.

    Calls nothing, and needs neither a corpus nor settings. A server with an address gets its own
    key of `keys`. Raises InputError.
    """
    if spec in known_tools():
        return [_built_in(spec)]
    if (is_plugin(spec) and not is_mcp(spec)) or spec in installed_tools():
        return [_plugin(spec)]
    tools = make_tools([spec], ToolContext(keys=keys))  # of a server; raises for an unknown name
    try:
        return [ToolCard(t.name, _schema(t), source=_source(t, of_server=True)) for t in tools]
    finally:
        close_now(tools)


def _built_in(name: str) -> ToolCard:
    absent: Any = _Absent()
    [tool] = make_tools([name], ToolContext(retriever=absent, kg=absent))
    prompts = Prompts.load(None)
    section = "\n\n".join(prompts.render(one) for one in sections([name]))
    return ToolCard(name, _schema(tool), section, source={"source": "built in"})


class _Absent:
    """Stands in for a corpus and a graph: a tool that is only inspected uses neither."""

    name, identity = "", dict[str, Any]()


def _plugin(spec: str) -> ToolCard:
    found = find_tool(spec)
    if not isinstance(found.object, ToolPlugin):
        foreign = ForeignTool.of(found.object, found.source)
        runs = _ON_A_THREAD if foreign.is_blocking else _IN_THE_LOOP
        return ToolCard(foreign.name, _schema(foreign), runs=runs, source=_source(foreign))
    plugin = found.object
    tool = FunctionTool.of(plugin)
    return ToolCard(
        plugin.name,
        _schema(tool),
        plugin.section,
        plugin.seconds,
        _IN_THE_LOOP if inspect.iscoroutinefunction(plugin.function) else _ON_A_THREAD,
        plugin.settings.model_json_schema() if plugin.settings else None,
        {name: kind for name, (kind, _) in plugin.injected.items()},
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
    if found := source.distribution:
        brings = {"server": found.replace("==", " ")} if of_server else {"package": found}
    digests = {f"SHA-256 of {name}": digest for name, digest in source.sha256.items()}
    return {"source": source.place, **brings, **digests}
