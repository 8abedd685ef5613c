"""The tools there are, by name."""

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from branchwise.corpora.errors import InputError
from branchwise.corpora.graph.answers import Graph
from branchwise.corpora.retrieval import Retriever
from branchwise.tools.batcher import Batcher

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool


@dataclass(frozen=True)
class ToolContext:
    """What tools are made from: the corpus searched (k where the user fixed it) and the graph."""

    retriever: Retriever | Batcher | None = None
    k: int | None = None
    graph: Graph | None = None


@dataclass(frozen=True)
class _Entry:
    summary: str
    make: "Callable[[ToolContext], BaseTool]"
    section: str = ""  # the prompt file with the tool's part of the system prompt


def known_tools() -> dict[str, str]:
    """Name of each tool, and in one line what it does."""
    return {name: entry.summary for name, entry in _TOOLS.items()}


def make_tools(names: Sequence[str], context: ToolContext) -> "list[BaseTool]":
    """The named tools, each once, in order.

    Raises InputError for a name that is no tool, and for a tool whose corpus is missing.
    """
    return [_entry(name).make(context) for name in dict.fromkeys(names)]


def sections(names: Sequence[str]) -> list[str]:
    """The prompt files that these tools add to the system prompt, each once, in order."""
    found = (_TOOLS[name].section for name in names if name in _TOOLS)
    return list(dict.fromkeys(filter(None, found)))


def _entry(name: str) -> _Entry:
    if name in _TOOLS:
        return _TOOLS[name]
    near = difflib.get_close_matches(name, _TOOLS, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(_TOOLS)}"
    raise InputError(f"there is no tool {name!r}", remedy=f"{hint} (see `branchwise tools list`)")


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
