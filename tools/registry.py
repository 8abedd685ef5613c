"""The tools there are, by name."""

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from branchwise.corpora.errors import InputError
from branchwise.corpora.graph.answers import Graph
from branchwise.corpora.keys import NO_KEYS, Keys
from branchwise.corpora.plugins.loading import distribution_of, entry_points
from branchwise.corpora.plugins.specs import is_mcp, is_plugin
from branchwise.corpora.retrieval import Retriever
from branchwise.tools.batcher import Batcher
from branchwise.tools.mcp.opening import close_now, open_mcp_tools

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

    from branchwise.corpora.plugins.injection import InjectionContext


@dataclass(frozen=True)
class ToolContext:
    """What tools are made from: the corpus searched (k where the user fixed it) and the graph.

    `corpus`: its folder, for plug-ins that read it. `settings`: of plug-ins, by their names.
    `keys`: for MCP servers that have an address.
    """

    retriever: Retriever | Batcher | None = None
    k: int | None = None
    graph: Graph | None = None
    corpus: Path | None = None
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    keys: Keys = NO_KEYS


@dataclass(frozen=True)
class _Entry:
    summary: str
    make: "Callable[[ToolContext], BaseTool]"
    section: str = ""  # the prompt file with the tool's part of the system prompt


def known_tools() -> dict[str, str]:
    """Name of each tool, and in one line what it does."""
    return {name: entry.summary for name, entry in _TOOLS.items()}


def installed_tools() -> dict[str, str]:
    """Name of each tool that an installed package brings, and which package. Imports none."""
    return {name: distribution_of(point) for name, point in entry_points("tools").items()}


def make_tools(specs: Sequence[str], context: ToolContext) -> "list[BaseTool]":
    """The named tools, each once, in order: built-in ones, plug-ins, and those of MCP servers.

    Raises InputError for a name that is no tool, for a tool whose corpus is missing, for a plug-in
    or server that cannot be used, and for two of one name.
    """
    of_spec: dict[str, Sequence[BaseTool]] = {
        spec: [_made(spec, context)] for spec in specs if not is_mcp(spec)
    }
    of_servers = open_mcp_tools([spec for spec in specs if is_mcp(spec)], context.keys)
    of_spec |= of_servers
    made = [(spec, tool) for spec in dict.fromkeys(specs) for tool in of_spec[spec]]
    try:
        _check_names(made)
    except InputError:
        close_now(tool for tools in of_servers.values() for tool in tools)
        raise
    return list({tool.name: tool for _, tool in made}.values())


def _made(spec: str, context: ToolContext) -> "BaseTool":
    if spec in _TOOLS:
        return _TOOLS[spec].make(context)
    if not is_plugin(spec) and spec not in entry_points("tools"):
        raise _no_tool(spec)
    from branchwise.tools.plugins.making import open_tool

    return open_tool(spec, injection_context(context))


def injection_context(context: ToolContext) -> "InjectionContext":
    """What plug-ins are filled with."""
    from branchwise.corpora.plugins.injection import InjectionContext

    return InjectionContext(context.corpus, context.graph, context.settings)


def _check_names(made: "Sequence[tuple[str, BaseTool]]") -> None:
    """Refuse two tools of one name, and a plug-in that bears a built-in one's.

    One plug-in may be named twice, in two ways.
    """
    first: dict[str, tuple[str, BaseTool]] = {}
    for spec, tool in made:
        other = first.setdefault(tool.name, (spec, tool))
        origin = "a built-in tool" if tool.name in _TOOLS and spec != tool.name else None
        if other[1] is not tool and not _is_same(other[1], tool):
            origin = other[0]
        if origin:
            raise InputError(
                f"the tool {tool.name} is there twice: {origin} and {spec}",
                where="--tool",
                remedy="leave one out, or give it another name",
            )


def _is_same(one: "BaseTool", other: "BaseTool") -> bool:
    plugins = [getattr(tool, "plugin", getattr(tool, "inner", tool)) for tool in (one, other)]
    return plugins[0] is plugins[1]


def sections(names: Sequence[str]) -> list[str]:
    """The prompt files that these tools add to the system prompt, each once, in order."""
    found = (_TOOLS[name].section for name in names if name in _TOOLS)
    return list(dict.fromkeys(filter(None, found)))


def _no_tool(name: str) -> InputError:
    known = [*_TOOLS, *installed_tools()]
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(known)}"
    return InputError(f"there is no tool {name!r}", remedy=f"{hint} (see `branchwise tools list`)")


def _local_retriever(context: ToolContext) -> "BaseTool":
    from branchwise.tools.local_retriever import make_local_retriever

    if context.retriever is None:
        raise InputError(
            "the tool local_retriever has no corpus to search", remedy="give one with --corpus DIR"
        )
    return make_local_retriever(context.retriever, context.k)


def _wikisparql(context: ToolContext) -> "BaseTool":
    from branchwise.tools.wikisparql import make_wikisparql

    return make_wikisparql(_graph(context, "wikisparql"))


def _wikidata_search(context: ToolContext) -> "BaseTool":
    from branchwise.tools.wikidata_search import make_wikidata_search

    return make_wikidata_search(_graph(context, "wikidata_search"))


def _graph(context: ToolContext, name: str) -> Graph:
    if context.graph is None:
        raise InputError(
            f"the tool {name} has no graph to ask", remedy="give one with --kg DIR or --kg URL"
        )
    return context.graph


_TOOLS: dict[str, _Entry] = {
    "local_retriever": _Entry(
        "search the passages of --corpus: local_retriever(query, k=3)", _local_retriever
    ),
    "wikidata_search": _Entry(
        'find entities and properties of --kg by name: wikidata_search(text, kind="item", limit=8)',
        _wikidata_search,
        section="graph_tools",
    ),
    "wikisparql": _Entry(
        "ask the graph of --kg in SPARQL: wikisparql(query)", _wikisparql, section="graph_tools"
    ),
}
GRAPH_TOOLS = ("wikidata_search", "wikisparql")
