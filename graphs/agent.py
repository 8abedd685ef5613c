"""An agent made from a system: ask it a question, get an outcome."""

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableConfig
from langchain_core.utils.function_calling import convert_to_openai_tool

from branchwise.agents.journal import Journal
from branchwise.agents.prompt_files import Prompts
from branchwise.agents.replay import OpenRecordings
from branchwise.agents.restraints import UNRESTRAINED, Restraints
from branchwise.base.keys import Keys
from branchwise.base.setting import digested
from branchwise.corpora.retrieval import Retriever
from branchwise.graphs.agent_node import PROMPTS as BUDGET_PROMPTS
from branchwise.graphs.base import recursion_limit
from branchwise.graphs.check_node import PROMPTS as CHECKER_PROMPTS
from branchwise.graphs.designs import designed
from branchwise.graphs.expand_node import PROMPTS as EXPANDER_PROMPTS
from branchwise.graphs.expand_node import TitleSearcher, shown_readings
from branchwise.graphs.fan_out import reading_names
from branchwise.graphs.flows import Brief, Flow, GraphParts, default_flow
from branchwise.graphs.ledger import Ledger
from branchwise.graphs.models import Models
from branchwise.graphs.outcome import Outcome
from branchwise.graphs.pipeline import Person
from branchwise.graphs.plugin_nodes import check_named, make_nodes
from branchwise.graphs.rebuild import ResumePoint, rebuild
from branchwise.graphs.reduce import begun, given_ids
from branchwise.graphs.sources import check_search, opens_titles, repeats_passages, retriever_of
from branchwise.graphs.state import ItemContext
from branchwise.graphs.system import System, all_settings
from branchwise.kg.answers import Graph
from branchwise.kg.open import open_kg
from branchwise.tools.batcher import Batcher
from branchwise.tools.plugin_tools import PluggedTool, plugin_sections
from branchwise.tools.registry import (
    NAMES_TOOL,
    SEARCH_TOOL,
    ToolContext,
    close_now,
    default_tools,
    injection_context,
    make_tools,
    sections,
)
from branchwise.trace.conversation import conversations
from branchwise.trace.events import Event, Expansion, Start

if TYPE_CHECKING:
    from branchwise.graphs.flows import AgentGraph


def _used_prompts(system: System, parts: GraphParts) -> set[str]:
    flow, stages = parts.flow, parts.flow.stages or (parts.flow,)
    settings = {"search"} if parts.tools else {"given", "direct"}
    names = {
        name for stage in stages for setting, name in stage.prompts.items() if setting in settings
    }
    names |= {*(stage.format.repair for stage in stages), *flow.own_prompts}
    names |= {name for section in flow.sections(system) for name in section.names}
    if parts.tools:
        tools = [tool.name for tool in parts.tools]
        names |= {"text_protocol", "budget_spent", *sections(tools, system.prompt_set)}
        names |= {*BUDGET_PROMPTS, system.budget.stated_by} if parts.shows_budget else set()
    if parts.models.expander:
        expanded = set(map(parts.prompts.where_expanded, names))
        # Those that answer a reading each have nothing to expand.
        names = names | expanded if system.fan_out else expanded
        names |= EXPANDER_PROMPTS if parts.searcher else {"expander"}
        names |= {stage.readings for stage in stages if stage.readings}
        names |= {"budget"} if system.fan_out and parts.shows_budget else set()
    if parts.models.extractor:
        names |= {"extractor"}
        names |= {"extractor_several"} if parts.extracts_by == "search" else set()
    if parts.models.checker:
        names |= CHECKER_PROMPTS
    return names


# LangGraph reads the keys of its output after every step, in its first version twice.
_OUTCOME = ("prediction", "how", "problem", "evidence", "spent")


class Agent:
    """A system ready to answer: its client, tools and compiled graph are made once.

    `flow` is the task's, by default that of a question without a question set. `model`, `retriever`
    and `kg` are objects of this process that replace the spec's model, the corpus and the graph;
    several agents may share a retriever in a `Batcher`.
    `restraints` hold requests back; `recordings` opens the runs that `replay:` names.
    Raises InputError before any work for an unknown model spec, prompt or tool, for a missing key,
    endpoint, corpus, index, graph or run, for extraction without tools, and for a design that
    the flow cannot have.
    """

    def __init__(
        self,
        system: System,
        flow: Flow | None = None,
        *,
        model: BaseChatModel | None = None,
        retriever: Retriever | Batcher | None = None,
        kg: Graph | None = None,
        restraints: Restraints = UNRESTRAINED,
        recordings: OpenRecordings | None = None,
    ) -> None:
        keys, flow = Keys(system.keys), designed(flow or default_flow(), system)
        keys.check()
        self.system, self.flow, self._outages = system, flow, restraints.outages
        self.prompts = Prompts.load(
            Path(system.prompts) if system.prompts else None, system.prompt_set
        )
        # Before the corpus is opened, which takes longer than noticing a missing server.
        models = Models.of(system, self.prompts, model, restraints, recordings, keys)
        searched = retriever or retriever_of(system)
        if searched is not None and not isinstance(searched, Batcher):
            # One for the tool and for what else searches: a batcher has one thread.
            searched = Batcher(searched)
        self._retriever = searched
        self._kg = kg or (open_kg(system.kg, keys) if system.kg else None)
        context = ToolContext(
            searched,
            system.k,
            self._kg,
            Path(system.corpus) if system.corpus else None,
            system.settings,
            keys,
            shortens=not repeats_passages(system),
            cites=flow.format.cites,
            per_name=system.per_name,
            prompt_set=system.prompt_set,
        )
        by_default = default_tools(context.sources, opens=opens_titles(system))
        names = by_default if system.tools is None else system.tools
        self.tools = make_tools(names, context)
        check_search(system, context.sources, [tool.name for tool in self.tools])
        self.nodes = make_nodes(system.nodes, injection_context(context))
        shows_budget = system.budget_shown == "on" and bool(self.tools)
        self._parts = GraphParts(
            models,
            self.tools,
            self.prompts,
            self.flow,
            system.budget,
            self.nodes,
            compact=system.compact,
            checks=system.check,
            shows_budget=shows_budget,
            repeats_passages=repeats_passages(system),
            extracts_by=system.extract_by,
            searcher=self._searcher() if models.expander else None,
            sections=self._prompt_sections(),
        )
        self.graph = self.flow.build(self._parts)
        self._entered: dict[str, AgentGraph] = {"": self.graph}
        models.explain(lambda: self.identity)

    def _prompt_sections(self) -> list[str]:
        system, prompts = self.system, self.prompts
        names = sections([tool.name for tool in self.tools], system.prompt_set)
        texts = [prompts.render(name) for name in names] + plugin_sections(self.tools)
        return texts + [section.rendered(prompts) for section in self.flow.sections(system)]

    def _searcher(self) -> TitleSearcher | None:
        """What expansion looks for names with: the agent's own tools, if the system wants that."""
        if self.system.readings_from != "search":
            return None
        tools = {tool.name for tool in self.tools}
        passages = self._retriever if SEARCH_TOOL in tools else None
        kg = self._kg if NAMES_TOOL in tools else None
        return TitleSearcher(passages, kg) if passages or kg else None

    def check_settings(self) -> None:
        """Raise InputError for settings of plug-ins that the system lacks."""
        names = [tool.name for tool in self.tools] + [node.name for node in self.nodes]
        check_named(self.system.settings, names, self.system.retriever)

    @property
    def identity(self) -> Mapping[str, Any]:
        """Everything that answers depend on, JSON-serialisable, free of paths and keys."""
        system, parts, flow = self.system, self._parts, self.flow
        # The system's own settings whose values answers depend on, where their module is on.
        settings = {
            setting.name: system.asked(setting.name)
            if setting.setting.of_task
            else getattr(system, setting.name)
            for setting in all_settings()
            if len(setting.path) == 1
            and setting.setting.changes == "answers"
            and (setting.setting.module is None or getattr(system, setting.setting.module))
        }
        tools = [
            convert_to_openai_tool(tool)
            | ({"plugin": dict(tool.plugin_identity)} if isinstance(tool, PluggedTool) else {})
            for tool in self.tools
        ]
        return {
            **({"kg": self._kg.identity()} if self._kg else {}),
            **({"nodes": [node.identity for node in self.nodes]} if self.nodes else {}),
            **parts.models.identity,
            "budget": digested(system.budget),
            "prompts": self.prompts.digest_of(_used_prompts(system, parts)),
            "tools": tools,
            "retriever": dict(self._retriever.identity) if self._retriever else None,
            "format": flow.format.name,
            **({"flow": flow.name} if flow.graph else {}),
            **settings,
        }

    @property
    def digest(self) -> str:
        """SHA-256 of the identity: a run is only resumed by the system that began it."""
        return hashlib.sha256(orjson.dumps(self.identity, option=orjson.OPT_SORT_KEYS)).hexdigest()

    async def aclose(self) -> None:
        """Close connections to models and MCP servers, which reopen, and the knowledge graph."""
        await self._parts.models.aclose()
        await asyncio.to_thread(close_now, self.tools)
        if self._kg:
            self._kg.close()

    async def answer(
        self,
        brief: Brief,
        journal: Journal,
        ledger: Ledger | None = None,
        opening: Sequence[Event] = (),
        person: Person | None = None,
    ) -> Outcome:
        """Run one question through the graph; raises ModelError if the model cannot be reached.
        `ledger` counts the calls of each role; pass one to have the count even if this raises.
        `opening`: first events of a trace, after which the question continues (`entry`). `person`:
        who is asked back, in a flow that asks; what they raise ends the question."""
        counted = ledger or Ledger()
        entry = self.entry(opening, counted) if opening else self.beginning(brief)
        own, *stages = conversations(opening)
        listed = (event.body for event in own if isinstance(event.body, Expansion))
        context = ItemContext(
            journal,
            self.system.budget.seconds,
            entry.fragments,
            brief.question,
            counted,
            brief.follow_ups,
            self._outages,
            brief.asked_back,
            person,
            stages=stages,
            listed=next(listed, None),
            copied=0 if entry.node else len(own),
        )
        if not entry.node:
            context.event(self._start(brief))
        limit = RunnableConfig(recursion_limit=recursion_limit(self.system.budget, len(self.nodes)))
        if entry.node not in self._entered:
            self._entered[entry.node] = self.flow.build(self._parts, entry.node)
        ended = await self._entered[entry.node].ainvoke(
            entry.state, config=limit, context=context, output_keys=_OUTCOME, version="v2"
        )
        end = ended.value
        return Outcome(
            prediction=end["prediction"],
            how=end["how"],
            problem=end["problem"],
            evidence=tuple(dict.fromkeys(end["evidence"])),
            spent=end["spent"],
            seconds=context.elapsed,
        )

    def entry(self, opening: Sequence[Event], ledger: Ledger | None = None) -> ResumePoint:
        """Where a question continues after the first events of a trace (`graphs.rebuild`); its node
        is "" where the graph begins anew. Raises LookupError or ValueError for records that no
        version of ours wrote."""
        own, *stages = conversations(opening)
        for stage in stages:
            # Whether it can be read; the stage itself continues it (`StageGraph.run`).
            rebuild(stage, self._parts.route, lambda _: "", Ledger())
        shown = partial(shown_readings, self.prompts, self.flow.readings)
        point = rebuild(own, self._parts.route, shown, ledger or Ledger())
        # A graph of stages begins anew: its nodes follow from what the stages came to. So does one
        # that leads, unless it asks about the question itself.
        anew = bool(self.flow.stages)
        if self.flow.leads:
            listed = (event.body for event in own if isinstance(event.body, Expansion))
            anew = all(len(reading_names(one)) > 1 for one in listed)
        return replace(point, node="") if anew else point

    def beginning(self, brief: Brief) -> ResumePoint:
        start = self._start(brief)
        return ResumePoint("", begun(start), tuple(given_ids(start)))

    def _start(self, brief: Brief) -> Start:
        # Each of several conversations begins with a system prompt of its own.
        system_prompt = "" if self.flow.stages else self._parts.system_prompt(brief.prompt)
        given = {"passages": [passage.model_dump() for passage in brief.passages]}
        return Start(system=system_prompt, content=brief.message, artifact=given)
