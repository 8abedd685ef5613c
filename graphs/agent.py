"""An agent made from a system: ask it a question, get an outcome."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from branchwise.agents.journal import Journal
from branchwise.agents.prediction import Prediction
from branchwise.agents.prompt_files import SCORING_PROMPTS, SINCE_V2, Prompts
from branchwise.agents.replay import OpenRecordings
from branchwise.agents.restraints import UNRESTRAINED, Restraints
from branchwise.agents.setting import digested
from branchwise.corpora.graph.answers import Graph
from branchwise.corpora.graph.open import open_graph
from branchwise.corpora.keys import Keys
from branchwise.corpora.open import needs_corpus, open_retriever
from branchwise.corpora.retrieval import Retriever
from branchwise.graphs.base import recursion_limit
from branchwise.graphs.budget_words import PROMPTS as BUDGET_PROMPTS
from branchwise.graphs.budget_words import budget_stated
from branchwise.graphs.expand_node import PROMPTS as EXPANDER_PROMPTS
from branchwise.graphs.expand_node import shown_readings
from branchwise.graphs.flows import DEFAULT, FLOWS, Brief, Flow, GraphParts
from branchwise.graphs.ledger import Ledger
from branchwise.graphs.models import Models
from branchwise.graphs.plugins.making import check_named, make_nodes
from branchwise.graphs.rebuild import ResumePoint, rebuild
from branchwise.graphs.reduce import begun, given_ids
from branchwise.graphs.state import ItemContext, Spent
from branchwise.graphs.system import System
from branchwise.graphs.system_checks import check_search
from branchwise.graphs.title_search import TitleSearcher
from branchwise.tools.batcher import Batcher
from branchwise.tools.mcp.opening import close_mcp_tools
from branchwise.tools.plugins.plugged import PluggedTool, plugin_sections
from branchwise.tools.registry import (
    NAMES_TOOL,
    SEARCH_TOOL,
    ToolContext,
    default_tools,
    injection_context,
    make_tools,
    sections,
)
from branchwise.trace.events import Event, Start

if TYPE_CHECKING:
    from branchwise.graphs.flows.flow import AgentGraph


@dataclass(frozen=True)
class Outcome:
    """The outcome of a question. `how`: strict, tolerant, repaired or failed (a format error).

    `evidence`: ids of the passages given and retrieved, in order, each once. `seconds`: in this
    process.
    """

    prediction: Prediction
    how: str
    problem: str | None
    evidence: tuple[str, ...]
    spent: Spent
    seconds: float


class Agent:
    """A system ready to answer: its client, tools and compiled graph are made once.

    `flow` is the task's. `model`, `retriever` and `graph` are objects of this process that replace
    the spec's model, the corpus and the graph; several agents may share a retriever in a `Batcher`.
    `restraints` hold back requests to models; `recordings` opens the runs that `replay:` names.
    Raises InputError before any work for an unknown model spec, prompt or tool, for a missing key,
    endpoint, corpus, index, graph or run, and for extraction without tools.
    """

    def __init__(
        self,
        system: System,
        flow: Flow = DEFAULT,
        *,
        model: BaseChatModel | None = None,
        retriever: Retriever | Batcher | None = None,
        graph: Graph | None = None,
        restraints: Restraints = UNRESTRAINED,
        recordings: OpenRecordings | None = None,
    ) -> None:
        keys = Keys(system.keys)
        keys.check()
        self.system = system
        folder = Path(system.prompts) if system.prompts else None
        self.prompts = Prompts.load(folder, system.prompt_set)
        # Before the corpus is opened, which takes longer than noticing a missing server.
        self._models = Models.of(system, self.prompts, model, restraints, recordings, keys)
        searched = retriever or retriever_of(system)
        # One for the tool and for what else searches: a batcher has one thread.
        self._retriever = (
            searched if searched is None or isinstance(searched, Batcher) else Batcher(searched)
        )
        self._graph = graph or (open_graph(system.kg, keys) if system.kg else None)
        corpus = Path(system.corpus) if system.corpus else None
        # Extraction by passage reads all that each search finds.
        repeats = system.repeat_passages or (system.extract and system.extract_by == "passage")
        around = ToolContext(
            self._retriever,
            system.k,
            self._graph,
            corpus,
            system.settings,
            keys,
            shortens=not repeats,
            cites=flow.format.cites,
            per_name=system.per_name,
            prompt_set=system.prompt_set,
        )
        names = default_tools(around.sources) if system.tools is None else system.tools
        self.tools = make_tools(names, around)
        check_search(system, around.sources, [tool.name for tool in self.tools])
        self._section_names = sections(names, system.prompt_set)
        self._sections = [self.prompts.render(name) for name in self._section_names]
        self._sections += plugin_sections(self.tools)
        if system.at_most is not None and flow.at_most:
            self._sections.append(self.prompts.render(flow.at_most, most=str(system.at_most)))
        self._shows_budget = system.budget_shown == "on" and bool(self.tools)
        if self._shows_budget:
            self._sections.append(budget_stated(self.prompts, system.budget))
        self.nodes = make_nodes(system.nodes, injection_context(around))
        self.flow = flow
        models, budget = self._models, system.budget
        shows = self._shows_budget
        self._searcher = self._searcher_with(names)
        self._parts = GraphParts(
            models,
            self.tools,
            self.prompts,
            flow,
            budget,
            self.nodes,
            shows,
            repeats,
            system.extract_by,
            self._searcher,
        )
        self.graph = self._built()
        self._entered: dict[str, AgentGraph] = {}
        self._models.explain(lambda: self.identity)

    def check_settings(self) -> None:
        """Raise InputError for settings of plug-ins that the system lacks, such as a misspelt
        name."""
        names = [tool.name for tool in self.tools] + [node.plugin.name for node in self.nodes]
        check_named(self.system.settings, names, self.system.retriever)

    @property
    def identity(self) -> Mapping[str, Any]:
        """Everything that answers depend on, JSON-serialisable, free of paths and keys."""
        graph = {"kg": self._graph.identity()} if self._graph else {}
        flow = {"flow": self.flow.name} if self.flow.graph else {}
        nodes = {"nodes": [node.identity for node in self.nodes]} if self.nodes else {}
        return {
            **graph,
            **nodes,
            **self._models.identity,
            "budget": digested(self.system.budget),
            "prompts": self.prompts.digest_of(self._prompt_names()),
            "tools": [_tool_identity(tool) for tool in self.tools],
            "k": self.system.k,
            "retriever": dict(self._retriever.identity) if self._retriever else None,
            "format": self.flow.format.name,
            **flow,
            **self._since(),
        }

    @property
    def digest(self) -> str:
        """SHA-256 of the identity: a run is only resumed by the system that began it."""
        body = orjson.dumps(self.identity, option=orjson.OPT_SORT_KEYS)
        return hashlib.sha256(body).hexdigest()

    async def aclose(self) -> None:
        """Close the connections to models and MCP servers, which reopen, and the graph, which does
        not."""
        await self._models.aclose()
        await close_mcp_tools(self.tools)
        if self._graph:
            self._graph.close()

    def _searcher_with(self, tools: Sequence[str]) -> TitleSearcher | None:
        """What expansion looks for names with: the agent's own tools, if the system wants that."""
        if self._models.expander is None or self.system.readings_from != "search":
            return None
        passages = self._retriever if SEARCH_TOOL in tools else None
        graph = self._graph if NAMES_TOOL in tools else None
        return TitleSearcher(passages, graph) if passages or graph else None

    def _since(self) -> Mapping[str, Any]:
        """Later settings that make a difference: without tools, readings are from memory."""
        idle = set() if self._searcher else {"readings_from"}
        return {name: value for name, value in self.system.since.items() if name not in idle}

    def _prompt_names(self) -> set[str]:
        """Prompts that answers may depend on."""
        settings = {"search"} if self.tools else {"given", "direct"}
        names = {prompt for one, prompt in self.flow.prompts.items() if one in settings}
        names |= {"repair", *self.flow.own_prompts}
        if self.system.at_most is not None and self.flow.at_most:
            names |= {self.flow.at_most}
        if self.tools:
            names |= {"text_protocol", "budget_spent", *self._section_names}
            names |= BUDGET_PROMPTS if self._shows_budget else set()
        if self._models.expander:
            names |= EXPANDER_PROMPTS if self._searcher else {"expander"}
            names |= {self.flow.readings}
        if self._models.extractor:
            names |= {"extractor"}
            names |= {"extractor_several"} if self.system.extract_by == "search" else set()
        return names | self._names_in_v1() if self.prompts.of == "v1" else names

    def _names_in_v1(self) -> set[str]:
        """What the digests of the first set's systems cover: also prompts of no use to them."""
        others = (flow.own_prompts for flow in FLOWS.values() if flow is not self.flow)
        names = set(self.prompts.texts) - SCORING_PROMPTS.union(SINCE_V2, *others)
        if self._models.expander is None:
            names -= {"expander", *(flow.readings for flow in FLOWS.values())}
        return names if self._models.extractor else names - {"extractor"}

    async def answer(
        self,
        brief: Brief,
        journal: Journal,
        ledger: Ledger | None = None,
        opening: Sequence[Event] = (),
    ) -> Outcome:
        """Run one question through the graph; raises ModelError if the model cannot be reached.

        `ledger` counts the calls of each role; pass one to have the count even if this raises.
        `opening`: first events of a trace, after which the question continues (`entry`).
        """
        counted = ledger or Ledger()
        entry = self.entry(opening, counted) if opening else self.beginning(brief)
        seconds = self.system.budget.seconds
        context = ItemContext(
            journal, seconds, entry.fragments, brief.question, counted, brief.follow_ups
        )
        if not opening:
            context.event(self._start(brief))
        limit = RunnableConfig(recursion_limit=recursion_limit(self.system.budget, len(self.nodes)))
        graph = self._graph_at(entry.node)
        end = await graph.ainvoke(entry.state, config=limit, context=context)
        return Outcome(
            prediction=end["prediction"],
            how=end["how"],
            problem=end["problem"],
            evidence=tuple(dict.fromkeys(end["evidence"])),
            spent=end["spent"],
            seconds=context.elapsed,
        )

    def entry(self, opening: Sequence[Event], ledger: Ledger | None = None) -> ResumePoint:
        """Where a question continues after the first events of a trace (`graphs.rebuild`).

        Raises LookupError or ValueError for records that no version of ours wrote.
        """
        shown = partial(shown_readings, self.prompts, self.flow.readings)
        return rebuild(opening, self._parts.route, shown, ledger or Ledger())

    def beginning(self, brief: Brief) -> ResumePoint:
        """The state in which the graph starts a question."""
        start = self._start(brief)
        return ResumePoint("", begun(start), tuple(given_ids(start)))

    def _start(self, brief: Brief) -> Start:
        system_prompt = "\n\n".join([self.prompts.render(brief.prompt), *self._sections])
        given = {"passages": [passage.model_dump() for passage in brief.passages]}
        return Start(system=system_prompt, content=brief.message, artifact=given)

    def _graph_at(self, node: str) -> "AgentGraph":
        """The graph entered at a node, compiled on first use; "" is the start."""
        if not node:
            return self.graph
        if node not in self._entered:
            self._entered[node] = self._built(node)
        return self._entered[node]

    def _built(self, start_at: str | None = None) -> "AgentGraph":
        return self.flow.build(self._parts, start_at)


def retriever_of(system: System) -> Retriever | None:
    """What the system searches; None if nothing. Raises InputError."""
    if system.corpus is None and needs_corpus(system.retriever):
        return None
    corpus = Path(system.corpus) if system.corpus else None
    return open_retriever(corpus, system.retriever, system.settings, Keys(system.keys))


def _tool_identity(tool: BaseTool) -> Mapping[str, Any]:
    schema = convert_to_openai_tool(tool)
    if isinstance(tool, PluggedTool):
        return {**schema, "plugin": dict(tool.plugin_identity)}
    return schema
