"""How each event of a trace changes the state.

A node writes its event and returns the change that this module gives for it; a fork starts with the
events of another run and applies the same changes. So a run and its forks cannot differ.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from branchwise.agents.prediction import Prediction
from branchwise.graphs.extraction.materials import extracts_after
from branchwise.graphs.state import AgentState, Spent
from branchwise.trace.artifacts import ShownPassage
from branchwise.trace.events import (
    AnswerRead,
    BudgetSpent,
    Checked,
    Compacted,
    ContextTrimmed,
    Expansion,
    Extraction,
    Model,
    Stage,
    Start,
    Tool,
)
from branchwise.trace.parts import ModelQuestion, Usage

StateUpdate = dict[str, Any]
"""The change that a step returns: `messages` and `evidence` are added, the rest is replaced."""
_LEFT = "left"
SPANS_OF = "spans_of"
"""Of a result: ids of the passages that extraction replaced by spans."""
NOT_RUN: Literal["not_run"] = "not_run"
"""Why a call beyond the budget has no result; it costs no call."""


def folded(state: AgentState, change: Mapping[str, Any]) -> AgentState:
    before: Mapping[str, Any] = state
    added = [key for key in ("messages", "evidence") if key in change]
    grown = {key: [*before.get(key, ()), *change[key]] for key in added}
    return AgentState(**{**state, **change, **grown})  # type: ignore[typeddict-item]


def begun(start: Start | Stage) -> AgentState:
    pending: list[BaseMessage] = [SystemMessage(start.system), HumanMessage(start.content)]
    if isinstance(start, Stage):
        for n, text in enumerate(start.turns):
            pending.append(HumanMessage(text) if n % 2 else AIMessage(text))
    return AgentState(
        messages=[],
        pending=pending,
        evidence=given_ids(start),
        given=[passage.title for passage in _given(start)],
        spent=Spent(),
        omitted=0,
        finish="stop",
    )


def given_ids(start: Start | Stage) -> list[str]:
    """Ids of the passages that the user's message numbers, in that order."""
    return [passage.id for passage in _given(start)]


def _given(start: Start | Stage) -> Sequence[ShownPassage]:
    return start.given.passages if isinstance(start, Start) else ()


def expanded(expansion: Expansion, state: AgentState, shown: str) -> StateUpdate:
    """Append the readings, as the agent sees them, to the user's message, which is the last. One
    message, because several servers refuse two user messages in a row."""
    change: StateUpdate = {"spent": state["spent"].plus(usage=expansion.usage)}
    if expansion.readings and shown:
        *before, question = state["pending"]
        change["pending"] = [*before, HumanMessage(f"{question.text}\n\n{shown}")]
        change["readings"] = expansion.readings
    return change


def told(note: BudgetSpent, state: AgentState) -> StateUpdate:
    return {"pending": [*state["pending"], HumanMessage(note.text)], "told": True}


def trimmed(event: ContextTrimmed) -> StateUpdate:
    """More of the oldest tool results are left out of requests."""
    return {"omitted": event.omitted}


def compacted(event: Compacted) -> StateUpdate:
    """More of the oldest tool results are compacted in requests."""
    return {"compacted": event.results, "reopens": event.reopens}


def entering(state: AgentState) -> list[BaseMessage]:
    """What is pending as it joins the conversation: results end with what is left of the budget."""
    joined: list[BaseMessage] = []
    for message in state["pending"]:
        if left := message.additional_kwargs.get(_LEFT):
            others = {k: v for k, v in message.additional_kwargs.items() if k != _LEFT}
            update = {"content": f"{message.text}\n\n{left}", "additional_kwargs": others}
            message = message.model_copy(update=update)
        joined.append(message)
    return joined


def turned(
    turn: Model, message: AIMessage, joined: Sequence[BaseMessage], state: AgentState
) -> StateUpdate:
    """The pending messages join the conversation, as `entering` has them, then the reply."""
    return {
        "messages": [*joined, message],
        "pending": [],
        "spent": state["spent"].plus(turns=1, usage=turn.usage),
        "finish": turn.finish,
        "read": turn.usage.input,
        **({"told": False} if state.get("told") else {}),
    }


def answered(results: Sequence[Tool], state: AgentState) -> StateUpdate:
    messages = [
        ToolMessage(
            result.content,
            tool_call_id=result.call.id or "",
            name=result.call.name or "",
            artifact=result.artifact,
            additional_kwargs={_LEFT: result.left} if result.left else {},
        )
        for result in results
    ]
    usage = tokens_of([one for result in results for one in result.asked])
    made = sum(result.failure != NOT_RUN for result in results)
    change = {
        "pending": messages,
        "evidence": [passage.id for result in results for passage in result.found.passages],
        "spent": state["spent"].plus(calls=made, usage=usage),
    }
    return {**change, "kept": {}} if state.get("kept") else change


def extracted(extraction: Extraction, state: AgentState) -> StateUpdate:
    """The agent sees only what was copied out of a tool result."""
    pending, spent = list(state["pending"]), state["spent"]
    before = pending[extraction.of]
    spans_of = [passage.id for passage in extraction.passages if passage.how != "failed"]
    about = {**before.additional_kwargs, SPANS_OF: spans_of}
    update = {"content": extraction.content, "additional_kwargs": about}
    pending[extraction.of] = before.model_copy(update=update)
    for call in extraction.model_calls:
        spent = spent.plus(usage=call.usage)
    return {"pending": pending, "spent": spent, "extracts": extracts_after(extraction, state)}


def repaired(usage: Usage, state: AgentState) -> StateUpdate:
    """The answer written once more is read as it is, and joins no conversation."""
    return {"spent": state["spent"].plus(usage=usage)}


def concluded(answer: AnswerRead) -> StateUpdate:
    prediction = Prediction.model_validate(answer.prediction.record())
    return {"prediction": prediction, "how": answer.how, "problem": answer.problem}


def checked(check: Checked, state: AgentState) -> StateUpdate:
    """The agent is told what is missing, if anything is; the last answer stays until the next."""
    change: StateUpdate = {"spent": state["spent"].plus(usage=check.usage)}
    if check.content:
        change["pending"] = [HumanMessage(check.content)]
        change["checks"] = state.get("checks", 0) + 1
    return change


def tokens_of(asked: Sequence[ModelQuestion]) -> Usage:
    """The tokens of a plug-in's own model calls, which are part of the item's budget."""
    usages = [one.usage for one in asked if one.usage]
    return Usage(sum(u.input for u in usages), sum(u.output for u in usages))
