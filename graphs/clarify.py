"""The pipeline of questions back as a graph: `[answers]? -> [detection]? -> question -> options`.

Each stage is a conversation of its own (`graphs/stage.py`), which begins with its own prompt and
has all turns and calls of the budget; tokens and seconds are the item's. Options are answered at
the same time, each with an equal part of the tokens that are left: all of them, or those that a
person chooses, and then a question that has not several is answered as it is.
With shared turns, the options of a long question would be answered without a search; with equal
parts of the tokens, what one option may spend does not depend on the others.
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

from branchwise.agents.answer import UNREADABLE
from branchwise.agents.prediction import Prediction
from branchwise.corpora.clarification import ClarificationFormatError, parse_clarification
from branchwise.graphs.flows import GraphParts
from branchwise.graphs.pipeline import (
    CLARIFICATION,
    MAX_OPTIONS,
    OPTION_ANSWERS,
    VERDICT,
    ChoiceError,
    Person,
    PersonAsked,
    Pipeline,
    different_answers,
    read_choice,
    with_answers,
)
from branchwise.graphs.reduce import StateUpdate
from branchwise.graphs.stage import (
    StageGraph,
    StageRead,
    counted_as_spent,
    how_read,
    texts_of,
)
from branchwise.graphs.state import ItemContext, Spent
from branchwise.trace.events import AnswerRead, StageEnded
from branchwise.trace.parts import Predicted

if TYPE_CHECKING:
    from branchwise.graphs.flows import AgentGraph


class OptionAsked(TypedDict):
    """What the node of an option gets: its place among the options, the question with it, the
    question back, and how many tokens of the budget count as spent."""

    option: str
    place: int
    question: str
    asked: str
    tokens: int


class OptionAnswer(TypedDict):
    """An option with the texts that answer it, and the passages that were found for it."""

    option: str
    answers: list[str]
    evidence: list[str]


class ClarifyState(TypedDict, total=False):
    """What is known between stages. `evidence`, `spent`, `reads` and `answered` grow.

    `pending`: its last message asks for the question back where that is not made from listed
    answers. `listed`: all answers to the question, by reading. `ambiguous`: None where no verdict
    could be read. `asked`: the question back. `chosen`: what is to be answered, options or a
    person's own words; `answered`: the same with the answers, in order, each once. `reads`: how the
    answer of each conversation was read.
    """

    pending: list[BaseMessage]
    listed: dict[str, list[str]]
    ambiguous: bool | None
    asked: str
    chosen: list[str]
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
    # Neither a verdict nor a question back can lack an answer.
    unchecked = replace(parts, models=replace(parts.models, checker=None))
    stages = {
        name: StageGraph(name, flow, unchecked if name in ("detection", "question") else parts)
        for name, flow in pipeline.stages.items()
    }
    graph: StateGraph[ClarifyState, ItemContext, Any, Any] = StateGraph(ClarifyState)
    # Where a question goes that has not several readings.
    plain = "list_answers" if pipeline.person and not pipeline.lists else "conclude"
    asks = stages.get("question")
    graph.add_node("ask_back", _ask_back(asks, pipeline) if asks else _take_question)
    graph.add_node("conclude", _conclude(pipeline))
    graph.add_edge("conclude", END)
    first = "ask_back"
    if pipeline.detects:
        by_itself = stages.get("detection")
        detect = _detect(by_itself, plain) if by_itself else _detect_by_answers(plain)
        graph.add_node("detect", detect, destinations=("ask_back", plain))
        first = "detect"
    if "answers" in stages:
        graph.add_node("list_answers", _list_answers(stages["answers"]))
        graph.add_edge("list_answers", first if pipeline.lists else "conclude")
        first = "list_answers" if pipeline.lists else first
    if pipeline.answers:
        choose = _choose(pipeline, parts, plain)
        graph.add_node("choose", choose, destinations=("answer_option", plain))
        graph.add_node("answer_option", _answer_option(stages["option"], pipeline))
        graph.add_edge("answer_option", "conclude")
    graph.add_edge("ask_back", "choose" if pipeline.answers else "conclude")
    graph.add_edge(START, first)
    return cast("AgentGraph", graph.compile())


def _list_answers(stage: StageGraph) -> Any:
    steps = stage.steps

    async def list_answers(state: ClarifyState, runtime: Runtime[ItemContext]) -> StateUpdate:
        ended = await stage.run(steps, runtime.context, tokens=state["spent"].tokens)
        ended.tell(answers=ended.texts)
        listed = {name: list(texts) for name, texts in ended.prediction.answers.items()}
        return {**ended.adds, "listed": listed}

    return list_answers


def _detect(stage: StageGraph, plain: str) -> Any:
    steps = stage.steps

    async def detect(state: ClarifyState, runtime: Runtime[ItemContext]) -> Command[str]:
        ended = await stage.run(steps, runtime.context, tokens=state["spent"].tokens)
        verdict = ended.output.get(VERDICT)
        ended.tell(ambiguous=verdict)
        update = {**ended.adds, "ambiguous": verdict}
        return Command(update=update, goto="ask_back" if verdict else plain)

    return detect


def _detect_by_answers(plain: str) -> Any:
    """Several different answers mean several readings; none, that there is one."""

    async def detect(state: ClarifyState, runtime: Runtime[ItemContext]) -> Command[str]:
        listed, is_read = texts_of(state["listed"]), state["reads"][-1]["how"] != UNREADABLE
        verdict = len(different_answers(listed)) > 1 if is_read else None
        runtime.context.event(StageEnded(name="detection", ambiguous=verdict, answers=listed))
        return Command(update={"ambiguous": verdict}, goto="ask_back" if verdict else plain)

    return detect


def _ask_back(stage: StageGraph, pipeline: Pipeline) -> Any:
    steps = stage.steps

    async def ask_back(state: ClarifyState, runtime: Runtime[ItemContext]) -> StateUpdate:
        context = runtime.context
        message = str(state["pending"][-1].text)
        if pipeline.asks == "answers":
            message = with_answers(context.question, texts_of(state["listed"]))
        ended = await stage.run(steps, context, message=message, tokens=state["spent"].tokens)
        asked = ended.output.get(CLARIFICATION, "")
        options, problem = _offered(asked)
        ended.tell(question=asked, options=options, problem=ended.problem or problem)
        return {**ended.adds, "asked": asked}

    return ask_back


async def _take_question(state: ClarifyState, runtime: Runtime[ItemContext]) -> StateUpdate:
    asked = runtime.context.asked_back
    options, problem = _offered(asked)
    runtime.context.event(
        StageEnded(name="question", question=asked, options=options, problem=problem)
    )
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


def different_options(asked: str) -> list[str]:
    """The options of a question back that can be answered, each once; none if it is not of the
    form."""
    return list(dict.fromkeys(_offered(asked)[0]))[:MAX_OPTIONS]


def _choose(pipeline: Pipeline, parts: GraphParts, plain: str) -> Any:
    """Which options are answered: those that a person means, or else all."""

    async def choose(state: ClarifyState, runtime: Runtime[ItemContext]) -> Command[Any]:
        context = runtime.context
        options: Sequence[str] = different_options(state["asked"])
        if len(options) < (2 if pipeline.person else 1):
            return Command(goto=plain)
        if pipeline.person and context.person:
            # From its beginning whenever it goes on behind an interrupt: nothing is told before.
            options = await _chosen(context.person, context, state["asked"], options)
            context.event(StageEnded(name="choice", options=tuple(options)))
        tokens = counted_as_spent(parts.budget, state["spent"], len(options))
        asked, sends = state["asked"], []
        for place, option in enumerate(options):
            question = parse_clarification(asked).chosen(context.question, option)
            to_answer = OptionAsked(
                option=option, place=place, question=question, asked=asked, tokens=tokens
            )
            sends.append(Send("answer_option", to_answer))
        return Command(update={"chosen": list(options)}, goto=sends)

    return choose


async def _chosen(
    person: Person, context: ItemContext, asked: str, options: Sequence[str]
) -> tuple[str, ...]:
    """What a person says, who is asked until it is a choice. Their time is not the item's."""
    problem = ""
    while True:
        to_person = PersonAsked(
            question=context.question,
            clarification_question=asked,
            options=list(options),
            problem=problem,
        )
        before = context.clock()
        choice = await person(to_person)
        context.waited += context.clock() - before
        try:
            return read_choice(choice, options)
        except ChoiceError as error:
            problem = str(error)


def _answer_option(stage: StageGraph, pipeline: Pipeline) -> Any:
    stage = replace(stage, parts=stage.parts.unexpanded)
    steps = stage.steps

    async def answer_option(asked: OptionAsked, runtime: Runtime[ItemContext]) -> StateUpdate:
        context, place, option = runtime.context, asked["place"], asked["option"]
        in_turns = pipeline.in_turns
        with context.lanes.conversation(place):
            ended = await stage.run(
                steps,
                context,
                asked["question"],
                context.question if in_turns else asked["question"],
                tokens=asked["tokens"],
                turns=(asked["asked"], option) if in_turns else (),
                option=option,
                lane=place,
            )
            ended.tell(answers=ended.texts)
        evidence = list(dict.fromkeys(ended.state["evidence"]))
        answer = OptionAnswer(option=option, answers=list(ended.texts), evidence=evidence)
        return {**ended.adds, "answered": [answer]}

    return answer_option


def _conclude(pipeline: Pipeline) -> Any:
    async def conclude(state: ClarifyState, runtime: Runtime[ItemContext]) -> StateUpdate:
        context = runtime.context
        context.lanes.close()
        how, problem = _reading(pipeline, state)
        answered = {option["option"]: option["answers"] for option in state.get("answered", ())}
        output = None if how == UNREADABLE else _output(pipeline, state, answered)
        is_plain = pipeline.person and "chosen" not in state
        answers = state["listed"] if is_plain else answered
        prediction = Prediction(
            answers={name: tuple(texts) for name, texts in answers.items()}, task_output=output
        )
        predicted = Predicted.read(prediction.model_dump(mode="json"))
        context.event(AnswerRead(how=how, problem=problem, prediction=predicted))
        return {"prediction": prediction, "how": how, "problem": problem}

    return conclude


def _output(
    pipeline: Pipeline, state: ClarifyState, answered: dict[str, list[str]]
) -> dict[str, Any]:
    """Verdict, question back and answers, as far as the pipeline has them. An option that is
    offered twice has its answers twice; one in a person's own words is behind all that are offered.
    """
    asked = state.get("asked", "")
    output: dict[str, Any] = {VERDICT: state["ambiguous"]} if pipeline.detects else {}
    output[CLARIFICATION] = asked
    if pipeline.answers:
        offered = _offered(asked)[0]
        offered += tuple(option for option in answered if option not in offered)
        output[OPTION_ANSWERS] = [
            [option, answered[option]] for option in offered if option in answered
        ]
    return output


def _reading(pipeline: Pipeline, state: ClarifyState) -> tuple[str, str | None]:
    """How the item's answer was read. It could not be if its first decision could not: whether the
    question is ambiguous, or else what is asked back. For a person it could not be if no answer
    could."""
    reads: Sequence[StageRead] = state.get("reads", ())
    failed = {read["of"] for read in reads if read["how"] == UNREADABLE}
    if pipeline.person:
        shown = [f"option {option}" for option in state.get("chosen", ())] or ["answers"]
        is_undecided = all(name in failed for name in shown)
    else:
        is_undecided = state["ambiguous"] is None if pipeline.detects else "question" in failed
    return how_read(reads, is_lost=is_undecided)
