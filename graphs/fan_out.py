"""Fan-out: `lead -> a sub-agent for each reading, all at once -> merge`.

The lead is query expansion: it lists the question's readings. Each is asked in a conversation of
its own (`graphs/stage.py`), which knows no other, with all turns of the budget and an equal part of
the calls and of the tokens that are left, so that what one reading may spend does not depend on the
others. Their answers are merged under the readings' names: the lead's, or what a sub-agent calls
its reading once it has read of it (`called`). A question of which the lead lists fewer than two
readings is asked plainly.
"""

import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, cast

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command, Send
from typing_extensions import TypedDict

from branchwise.agents.answer import UNREADABLE
from branchwise.agents.prediction import Prediction
from branchwise.corpora.names_in_text import names_in
from branchwise.graphs.base import build_graph
from branchwise.graphs.expand_node import make_expander
from branchwise.graphs.flows import Flow, GraphParts
from branchwise.graphs.reduce import StateUpdate
from branchwise.graphs.stage import StageGraph, StageRead, how_read, texts_of
from branchwise.graphs.state import AgentState, ItemContext, Spent
from branchwise.trace.conversation import called
from branchwise.trace.events import READING, AnswerRead, Expansion
from branchwise.trace.parts import Predicted

if TYPE_CHECKING:
    from branchwise.graphs.flows import AgentGraph


class ReadingAsked(TypedDict):
    """What a sub-agent gets: its reading, the reading's name and place, its first message, and how
    many there are of it, with the tokens that are left for all."""

    name: str
    place: int
    reading: str
    message: str
    of: int
    tokens: int


class ReadingAnswer(TypedDict):
    """What a sub-agent brought under its reading's name."""

    name: str
    answers: tuple[str, ...]
    citations: tuple[str, ...]
    evidence: list[str]
    spent: Spent
    reads: list[StageRead]


class FanOutState(AgentState, total=False):
    """The state of a plain question, and what the sub-agents brought, in the readings' order."""

    answered: Annotated[list[ReadingAnswer], operator.add]


def build_fan_out(flow: Flow, parts: GraphParts, start_at: str | None = None) -> "AgentGraph":
    """Compile the graph, in which each reading is a question of the flow. `start_at`: the node to
    enter where the question itself is asked about."""
    own = replace(parts.unexpanded, flow=flow)
    if start_at:
        return build_graph(own, start_at)
    graph: StateGraph[FanOutState, ItemContext, Any, Any] = StateGraph(FanOutState)
    graph.add_node("lead", _lead(flow.reading, parts), destinations=("ask_reading", "ask_plainly"))
    graph.add_node("ask_reading", cast(Any, _ask_reading(StageGraph(READING, flow, own))))
    graph.add_node("ask_plainly", build_graph(own))
    graph.add_node("merge", cast(Any, _merge))
    graph.add_edge(START, "lead")
    graph.add_edge("ask_reading", "merge")
    graph.add_edge("ask_plainly", END)
    graph.add_edge("merge", END)
    return cast("AgentGraph", graph.compile())


def _lead(reading_prompt: str, parts: GraphParts) -> Any:
    assert parts.models.expander is not None
    write_readings = make_expander(parts.models.expander, parts.prompts, parts.searcher)

    async def lead(state: FanOutState, runtime: Runtime[ItemContext]) -> Command[Any]:
        context, spent, expansion = runtime.context, state["spent"], runtime.context.listed
        if expansion is None:
            expansion = await write_readings(context)
            spent = spent.plus(usage=expansion.usage)
        else:
            context.event(expansion)
        names = reading_names(expansion)
        if len(names) < 2:
            return Command(update={"spent": spent}, goto="ask_plainly")
        left = max(0, parts.budget.tokens - spent.tokens)
        sends = []
        for place, (name, reading) in enumerate(names.items()):
            alone = parts.prompts.render(reading_prompt, reading=reading)
            asked = ReadingAsked(
                name=name,
                place=place,
                reading=reading,
                message=f"{state['pending'][-1].text}\n\n{alone}",
                of=len(names),
                tokens=left,
            )
            sends.append(Send("ask_reading", asked))
        return Command(update={"spent": spent}, goto=sends)

    return lead


def reading_names(expansion: Expansion) -> Mapping[str, str]:
    """The readings by their names, in their order. A reading's name is what its line alone has of
    what was found for the question's names, and of these names with brackets behind them; the
    longest of several, and the whole line where there is none."""
    titles = {found.title for search in expansion.looked for found in search.found}
    bracketed = [
        re.compile(rf"(?<!\w){re.escape(name)} \([^()]+\)") for name in names_in(expansion.question)
    ]
    borne = []
    for reading in expansion.readings:
        names = {title for title in titles if title in reading}
        names.update(match[0] for pattern in bracketed for match in pattern.finditer(reading))
        borne.append({name for name in names if not any(name in one for one in names - {name})})
    apart = [[name for name in own if sum(name in one for one in borne) == 1] for own in borne]
    return {
        max(sorted(own), key=len, default=line): line
        for own, line in zip(apart, expansion.readings, strict=True)
    }


def _ask_reading(stage: StageGraph) -> Any:
    steps, budget = stage.steps, stage.parts.budget

    async def ask_reading(asked: ReadingAsked, runtime: Runtime[ItemContext]) -> StateUpdate:
        context, place = runtime.context, asked["place"]
        with context.lanes.conversation(place):
            ended = await stage.run(
                steps,
                context,
                asked["reading"],
                asked["message"],
                tokens=0,
                option=asked["name"],
                lane=place,
                share=budget.part(asked["of"], asked["tokens"]),
            )
            ended.tell(answers=ended.texts)
        cited = texts_of(ended.prediction.citations)
        name = called(asked["name"], ended.prediction.answers)
        found = {"name": name, "answers": ended.texts, "citations": cited}
        return {"answered": [found | ended.adds]}

    return ask_reading


def _joined(named: Iterable[tuple[str, Sequence[str]]]) -> dict[str, tuple[str, ...]]:
    """Texts by name, each once. A lead may list one thing twice, and it is called the same then."""
    texts: dict[str, dict[str, None]] = {}
    for name, own in named:
        if own:
            texts.setdefault(name, {}).update(dict.fromkeys(own))
    return {name: tuple(own) for name, own in texts.items()}


async def _merge(state: FanOutState, runtime: Runtime[ItemContext]) -> StateUpdate:
    """A reading gets no branch if it has no answers, or its conversation cannot be read. If none
    can be read, nor can the item's answer."""
    context, answered = runtime.context, state["answered"]
    reads = [read for one in answered for read in one["reads"]]
    how, problem = how_read(reads, is_lost=all(read["how"] == UNREADABLE for read in reads))
    prediction = Prediction(
        answers=_joined((one["name"], one["answers"]) for one in answered),
        citations=_joined((one["name"], one["citations"]) for one in answered),
    )
    predicted = Predicted.read(prediction.model_dump(mode="json"))
    context.event(AnswerRead(how=how, problem=problem, prediction=predicted))
    return {
        "prediction": prediction,
        "how": how,
        "problem": problem,
        "evidence": [id for one in answered for id in one["evidence"]],
        "spent": sum((one["spent"] for one in answered), state["spent"]),
    }
