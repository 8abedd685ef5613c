"""Several tries as a graph: the same question in conversations at the same time, then their merge.

Each try is a conversation of the task's own flow (`graphs/stage.py`) with all turns and calls of
the budget and an equal part of its tokens; seconds are the item's. Tries make equal requests: the
journal tells them apart by their number (`ConversationJournal`), which is also added to the seed.
"""

import operator
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, cast

from langchain_core.messages import BaseMessage
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Send
from typing_extensions import TypedDict

from branchwise.agents.answer import UNREADABLE
from branchwise.agents.prediction import MAX_BRANCHES, MAX_ENTITIES, Prediction, distinct
from branchwise.base.normalise import normalise
from branchwise.base.text import one_line
from branchwise.graphs.designs import MERGE_PROMPT, SeveralTries
from branchwise.graphs.flows import GraphParts
from branchwise.graphs.reduce import StateUpdate
from branchwise.graphs.stage import (
    StageGraph,
    StageRead,
    counted_as_spent,
    how_read,
    texts_of,
)
from branchwise.graphs.state import ItemContext, Spent
from branchwise.trace.events import TRY, AnswerRead, StageEnded
from branchwise.trace.parts import Predicted

if TYPE_CHECKING:
    from branchwise.graphs.flows import AgentGraph

MERGED = "merge"


class TryAsked(TypedDict):
    """What the node of a try gets: its number, from 1, the user's message, and how many tokens of
    the budget count as spent."""

    number: int
    message: str
    tokens: int


class TriesState(TypedDict, total=False):
    """What is known of the tries. `pending`: its last message is the user's. `tried`: by number,
    what those that could be read answered. `reads`: how each conversation's answer was read."""

    pending: list[BaseMessage]
    tried: Annotated[dict[int, Prediction], operator.or_]
    reads: Annotated[list[StageRead], operator.add]
    evidence: Annotated[list[str], operator.add]
    spent: Annotated[Spent, operator.add]
    prediction: Prediction
    how: str
    problem: str | None


def merged(tried: Sequence[Prediction], *, votes: int = 1) -> Prediction:
    """The branches that at least `votes` of the tries have, with the answers that as many have
    there, and all that was cited for them. Names and answers that are the same to every metric
    (`normalise`) are one, in the first spelling; in the order in which they first come."""
    names: dict[str, str] = {}
    texts: dict[str, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
    cited: dict[str, list[str]] = defaultdict(list)
    for number, own in enumerate(tried):
        for name, answers in own.answers.items():
            key = normalise(name)
            names.setdefault(key, name)
            texts[key][number] += answers
            cited[key] += own.citations.get(name, ())
    kept = [key for key in names if len(texts[key]) >= votes][:MAX_BRANCHES]
    return Prediction(
        answers={names[key]: _voted(texts[key].values(), votes) for key in kept},
        citations={names[key]: distinct(cited[key], MAX_ENTITIES) for key in kept if cited[key]},
    )


def _voted(tries: Iterable[Sequence[str]], votes: int) -> tuple[str, ...]:
    spellings: dict[str, str] = {}
    counts = Counter[str]()
    for texts in tries:
        counts.update({normalise(text) for text in texts})
        for text in texts:
            spellings.setdefault(normalise(text), text)
    return distinct((text for key, text in spellings.items() if counts[key] >= votes), MAX_ENTITIES)


def left_out(tried: Sequence[Prediction], kept: Prediction) -> tuple[str, ...]:
    """Answers of tries that their merge has under no branch."""
    known = {normalise(text) for text in texts_of(kept.answers)}
    return tuple(t for t in texts_of(merged(tried).answers) if normalise(t) not in known)


def build_tries(tries: SeveralTries, parts: GraphParts) -> "AgentGraph":
    """Compile `START -> a node for each try -> merge -> END`."""
    graph: StateGraph[TriesState, ItemContext, Any, Any] = StateGraph(TriesState)

    def send(state: TriesState) -> list[Send]:
        count = tries.tries
        tokens = counted_as_spent(parts.budget, state["spent"], count)
        message = str(state["pending"][-1].text)
        asked = (TryAsked(number=n + 1, message=message, tokens=tokens) for n in range(count))
        return [Send(TRY, one) for one in asked]

    graph.add_conditional_edges(START, send, [TRY])
    graph.add_node(TRY, _try(StageGraph(TRY, tries.flow, parts)))
    if tries.lists:
        # It only reads what the tries answered.
        models = replace(parts.models, expander=None, extractor=None)
        own = replace(parts, models=models, tools=(), plugins=(), shows_budget=False)
        graph.add_node(MERGED, _list_merge(StageGraph(MERGED, tries.lists, own)))
    else:
        graph.add_node(MERGED, _vote_merge(tries.system.merge == "majority"))
    graph.add_edge(TRY, MERGED)
    graph.add_edge(MERGED, END)
    return cast("AgentGraph", graph.compile())


def _try(stage: StageGraph) -> Any:
    steps = stage.steps

    async def attempt(asked: TryAsked, runtime: Runtime[ItemContext]) -> StateUpdate:
        context, number = runtime.context, asked["number"]
        with context.lanes.conversation(number - 1):
            ended = await stage.run(
                steps,
                context,
                message=asked["message"],
                tokens=asked["tokens"],
                option=str(number),
                lane=number - 1,
                sample=number,
            )
            ended.tell(answers=ended.texts)
        is_read = ended.state["how"] != UNREADABLE
        return {**ended.adds, "tried": {number: ended.prediction} if is_read else {}}

    return attempt


def _vote_merge(by_majority: bool) -> Any:
    async def merge(state: TriesState, runtime: Runtime[ItemContext]) -> StateUpdate:
        tried, how = _readable(state), "majority" if by_majority else "union"
        prediction = merged(tried, votes=len(tried) // 2 + 1 if by_majority else 1)
        if tried:
            ended = StageEnded(
                name=MERGED,
                option=how,
                answers=texts_of(prediction.answers),
                left_out=left_out(tried, prediction),
            )
            runtime.context.event(ended)
        return _concluded(runtime.context, state["reads"], bool(tried), prediction)

    return merge


def _list_merge(stage: StageGraph) -> Any:
    steps, prompts = stage.steps, stage.parts.prompts

    async def merge(state: TriesState, runtime: Runtime[ItemContext]) -> StateUpdate:
        context, tried = runtime.context, state["tried"]
        if not tried:
            return _concluded(context, state["reads"], False, Prediction())
        message = prompts.render(
            MERGE_PROMPT, message=str(state["pending"][-1].text), answers=_shown(tried)
        )
        ended = await stage.run(steps, context, message=message, tokens=state["spent"].tokens)
        ended.tell(answers=ended.texts, left_out=left_out(_readable(state), ended.prediction))
        reads = [*state["reads"], *ended.adds["reads"]]
        is_read = ended.state["how"] != UNREADABLE
        return {**ended.adds, **_concluded(context, reads, is_read, ended.prediction)}

    return merge


def _readable(state: TriesState) -> list[Prediction]:
    return [prediction for _, prediction in sorted(state["tried"].items())]


def _shown(tried: Mapping[int, Prediction]) -> str:
    """The answers as the model that merges them sees them: a line for each branch of each try."""
    lines = []
    for number, prediction in sorted(tried.items()):
        lines.append(f"Try {number}:" if prediction.answers else f"Try {number}: no answer")
        for name, texts in prediction.answers.items():
            line = f"- {name}: {'; '.join(texts) or 'no answer'}"
            if cited := prediction.citations.get(name):
                line += f" (citations: {', '.join(cited)})"
            lines.append(one_line(line))
    return "\n".join(lines)


def _concluded(
    context: ItemContext, reads: Sequence[StageRead], is_read: bool, prediction: Prediction
) -> StateUpdate:
    """The end of the item: it could not be read if no try could, or the list made of them."""
    # What it is lost with is the last: the list, where there is one.
    how, problem = how_read(reads if is_read else reads[-1:], is_lost=not is_read)
    prediction = prediction if is_read else Prediction()
    predicted = Predicted.read(prediction.model_dump(mode="json"))
    context.event(AnswerRead(how=how, problem=problem, prediction=predicted))
    return {"prediction": prediction, "how": how, "problem": problem}
