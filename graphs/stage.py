"""A stage of an item: a conversation of its own, with the item's journal, ledger and budget."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, cast

from langchain_core.runnables import RunnableConfig
from typing_extensions import TypedDict

from branchwise.agents.answer import UNREADABLE
from branchwise.agents.prediction import Prediction
from branchwise.graphs.base import recursion_limit
from branchwise.graphs.budget import Budget
from branchwise.graphs.expand_node import shown_readings
from branchwise.graphs.flows import END, Flow, GraphParts
from branchwise.graphs.rebuild import ResumePoint, rebuild
from branchwise.graphs.reduce import StateUpdate, begun
from branchwise.graphs.state import AgentState, ConversationJournal, ItemContext, Spent
from branchwise.trace.conversation import has_ended
from branchwise.trace.events import Stage, StageEnded

if TYPE_CHECKING:
    from branchwise.graphs.flows import AgentGraph

_READ_HOW = ("strict", "tolerant", "repaired")
"""How answers are read, the best first."""


class StageRead(TypedDict):
    """How the answer of a conversation was read, and why it could not be."""

    of: str
    how: str
    problem: str | None


def how_read(reads: Iterable[StageRead], *, is_lost: bool) -> tuple[str, str | None]:
    """How an item's answer was read: as the worst of its conversations that could be, unless it
    `is_lost` with those that could not; and the first problem of these."""
    failed = [f"{read['of']}: {read['problem']}" for read in reads if read["how"] == UNREADABLE]
    problem = next(iter(failed), None)
    if is_lost:
        return UNREADABLE, problem
    hows = [read["how"] for read in reads if read["how"] in _READ_HOW]
    return max(hows, key=_READ_HOW.index, default=_READ_HOW[0]), problem


def counted_as_spent(budget: Budget, spent: Spent, conversations: int) -> int:
    """How many tokens count as spent for each of several conversations at the same time, which
    share what is left of the budget equally."""
    return budget.tokens - max(0, budget.tokens - spent.tokens) // conversations


def texts_of(answers: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for texts in answers.values() for text in texts))


@dataclass(frozen=True)
class StageResult:
    """A conversation that ended. `context` is its own: where its events go."""

    name: str
    option: str
    state: AgentState
    context: ItemContext
    tokens_before: int

    @property
    def prediction(self) -> Prediction:
        return self.state["prediction"]

    @property
    def output(self) -> Mapping[str, Any]:
        output = self.prediction.task_output
        return output if isinstance(output, Mapping) else {}

    @property
    def texts(self) -> tuple[str, ...]:
        return texts_of(self.prediction.answers)

    @property
    def problem(self) -> str | None:
        return self.state["problem"] if self.state["how"] == UNREADABLE else None

    @property
    def adds(self) -> StateUpdate:
        """What it adds to the item: evidence, spending, and how its answer was read."""
        spent, of = self.state["spent"], f"{self.name} {self.option}".rstrip()
        return {
            "evidence": self.state["evidence"],
            "spent": replace(spent, tokens=spent.tokens - self.tokens_before),
            "reads": [StageRead(of=of, how=self.state["how"], problem=self.problem)],
        }

    def tell(self, **result: Any) -> None:
        result = {"problem": self.problem, **result}
        self.context.event(StageEnded(name=self.name, option=self.option, **result))


@dataclass(frozen=True)
class StageGraph:
    """The graph of a stage. `name` says in traces what it is for."""

    name: str
    flow: Flow
    parts: GraphParts

    @cached_property
    def steps(self) -> "AgentGraph":
        """Compiled once. A node that runs it names it: LangGraph looks there for graphs within."""
        return self.flow.build(replace(self.parts, flow=self.flow))

    async def run(
        self,
        steps: "AgentGraph",
        context: ItemContext,
        question: str = "",
        message: str = "",
        *,
        tokens: int,
        turns: tuple[str, ...] = (),
        option: str = "",
        lane: int | None = None,
        sample: int = 0,
        share: Budget | None = None,
    ) -> StageResult:
        """Converse about `question` (the item's), beginning with `message` (the question), `tokens`
        of the budget being spent. `turns`: what is said behind the message, the agent's and the
        user's in turn, the last one the user's. `option` tells stages of one name apart; those
        with a `lane` run at the same time (`Lanes`). `sample`: which of several of the same
        conversation it is, from 1. `share`: its budget, where that is not the item's. One that a
        fork's opening holds goes on from there; if it had ended, nothing is asked."""
        question = question or context.question
        message = message or question
        lanes = None if lane is None else context.lanes
        name = f"{self.name}\0{option}"
        journal = ConversationJournal(context.journal, name, lanes, lane or 0, sample)
        own = context.within(question, journal, share)
        setting = self.flow.setting(
            has_tools=bool(self.parts.tools), has_passages=bool(context.fragments)
        )
        parts = replace(self.parts, budget=share) if share else self.parts
        system = parts.system_prompt(self.flow.prompts[setting])
        stage = Stage(name=self.name, option=option, system=system, content=message, turns=turns)
        point = ResumePoint(self.parts.route.first, begun(stage), ())
        if recorded := context.recorded(stage):
            shown = partial(shown_readings, self.parts.prompts, self.flow.readings)
            point = rebuild(recorded, self.parts.route, shown, context.ledger)
            own.copied = int(has_ended(recorded))
            if not own.copied:
                context.lanes.enter(lane)
        else:
            own.event(stage)
        state = point.state
        state["spent"] += Spent(tokens=tokens)
        # An answer that was read need not be the last: a check may have sent the agent back.
        if not own.copied and point.node != END:
            if point.node != self.parts.route.first:
                steps = self.flow.build(replace(self.parts, flow=self.flow), point.node)
            limit = recursion_limit(self.parts.budget, len(self.parts.plugins))
            config = RunnableConfig(recursion_limit=limit)
            state = cast(AgentState, await steps.ainvoke(state, config, context=own))
        # Stages that wait at the same time wait once.
        context.waited = max(context.waited, own.waited)
        return StageResult(self.name, option, state, own, tokens)
