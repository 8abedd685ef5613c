"""The available tools, by name, and what they are made from."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from branchwise.base.errors import (
    FLAGS,
    InputError,
    SettingError,
    SettingNames,
    did_you_mean,
    require,
)
from branchwise.base.keys import NO_KEYS, Keys
from branchwise.base.plugins.specs import (
    McpSpec,
    Server,
    distribution_of,
    entry_points,
    is_mcp,
    is_plugin,
    parse_mcp,
)
from branchwise.base.prompt_sets import DEFAULT_SET, PromptSet
from branchwise.corpora.folder import Corpus, Titles
from branchwise.corpora.plugin_retriever import injected_from
from branchwise.corpora.retrieval import Retriever
from branchwise.kg.answers import Graph
from branchwise.tools.batcher import Batcher

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

    from branchwise.base.plugins.declare import InjectionContext


SEARCH_TOOL, OPENING_TOOL = "local_retriever", "open_passages"
CORPUS_TOOLS = frozenset((SEARCH_TOOL, OPENING_TOOL))
NAMES_TOOL, QUERY_TOOL = "wikidata_search", "wikisparql"
KG_TOOLS = (NAMES_TOOL, QUERY_TOOL)
_TOOLS = {
    SEARCH_TOOL: "search the passages of --corpus: local_retriever(query, k=3)",
    OPENING_TOOL: "open all passages of titles in --corpus: open_passages(titles)",
    NAMES_TOOL: (
        'find entities and properties of --kg by name: wikidata_search(text, kind="item", limit=8)'
    ),
    QUERY_TOOL: "query the graph of --kg in SPARQL: wikisparql(query)",
}


@dataclass(frozen=True)
class ToolContext:
    """What tools are made from: the corpus searched (k where the user fixed it) and the graph.

    `corpus`: its folder, for plug-ins that read it. `settings`: of plug-ins, by their names.
    `keys`: for MCP servers that have an address. `shortens`, `cites`, `per_name`: how passages are
    shown (`SearchForm`). `prompt_set`: in whose words tools describe themselves. `finds_names`:
    `wikidata_search` is among them.
    """

    retriever: Retriever | Batcher | None = None
    k: int | None = None
    kg: Graph | None = None
    corpus: Path | None = None
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    keys: Keys = NO_KEYS
    shortens: bool = False
    cites: bool = True
    per_name: int | None = None
    prompt_set: PromptSet = DEFAULT_SET
    finds_names: bool = True

    @property
    def sources(self) -> tuple[str, ...]:
        """What there is to search, as the settings that name it."""
        searched = {"corpus": self.retriever, "kg": self.kg}
        return tuple(source for source, value in searched.items() if value is not None)


def known_tools() -> dict[str, str]:
    """The name of each built-in tool, and a line on what it does."""
    return dict(_TOOLS)


def installed_tools() -> dict[str, str]:
    """The name of each tool from an installed package, and the package. Imports none."""
    return {name: distribution_of(point) for name, point in entry_points("tools").items()}


def default_tools(sources: Collection[str], *, opens: bool = False) -> tuple[str, ...]:
    """The tools of an agent for which none are named: those that have something to search. `opens`:
    there is a corpus folder in which titles are looked up."""
    by_default = {SEARCH_TOOL: "corpus", OPENING_TOOL: "corpus", **dict.fromkeys(KG_TOOLS, "kg")}
    names = (name for name, source in by_default.items() if source in sources)
    return tuple(name for name in names if opens or name != OPENING_TOOL)


def check_source(name: str, sources: Collection[str], words: SettingNames = FLAGS) -> None:
    """Raise SettingError for a built-in tool whose corpus or graph is not among the `sources`."""
    if name in CORPUS_TOOLS and "corpus" not in sources:
        what, remedy = "no corpus to search", words.add("corpus", "DIR")
    elif name in KG_TOOLS and "kg" not in sources:
        what, remedy = "no graph to query", words.add("kg", "DIR or URL")
    else:
        return
    raise SettingError("tools", f"the tool {name} has {what}", remedy=remedy)


def check_known(name: str) -> None:
    """Raise SettingError for what names no tool: none that is built in or installed, no plug-in,
    no server."""
    known = [*_TOOLS, *installed_tools()]
    if name in known or is_plugin(name) or is_mcp(name):
        return
    hint = did_you_mean(name, known, most=3, cutoff=0.5)
    remedy = f"{hint} (see `branchwise tools list`)"
    raise SettingError("tools", f"unknown tool {name!r}", remedy=remedy)


def sections(names: Collection[str], of: PromptSet = DEFAULT_SET) -> list[str]:
    """The prompt files that these tools add to the system prompt, in order."""
    queries_kg = not set(names).isdisjoint(KG_TOOLS)
    parts = {
        "passages": SEARCH_TOOL in names,
        "graph": queries_kg,
        "graph_names": NAMES_TOOL in names,
        "graph_labels": QUERY_TOOL in names and NAMES_TOOL not in names,
        "graph_queries": QUERY_TOOL in names,
    }
    advises = of != "paper"
    return [part for part, is_used in parts.items() if is_used and (advises or part == "graph")]


def injection_context(context: ToolContext) -> "InjectionContext":
    """What is injected into plug-ins."""
    return injected_from(context.corpus, context.settings, kg=lambda: context.kg)


def make_tools(specs: Sequence[str], context: ToolContext) -> "list[BaseTool]":
    """The named tools, each once, in order: built-in ones, plug-ins, and those of MCP servers.

    Raises InputError for an unknown tool, a tool whose corpus is missing, a plug-in or server that
    cannot be used, and two tools of the same name.
    """
    context = replace(context, finds_names=NAMES_TOOL in specs)
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
    if spec not in _TOOLS:
        check_known(spec)
        from branchwise.tools.plugin_tools import open_tool

        return open_tool(spec, injection_context(context))
    check_source(spec, context.sources)
    from branchwise.tools import built_in

    words = context.prompt_set
    if spec == NAMES_TOOL:
        return built_in.make_wikidata_search(cast(Graph, context.kg), words)
    if spec == QUERY_TOOL:
        kg, finds_names = cast(Graph, context.kg), context.finds_names
        return built_in.make_wikisparql(kg, words, finds_names=finds_names)
    is_plain = spec == SEARCH_TOOL and words == "paper"
    titles = Titles(Corpus.open(context.corpus)) if context.corpus and not is_plain else None
    if spec == SEARCH_TOOL:
        form = built_in.SearchForm(
            context.k, titles, context.shortens, context.cites, context.per_name, words
        )
        return built_in.make_local_retriever(cast("Retriever | Batcher", context.retriever), form)
    if titles is None:
        remedy = FLAGS.add("corpus", "DIR")
        raise SettingError("tools", f"the tool {OPENING_TOOL} has no corpus folder", remedy=remedy)
    return built_in.make_open_passages(titles, words)


def open_mcp_tools(specs: Sequence[str], keys: Keys = NO_KEYS) -> "dict[str, Sequence[BaseTool]]":
    """The tools of each `mcp:` spec, with the servers' conversations open.

    A server with an address gets its own key of `keys`. Several specs of one server share a
    conversation. Raises InputError if a server cannot be used; then none is left open.
    """
    by_server: dict[Server, dict[str, McpSpec]] = {}
    for text in specs:
        spec = parse_mcp(text)
        by_server.setdefault(spec.server, {})[text] = spec
    if not by_server:
        return {}
    require("mcp", "a tool of an MCP server", "--tool mcp:")
    from branchwise.tools import mcp_client, mcp_tools

    opened: dict[str, Sequence[BaseTool]] = {}
    try:
        for server, named in by_server.items():
            client = mcp_client.McpServer(server, keys)
            of_spec = mcp_tools.mcp_tools(client, list(named.values()))
            opened |= {text: of_spec[spec] for text, spec in named.items()}
    except BaseException:
        close_now(tool for tools in opened.values() for tool in tools)
        raise
    return opened


def close_now(tools: "Iterable[BaseTool]") -> None:
    """End the conversations of the MCP servers' tools among these; a later call begins another."""
    for server in {getattr(tool, "server", None) for tool in tools}:
        if server is not None:
            server.close()


def _check_names(made: "Sequence[tuple[str, BaseTool]]") -> None:
    """Refuse two tools of the same name, and a plug-in with the name of a built-in tool.

    One plug-in may be named twice, in two ways.
    """
    first: dict[str, tuple[str, BaseTool]] = {}
    for spec, tool in made:
        other_spec, other = first.setdefault(tool.name, (spec, tool))
        origin = "a built-in tool" if tool.name in _TOOLS and spec != tool.name else None
        if other is not tool and _code_of(other) is not _code_of(tool):
            origin = other_spec
        if origin:
            raise InputError(
                f"two tools are called {tool.name}: {origin} and {spec}",
                where="--tool",
                remedy="leave one out, or give it another name",
            )


def _code_of(tool: "BaseTool") -> object:
    owner = getattr(tool, "plugin", tool)
    return getattr(owner, "function", getattr(owner, "inner", owner))
