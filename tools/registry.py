"""The available tools, by name."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from branchwise.base.errors import FLAGS, InputError, SettingError, SettingNames, did_you_mean
from branchwise.base.keys import NO_KEYS, Keys
from branchwise.base.plugins.specs import distribution_of, entry_points, is_mcp, is_plugin
from branchwise.base.prompt_sets import DEFAULT_SET, PromptSet
from branchwise.corpora.folder import Corpus, Titles
from branchwise.corpora.plugin_retriever import injected_from
from branchwise.corpora.retrieval import Retriever
from branchwise.kg.answers import Graph
from branchwise.tools.batcher import Batcher
from branchwise.tools.mcp.opening import close_now, open_mcp_tools

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

    from branchwise.base.plugins.declare import InjectionContext


SEARCH_TOOL, OPENING_TOOL = "local_retriever", "open_passages"
NAMES_TOOL, QUERY_TOOL = "wikidata_search", "wikisparql"


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
        there = {"corpus": self.retriever, "kg": self.kg}
        return tuple(source for source, found in there.items() if found is not None)


@dataclass(frozen=True)
class _Entry:
    summary: str
    source: str  # the setting that names what it searches
    by_default: bool = True


def known_tools() -> dict[str, str]:
    """The name of each tool, and a line on what it does."""
    return {name: entry.summary for name, entry in _TOOLS.items()}


def installed_tools() -> dict[str, str]:
    """The name of each tool from an installed package, and the package. Imports none."""
    return {name: distribution_of(point) for name, point in entry_points("tools").items()}


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
    if spec in _TOOLS:
        return _built_in(spec, context)
    check_known(spec)
    from branchwise.tools.plugin_tools import open_tool

    return open_tool(spec, injection_context(context))


def default_tools(sources: Collection[str]) -> tuple[str, ...]:
    """The tools of an agent for which none are named: those that have something to search."""
    return tuple(
        name for name, entry in _TOOLS.items() if entry.source in sources and entry.by_default
    )


def check_source(name: str, sources: Collection[str], words: SettingNames = FLAGS) -> None:
    """Raise SettingError for a built-in tool whose corpus or graph is not among the `sources`."""
    source = _TOOLS[name].source if name in _TOOLS else None
    if source == "corpus" and source not in sources:
        what, remedy = "no corpus to search", words.add("corpus", "DIR")
    elif source == "kg" and source not in sources:
        what, remedy = "no graph to query", words.add("kg", "DIR or URL")
    else:
        return
    raise SettingError("tools", f"the tool {name} has {what}", remedy=remedy)


def injection_context(context: ToolContext) -> "InjectionContext":
    """What is injected into plug-ins."""
    return injected_from(context.corpus, context.settings, kg=lambda: context.kg)


def _check_names(made: "Sequence[tuple[str, BaseTool]]") -> None:
    """Refuse two tools of the same name, and a plug-in with the name of a built-in tool.

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
                f"two tools are called {tool.name}: {origin} and {spec}",
                where="--tool",
                remedy="leave one out, or give it another name",
            )


def _is_same(one: "BaseTool", other: "BaseTool") -> bool:
    owners = [getattr(tool, "plugin", tool) for tool in (one, other)]
    code = [getattr(owner, "function", getattr(owner, "inner", owner)) for owner in owners]
    return code[0] is code[1]


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
    return [part for part, is_said in parts.items() if is_said and (advises or part == "graph")]


def check_known(name: str) -> None:
    """Raise SettingError for what names no tool: none that is built in or installed, no plug-in,
    no server."""
    known = [*_TOOLS, *installed_tools()]
    if name in known or is_plugin(name) or is_mcp(name):
        return
    hint = did_you_mean(name, known, most=3, cutoff=0.5)
    remedy = f"{hint} (see `branchwise tools list`)"
    raise SettingError("tools", f"unknown tool {name!r}", remedy=remedy)


def _built_in(name: str, context: ToolContext) -> "BaseTool":
    """The tool of that name; what it searches is there."""
    check_source(name, context.sources)
    if name in KG_TOOLS:
        from branchwise.tools.kg_tools import make_wikidata_search, make_wikisparql

        kg, words = cast(Graph, context.kg), context.prompt_set
        if name == NAMES_TOOL:
            return make_wikidata_search(kg, words)
        return make_wikisparql(kg, prompt_set=words, finds_names=context.finds_names)
    from branchwise.tools.passage_tools import SearchForm, make_local_retriever, make_open_passages

    is_plain = name == SEARCH_TOOL and context.prompt_set == "paper"
    titles = Titles(Corpus.open(context.corpus)) if context.corpus and not is_plain else None
    if name == SEARCH_TOOL:
        form = SearchForm(
            context.k, titles, context.shortens, context.cites, context.per_name, context.prompt_set
        )
        return make_local_retriever(cast("Retriever | Batcher", context.retriever), form)
    if titles is None:
        remedy = FLAGS.add("corpus", "DIR")
        raise SettingError("tools", f"the tool {OPENING_TOOL} has no corpus folder", remedy=remedy)
    return make_open_passages(titles, context.prompt_set)


_TOOLS = {
    SEARCH_TOOL: _Entry("search the passages of --corpus: local_retriever(query, k=3)", "corpus"),
    OPENING_TOOL: _Entry(
        "open all passages of a title in --corpus: open_passages(title)", "corpus", by_default=False
    ),
    NAMES_TOOL: _Entry(
        'find entities and properties of --kg by name: wikidata_search(text, kind="item", limit=8)',
        "kg",
    ),
    QUERY_TOOL: _Entry("query the graph of --kg in SPARQL: wikisparql(query)", "kg"),
}
KG_TOOLS = tuple(name for name, entry in _TOOLS.items() if entry.source == "kg")
