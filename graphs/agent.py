"""An agent made from a system: ask it a question, get an outcome."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from branchwise.agents.caller import ModelCaller
from branchwise.agents.formats import FORMATS
from branchwise.agents.journal import Journal
from branchwise.agents.prediction import Prediction
from branchwise.agents.prompt_files import Prompts
from branchwise.agents.spec import ModelSpec, check_ready
from branchwise.corpora.graph.answers import Graph
from branchwise.corpora.graph.open import open_graph
from branchwise.corpora.open import open_retriever
from branchwise.corpora.passages import Passage
from branchwise.corpora.retrieval import Retriever
from branchwise.graphs.base import build_base_graph, recursion_limit
from branchwise.graphs.state import AgentState, ItemContext, Spent
from branchwise.graphs.system import System
from branchwise.tools.registry import GRAPH_TOOLS, ToolContext, make_tools, sections


@dataclass(frozen=True)
class Brief:
    """What the agent is told: a prompt file's name, the user's message, the passages in it.

    `passages` are those that the message numbers from 1 ("Fragment 1"), in that order.
    """

    prompt: str
    message: str
    passages: tuple[Passage, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """What came of a question. `how`: strict, tolerant, repaired or failed (a format error).

    `evidence`: ids of the passages shown, in order, each once. `seconds`: in this process.
    """

    prediction: Prediction
    how: str
    problem: str | None
    evidence: tuple[str, ...]
    spent: Spent
    seconds: float


class Agent:
    """A system ready to answer: its client, tools and compiled graph are made once.

    `model`, `retriever` and `graph` put objects of this process in the place of the spec's model,
    the corpus and the graph. Raises InputError before any work: an unknown model spec, prompt or
    tool, a missing key, endpoint, corpus, index or graph.
    """

    def __init__(
        self,
        system: System,
        answer_format: str = "branches",
        *,
        model: BaseChatModel | None = None,
        retriever: Retriever | None = None,
        graph: Graph | None = None,
    ) -> None:
        spec = ModelSpec.parse(system.model)
        if model is None:
            check_ready(spec)
        self.system = system
        self.prompts = Prompts.load(Path(system.prompts) if system.prompts else None)
        self._retriever = retriever or _retriever(system)
        self._graph = graph or (open_graph(system.kg) if system.kg else None)
        names = self._default_tools() if system.tools is None else system.tools
        self.tools = make_tools(names, ToolContext(self._retriever, system.k, self._graph))
        self._sections = [self.prompts.render(name) for name in sections(names)]
        self._caller = ModelCaller(spec, system.decoding, self.prompts, model=model)
        self._format = FORMATS[answer_format]
        self.graph = build_base_graph(
            self._caller, self.tools, self.prompts, self._format, system.budget
        )

    def _default_tools(self) -> tuple[str, ...]:
        search = ("local_retriever",) if self._retriever else ()
        return (*search, *(GRAPH_TOOLS if self._graph else ()))

    @property
    def identity(self) -> Mapping[str, Any]:
        """Everything that answers depend on, JSON-serialisable, free of paths and keys."""
        graph = {"kg": self._graph.identity()} if self._graph else {}
        return graph | {
            "model": self._caller.identity,
            "budget": self.system.budget.model_dump(mode="json"),
            "prompts": self.prompts.digest,
            "tools": [_tool_identity(tool) for tool in self.tools],
            "k": self.system.k,
            "retriever": dict(self._retriever.identity) if self._retriever else None,
            "format": self._format.name,
        }

    @property
    def digest(self) -> str:
        """SHA-256 of the identity: a run is only resumed by the system that began it."""
        body = orjson.dumps(self.identity, option=orjson.OPT_SORT_KEYS)
        return hashlib.sha256(body).hexdigest()

    async def aclose(self) -> None:
        """Close the model's connections, which open again, and the graph, which does not."""
        await self._caller.aclose()
        if self._graph:
            self._graph.close()

    async def answer(self, brief: Brief, journal: Journal) -> Outcome:
        """Run one question through the graph; raises ModelError where the model cannot be had."""
        fragments = tuple(passage.id for passage in brief.passages)
        context = ItemContext(journal, self.system.budget.seconds, fragments)
        system_prompt = "\n\n".join([self.prompts.render(brief.prompt), *self._sections])
        given = {"passages": [passage.model_dump() for passage in brief.passages]}
        context.event("start", system=system_prompt, content=brief.message, artifact=given)
        start = AgentState(
            messages=[SystemMessage(system_prompt), HumanMessage(brief.message)],
            evidence=list(fragments),
            spent=Spent(),
            omitted=0,
            finish="stop",
        )
        limit = RunnableConfig(recursion_limit=recursion_limit(self.system.budget))
        end = await self.graph.ainvoke(start, config=limit, context=context)
        return Outcome(
            prediction=end["prediction"],
            how=end["how"],
            problem=end["problem"],
            evidence=tuple(dict.fromkeys(end["evidence"])),
            spent=end["spent"],
            seconds=context.elapsed,
        )


def _retriever(system: System) -> Retriever | None:
    if system.corpus is None:
        return None
    return open_retriever(Path(system.corpus), system.retriever)


def _tool_identity(tool: BaseTool) -> Mapping[str, Any]:
    return convert_to_openai_tool(tool)
