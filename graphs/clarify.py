"""The pipeline of questions back as a graph: `[answers]? -> [detection]? -> question -> options`.

Each stage is a conversation of its own (`graphs/stage.py`), which begins with its own prompt and
has all turns and calls of the budget; tokens and seconds are the item's. Options are answered at
the same time, each with an equal part of the tokens that are left.
"""

import operator
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, cast

from langchain_core.messages import BaseMessage
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command, Send
from typing_extensions import TypedDict

from branchwise.agents.clarification_format import CLARIFICATION
from branchwise.agents.prediction import Prediction
from branchwise.agents.verdict_format import VERDICT
from branchwise.corpora.clarification import ClarificationFormatError, parse_clarification
from branchwise.graphs.flows.ambiguity import different_answers
from branchwise.graphs.flows.clarify import MAX_OPTIONS, OPTION_ANSWERS, Pipeline, with_answers
from branchwise.graphs.flows.flow import GraphParts
from branchwise.graphs.reduce import StateUpdate
from branchwise.graphs.stage import UNREADABLE, StageGraph, StageRead
from branchwise.graphs.state import ItemContext, Spent
from branchwise.trace.events import AnswerRead, StageEnded
from branchwise.trace.parts import Predicted

if TYPE_CHECKING:
    from branchwise.graphs.flows.flow import AgentGraph

_READ_HOW = ("strict", "tolerant", "repaired")
"""How answers are read, the best first."""


class OptionAsked(TypedDict):
    """What the node of an option gets: its place among the options, the question with it, and how
    many tokens of the budget count as spent."""

    option: str
    place: int
    question: str
    tokens: int


class OptionAnswer(TypedDict):
    """An option with the texts that answer it."""

    option: str
    answers: list[str]


class ClarifyState(TypedDict, total=False):
    """What is known between stages. `evidence`, `spent`, `reads` and `answered` grow.

    `pending`: its last message asks for the question back where that is not made from listed
    answers. `listed`: all answers to the question. `ambiguous`: None where no verdict could be
    read. `asked`: the question back. `answered`: its options, in order, each once. `reads`: how the
    answer of each conversation was read.
    """

    pending: list[BaseMessage]
    listed: list[str]
    ambiguous: bool | None
    asked: str
    answered: Annotated[list[OptionAnswer], operator.add]
    reads: Annotated[list[StageRead], operator.add]
    evidence: Annotated[list[str], operator.add]
    spent: Annotated[Spent, operator.add]
    prediction: Prediction
    how: str
    problem: str | None


def build_pipeline(pipeline: Pipeline, parts: GraphParts) -> "AgentGraph":
    """Compile the graph. A pipeline that finds no question back takes the one that is given
    (`ItemContext.asked_back`)."""
    stages = {name: StageGraph(name, flow, parts) for name, flow in pipeline.stages.items()}
    graph: StateGraph[ClarifyState, ItemContext, Any, Any] = StateGraph(ClarifyState)
    asks = stages.get("question")
    graph.add_node("ask_back", _ask_back(asks, pipeline) if asks else _take_question)
    graph.add_node("conclude", _conclude(pipeline))
    graph.add_edge("conclude", END)
    first = "ask_back"
    if pipeline.detects:
        detect = _detect(stages["detection"]) if "detection" in stages else _detect_by_answers
        graph.add_node("detect", detect, destinations=("ask_back", "conclude"))
        first = "detect"
    if "answers" in stages:
        graph.add_node("list_answers", _list_answers(stages["answers"]))
        graph.add_edge("list_answers", first)
        first = "list_answers"
    if pipeline.answers:
        graph.add_node("choose", _choose(parts), destinations=("answer_option", "conclude"))
        graph.add_node("answer_option", _answer_option(stages["option"]))
        graph.add_edge("answer_option", "conclude")
    graph.add_edge("ask_back", "choose" if pipeline.answers else "conclude")
    graph.add_edge(START, first)
    return cast("AgentGraph", graph.compile())


def _list_answers(stage: StageGraph) -> Any:
    steps = stage.steps

    async def list_answers(state: ClarifyState, runtime: Runtime[ItemContext]) -> StateUpdate:
        context = runtime.context
        question, tokens = context.question, state["spent"].tokens
        ended = await stage.run(steps, context, question, question, tokens)
        ended.tell(answers=ended.texts)
        return {**ended.adds, "listed": list(ended.texts)}

    return list_answers


def _detect(stage: StageGraph) -> Any:
    steps = stage.steps

    async def detect(state: ClarifyState, runtime: Runtime[ItemContext]) -> Command[str]:
        context = runtime.context
        question, tokens = context.question, state["spent"].tokens
        ended = await stage.run(steps, context, question, question, tokens)
        verdict = ended.output.get(VERDICT)
        ended.tell(ambiguous=verdict)
        return _detected(verdict, ended.adds)

    return detect


async def _detect_by_answers(state: ClarifyState, runtime: Runtime[ItemContext]) -> Command[str]:
    """Several different answers mean several readings; none, that there is one."""
    listed, is_read = state["listed"], state["reads"][-1]["how"] != UNREADABLE
    verdict = len(different_answers(listed)) > 1 if is_read else None
    ended = StageEnded(name="detection", ambiguous=verdict, answers=tuple(listed))
    runtime.context.event(ended)
    return _detected(verdict, {})


def _detected(verdict: bool | None, adds: StateUpdate) -> Command[str]:
    following = "ask_back" if verdict else "conclude"
    return Command(update={**adds, "ambiguous": verdict}, goto=following)


def _ask_back(stage: StageGraph, pipeline: Pipeline) -> Any:
    steps = stage.steps

    async def ask_back(state: ClarifyState, runtime: Runtime[ItemContext]) -> StateUpdate:
        context, question = runtime.context, runtime.context.question
        message = str(state["pending"][-1].text)
        if pipeline.asks == "answers":
            message = with_answers(question, state["listed"])
        ended = await stage.run(steps, context, question, message, state["spent"].tokens)
        asked = ended.output.get(CLARIFICATION, "")
        options, problem = _offered(asked)
        ended.tell(question=asked, options=options, problem=ended.problem or problem)
        return {**ended.adds, "asked": asked}

    return ask_back


async def _take_question(state: ClarifyState, runtime: Runtime[ItemContext]) -> StateUpdate:
    """The question back is given."""
    asked = runtime.context.asked_back
    options, problem = _offered(asked)
    ended = StageEnded(name="question", question=asked, options=options, problem=problem)
    runtime.context.event(ended)
    return {"asked": asked}


def _offered(asked: str) -> tuple[tuple[str, ...], str | None]:
    """The options of a question back, and why there are none or not all are answered."""
    if not asked:
        return (), None
    try:
        options = parse_clarification(asked).options
    except ClarificationFormatError as error:
        return (), str(error)
    several = len(set(options))
    few = several <= MAX_OPTIONS
    return options, None if few else f"of {several} options the first {MAX_OPTIONS} are answered"


def _choose(parts: GraphParts) -> Any:
    """Who is asked back means each of the options."""

    async def choose(state: ClarifyState, runtime: Runtime[ItemContext]) -> Command[Any]:
        options = list(dict.fromkeys(_offered(state["asked"])[0]))[:MAX_OPTIONS]
        if not options:
            return Command(goto="conclude")
        asked = parse_clarification(state["asked"])
        left = max(0, parts.budget.tokens - state["spent"].tokens)
        tokens = parts.budget.tokens - left // len(options)
        question = runtime.context.question
        sends = [
            OptionAsked(
                option=option,
                place=place,
                question=asked.chosen(question, option),
                tokens=tokens,
            )
            for place, option in enumerate(options)
        ]
        return Command(goto=[Send("answer_option", asked) for asked in sends])

    return choose


def _answer_option(stage: StageGraph) -> Any:
    # An option is a reading already: there is nothing to expand.
    models = replace(stage.parts.models, expander=None)
    stage = replace(stage, parts=replace(stage.parts, models=models))
    steps = stage.steps

    async def answer_option(asked: OptionAsked, runtime: Runtime[ItemContext]) -> StateUpdate:
        context, place = runtime.context, asked["place"]
        option, question = asked["option"], asked["question"]
        try:
            ended = await stage.run(
                steps, context, question, question, asked["tokens"], option=option, lane=place
            )
            ended.tell(answers=ended.texts)
        except BaseException:
            # The item ends: what the others have done so far belongs to its trace.
            context.lanes.close()
            raise
        context.lanes.end(place)
        return {**ended.adds, "answered": [OptionAnswer(option=option, answers=list(ended.texts))]}

    return answer_option


def _conclude(pipeline: Pipeline) -> Any:
    async def conclude(state: ClarifyState, runtime: Runtime[ItemContext]) -> StateUpdate:
        context = runtime.context
        context.lanes.close()
        how, problem = _reading(pipeline, state)
        answered = {one["option"]: one["answers"] for one in state.get("answered", ())}
        output = None if how == UNREADABLE else _output(pipeline, state, answered)
        prediction = Prediction(
            answers={option: tuple(texts) for option, texts in answered.items()},
            task_output=output,
        )
        predicted = Predicted.read(prediction.model_dump(mode="json"))
        context.event(AnswerRead(how=how, problem=problem, prediction=predicted))
        return {"prediction": prediction, "how": how, "problem": problem}

    return conclude


def _output(
    pipeline: Pipeline, state: ClarifyState, answered: dict[str, list[str]]
) -> dict[str, Any]:
    """Verdict, question back and answers, as far as the pipeline has them. An option that is
    offered twice has its answers twice."""
    asked = state.get("asked", "")
    output: dict[str, Any] = {VERDICT: state["ambiguous"]} if pipeline.detects else {}
    output[CLARIFICATION] = asked
    if pipeline.answers:
        offered = _offered(asked)[0]
        output[OPTION_ANSWERS] = [[one, answered[one]] for one in offered if one in answered]
    return output


def _reading(pipeline: Pipeline, state: ClarifyState) -> tuple[str, str | None]:
    """How the item's answer was read: as the worst of those that could be, and the first problem.

    It could not be if its first decision could not: whether the question is ambiguous, or else what
    is asked back.
    """
    reads: Sequence[StageRead] = state.get("reads", ())
    failed = {read["of"]: read["problem"] for read in reads if read["how"] == UNREADABLE}
    problem = next((f"{of}: {why}" for of, why in failed.items()), None)
    undecided = state["ambiguous"] is None if pipeline.detects else "question" in failed
    if undecided:
        return UNREADABLE, problem
    hows = [read["how"] for read in reads if read["how"] in _READ_HOW]
    return max(hows, key=_READ_HOW.index, default=_READ_HOW[0]), problem
