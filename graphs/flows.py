"""Flows: how each kind of question is put to an agent, and the way that it takes through the graph.

Light, so that a task's columns do not cost the import of LangGraph.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args

from branchwise.agents.prediction import AnswerFormat
from branchwise.base.registry import Registry
from branchwise.corpora.passages import Passage
from branchwise.graphs.own_settings import DEFAULT_PROTOCOL
from branchwise.trace.events import graph_name

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool
    from langgraph.graph.state import CompiledStateGraph

    from branchwise.agents.prompt_files import Prompts
    from branchwise.graphs.budget import Budget
    from branchwise.graphs.expand_node import TitleSearcher
    from branchwise.graphs.models import Models
    from branchwise.graphs.plugin_nodes import NodePlugin
    from branchwise.graphs.state import AgentState, ItemContext
    from branchwise.graphs.system import System

    AgentGraph = CompiledStateGraph[AgentState, ItemContext, Any, Any]


NodeSlot = Literal["before_agent", "after_tools", "before_answer", "after_answer"]
"""Where a plug-in's step runs. `before_agent`: once, after query expansion. `after_tools`: after
the tools of a turn, before evidence extraction. `before_answer`: after the agent's last message,
before it is read. `after_answer`: after an answer was read, before it is checked; it may send the
agent back."""
SLOTS: tuple[NodeSlot, ...] = get_args(NodeSlot)
END = "__end__"
"""LangGraph's name for the end of a graph."""


@dataclass(frozen=True)
class Route:
    """The way through the graph: `[expand]? -> agent <-> (tools -> [extract]?) -> answer ->
    [check]?`, and from there perhaps to the agent again. `nodes`: names of the plug-ins' nodes in
    each slot, in order. `last_words`: the step that gets the agent's last message, if it is not the
    answer."""

    expands: bool
    extracts: bool
    has_tools: bool
    nodes: Mapping[NodeSlot, Sequence[str]] = field(default_factory=dict)
    last_words: str = ""
    checks: bool = False

    @property
    def first(self) -> str:
        return self.along("before_agent")[0]

    def after_turn(self, *, calls: bool) -> str:
        if calls and self.has_tools:
            return "tools"
        return self.last_words or self.into("before_answer")

    def into(self, slot: NodeSlot, ran: Collection[str] = ()) -> str:
        """The first node of a slot that has not run yet, else the step after the slot. Nodes that
        ran but that the system lacks are ignored."""
        left = (name for name in self.nodes.get(slot, ()) if name not in ran)
        return next(map(graph_name, left), self._behind(slot)[0])

    def along(self, slot: NodeSlot) -> list[str]:
        """The steps around a slot: each is always followed by the next."""
        before = ["tools"] if slot == "after_tools" else []
        if slot == "before_agent" and self.expands:
            before = ["expand"]
        return [*before, *map(graph_name, self.nodes.get(slot, ())), *self._behind(slot)]

    def _behind(self, slot: NodeSlot) -> list[str]:
        if slot == "before_answer":
            return ["answer"]
        if slot == "after_answer":
            return ["check" if self.checks else END]
        return ["extract", "agent"] if slot == "after_tools" and self.extracts else ["agent"]


FlowSetting = Literal["search", "given", "direct"]
"""The agent has tools / finds fixed passages in its prompt / has neither."""


@dataclass(frozen=True)
class Brief:
    """The task as given to the agent: a prompt file's name, the user's message, its passages.

    `passages` are those that the message numbers from 1 ("Fragment 1"), in that order. `question`
    is the question alone on one line, for the modules. `follow_ups`: what the user says later, one
    text per turn, for flows of several turns. `asked_back`: the clarification question, where the
    agent need not find one.
    """

    prompt: str
    message: str
    question: str
    passages: tuple[Passage, ...] = ()
    follow_ups: tuple[str, ...] = ()
    asked_back: str = ""


@dataclass(frozen=True)
class GraphParts:
    """What a graph is made of. `plugins` are in their slots, those of one slot in order.

    `compact`: tokens of a prompt beyond which older results are compacted. `checks`: how often a
    reviewer may send the agent back. `shows_budget`: tool results end with what is left of it.
    `repeats_passages`: what the agent has before it is shown whole again. `extracts_by`: how many
    passages an extractor's request has. `searcher` looks for the question's names before it is
    expanded. `sections`: what system prompts say below the prompt of a question, before the budget
    where it is shown.
    """

    models: "Models"
    tools: "Sequence[BaseTool]"
    prompts: "Prompts"
    flow: "Flow"
    budget: "Budget"
    plugins: "Sequence[NodePlugin]" = ()
    compact: "int | None" = None
    checks: int = 0
    shows_budget: bool = False
    repeats_passages: bool = True
    extracts_by: Literal["search", "passage"] = "search"
    searcher: "TitleSearcher | None" = None
    sections: Sequence[str] = ()

    def system_prompt(self, name: str) -> str:
        name = self.prompts.where_expanded(name) if self.models.expander else name
        texts = [self.prompts.render(name), *self.sections]
        if self.shows_budget:
            values = {name: str(value) for name, value in self.budget if value is not None}
            texts.append(self.prompts.render(self.budget.stated_by, **values))
        return "\n\n".join(texts)

    @property
    def unexpanded(self) -> "GraphParts":
        """The parts of what answers a reading: there is nothing to expand."""
        return replace(self, models=replace(self.models, expander=None))

    @property
    def route(self) -> Route:
        nodes = {slot: [node.name for node in self.plugins if node.slot == slot] for slot in SLOTS}
        models = self.models
        return Route(
            bool(models.expander),
            bool(models.extractor),
            bool(self.tools),
            nodes,
            checks=bool(models.checker),
        )


def numbered(heading: str, texts: Iterable[str]) -> str:
    """A list in a message: its heading, then a text a line."""
    return "\n".join([heading, *(f"{n}. {text}" for n, text in enumerate(texts, start=1))])


class GraphBuilder(Protocol):
    """Compiles a graph; `start_at` is the node that is entered first, None the beginning."""

    def __call__(self, parts: GraphParts, start_at: str | None = None) -> "AgentGraph": ...


@dataclass(frozen=True)
class PromptSection:
    """A part of the system prompt: a prompt file, and the values of its variables, each a text or
    further prompt files, which are put in one after the other, apart by empty lines."""

    prompt: str
    values: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)

    @property
    def names(self) -> set[str]:
        nested = (value for value in self.values.values() if not isinstance(value, str))
        return {self.prompt, *(name for names in nested for name in names)}

    def rendered(self, prompts: "Prompts") -> str:
        values = {
            key: value if isinstance(value, str) else "\n\n".join(map(prompts.render, value))
            for key, value in self.values.items()
        }
        return prompts.render(self.prompt, **values)


@dataclass(frozen=True)
class Flow:
    """How a kind of question flows.

    `prompts`: by setting, the prompt file that says what to do; settings that it lacks are never
    used. `readings`: the prompt file that presents a question's readings; "" where a question
    has none, and is not expanded. `reading`: the one that presents a single reading to whom it
    alone is asked of; "" where answers are not by readings. `own_prompts`: its prompt
    files on which no other flow's answers depend, which keeps them out of other systems' digests.
    `graph` builds its graph, and imports LangGraph when it is called; None is
    `graphs.base.build_graph`. A fork enters a graph of its own only in its stages.
    `leads`: its graph lists the readings first and asks about each in a stage, or about the
    question where there are not several. `stages`: the flows of its conversations, where it has
    several: each has its own prompts, readings and format, and those of this flow only say which
    settings there are; `conversations`: how many an item has at most.
    `protocols`: other ways to put such a question, by their names; its own is `default`.
    `tells_conditions`, `tells_answers`: the gold ones are listed below the question;
    `tells_question`: the gold clarification question is asked back. `asks_person`: a person is
    asked back; no task has such a flow. `at_most`: the prompt file that bounds what an answer
    holds, where there is one. `examples`: by how many worked examples a system may want in its
    prompt (`shots`), the prompt file that has them.
    """

    name: str
    format: AnswerFormat
    prompts: Mapping[FlowSetting, str]
    readings: str = ""
    reading: str = ""
    own_prompts: frozenset[str] = frozenset()
    graph: GraphBuilder | None = None
    leads: bool = False
    stages: "tuple[Flow, ...]" = ()
    conversations: int = 1
    protocols: "Mapping[str, Flow]" = field(default_factory=dict)
    tells_conditions: bool = False
    tells_answers: bool = False
    tells_question: bool = False
    asks_person: bool = False
    at_most: str | None = None
    examples: Mapping[int, str] = field(default_factory=dict)

    @property
    def tells_gold(self) -> bool:
        """Whether a question needs gold to be put."""
        return self.tells_conditions or self.tells_answers or self.tells_question

    def by(self, protocol: str) -> "Flow":
        """The flow of a protocol. Raises KeyError where such questions are not put by it."""
        return self if protocol == DEFAULT_PROTOCOL else self.protocols[protocol]

    @property
    def takes(self) -> frozenset[str]:
        """The settings of flows that change something in this one."""
        takes = {"at_most": bool(self.at_most), "shots": bool(self.examples)}
        return frozenset(name for name, is_taken in takes.items() if is_taken)

    def sections(self, system: "System") -> tuple[PromptSection, ...]:
        """What the system prompt says below the task's prompt by such settings."""
        sections = []
        if self.at_most and (most := system.asked("at_most")) is not None:
            sections.append(PromptSection(self.at_most, {"most": str(most)}))
        if self.examples and (shots := system.asked("shots")) in self.examples:
            sections.append(PromptSection(self.examples[shots]))
        return tuple(sections)

    def setting(self, *, has_tools: bool, has_passages: bool = False) -> FlowSetting:
        """How a question is asked of an agent with or without tools."""
        if has_tools:
            return "search"
        return "given" if has_passages and "given" in self.prompts else "direct"

    def build(self, parts: GraphParts, start_at: str | None = None) -> "AgentGraph":
        from branchwise.graphs.base import build_graph

        return (self.graph or build_graph)(parts, start_at)


__all__ = ["FLOWS", "Brief", "Flow", "FlowSetting", "GraphParts", "default_flow"]

FLOWS: Registry[Flow] = Registry()
"""Those of all tasks, by their names."""


def default_flow() -> Flow:
    """The flow of a question that comes without a question set: the first task's."""
    return next(iter(FLOWS.values()))
