"""A model's reply as the trace keeps it, and the message made from it."""

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AIMessage

from branchwise.agents.reasoning import native
from branchwise.agents.reply import Reply
from branchwise.agents.response_bodies import make_call
from branchwise.graphs.state import AgentState
from branchwise.trace.events import Model
from branchwise.trace.parts import Call


def recorded_turn(reply: Reply, *, turn: int | None = None, role: str | None = None) -> Model:
    """The event of a reply: enough to rebuild its message."""
    message = reply.message
    return Model(
        role=role,
        turn=turn,
        text=str(message.text),
        tool_calls=tuple(map(_call, message.tool_calls)),
        invalid_tool_calls=tuple(map(_call, message.invalid_tool_calls)),
        reasoning=reply.reasoning,
        reasoning_field=reply.reasoning_field,
        reasoning_details=reply.reasoning_details,
        finish=reply.finish,
        reason=reply.reason,
        usage=reply.usage,
        seconds=round(reply.seconds, 4),
        replayed=reply.replayed,
    )


def message_of(turn: Model) -> AIMessage:
    """The reply that a turn recorded."""
    valid = [{**call.record(), "type": "tool_call"} for call in turn.tool_calls]
    invalid = [_invalid(call) for call in turn.invalid_tool_calls]
    reasoning = native(turn.reasoning, turn.reasoning_field, turn.reasoning_details)
    return AIMessage(
        content=turn.text,
        tool_calls=valid,
        invalid_tool_calls=invalid,
        additional_kwargs=reasoning,
    )


def calls_of(state: AgentState) -> list[Mapping[str, Any]]:
    """The calls of the last turn in order: the position of one is its `of` in the trace."""
    last = state["messages"][-1]
    assert isinstance(last, AIMessage)
    return [*last.tool_calls, *last.invalid_tool_calls]


def _call(call: Mapping[str, Any]) -> Call:
    return Call(call["id"], call["name"], call["args"])


def _invalid(call: Call) -> dict[str, Any]:
    """The record does not say what was wrong with a call: read it again."""
    made = make_call(call.name or "", call.args, str(call.id))
    why = made.get("error", "the call cannot be made")
    return {**call.record(), "error": why, "type": "invalid_tool_call"}
