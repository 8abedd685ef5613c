"""A model's reply as a trace keeps it, and conversations that must fit a context window."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from branchwise.agents.reasoning import native
from branchwise.agents.reply import Reply
from branchwise.agents.response_bodies import make_call
from branchwise.trace.events import Model
from branchwise.trace.parts import Call, Usage

if TYPE_CHECKING:
    from branchwise.graphs.state import AgentState


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
    valid = [{**call.record(), "type": "tool_call"} for call in turn.tool_calls]
    invalid = [_invalid(call) for call in turn.invalid_tool_calls]
    reasoning = native(turn.reasoning, turn.reasoning_field, turn.reasoning_details)
    return AIMessage(
        content=turn.text,
        tool_calls=valid,
        invalid_tool_calls=invalid,
        additional_kwargs=reasoning,
    )


def calls_of(state: "AgentState") -> list[Mapping[str, Any]]:
    """The calls of the last turn in order: the position of one is its `of` in the trace."""
    last = state["messages"][-1]
    assert isinstance(last, AIMessage)
    return calls_made(last)


def calls_made(turn: AIMessage) -> list[Mapping[str, Any]]:
    """The calls of a turn, in the order of their results."""
    return [*turn.tool_calls, *turn.invalid_tool_calls]


def without_rewritten(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Where a node answered for the agent, without the agent's own message: several servers refuse
    two assistant messages in a row."""
    kept: list[BaseMessage] = []
    for message in messages:
        if kept and isinstance(message, AIMessage) and isinstance(kept[-1], AIMessage):
            kept.pop()
        kept.append(message)
    return kept


def _call(call: Mapping[str, Any]) -> Call:
    return Call(call["id"], call["name"], call["args"])


def _invalid(call: Call) -> dict[str, Any]:
    """The record does not say what was wrong with a call: read it again."""
    made = make_call(call.name or "", call.args, str(call.id))
    why = made.get("error", "the call cannot be made")
    return {**call.record(), "error": why, "type": "invalid_tool_call"}


OMITTED = "[left out to fit the context window; search again if it is needed]"


def oldest_to_omit(messages: Sequence[BaseMessage], omitted: int) -> int:
    """How many of the oldest tool results to leave out next: half of the remaining, rounded up.
    Half, because only one cut per turn is allowed and a refusal does not say how much is too
    much."""
    results = sum(isinstance(m, ToolMessage) for m in messages)
    return omitted + (results - omitted + 1) // 2


def with_omissions(messages: Sequence[BaseMessage], omitted: int) -> list[BaseMessage]:
    """The conversation with the content of its `omitted` oldest tool results replaced. The messages
    stay, because every tool call must keep its result."""
    if not omitted:
        return list(messages)
    shown: list[BaseMessage] = []
    for message in messages:
        if isinstance(message, ToolMessage) and omitted > 0:
            omitted -= 1
            message = message.model_copy(update={"content": OMITTED})
        shown.append(message)
    return shown


PROMPT_CUT = (
    "to a prompt that grew without more tokens being counted: the server seems to cut it; "
    "raise its context (num_ctx, --max-model-len, -c)"
)
_GROWTH = 4_000
"""Bytes by which a request grows that must cost tokens: about a thousand."""
_BYTES_OF_A_TOKEN = 2.5
"""Fewer than a token has in any language, so that new text has at most this many tokens."""


class PromptGrowth:
    """Whether a server cuts prompts in silence: its count of tokens stands still while they grow.
    Ollama drops the oldest messages of what does not fit its context, and answers; so do servers
    with a sliding window and gateways that compress in the middle."""

    def __init__(self) -> None:
        self._messages: list[BaseMessage] = []
        self._shortened, self._counted = 0, 0

    def is_cut(self, messages: Sequence[BaseMessage], shortened: int, usage: Usage) -> bool:
        """Whether this request, and what was counted of it, say so beside the one before. Not where
        messages changed since, or more results were `shortened`: compacted or left out, each
        counted; nor where the server may count new tokens only, as some with a cache do, or says
        that most came from its cache."""
        known, counted = self._messages, self._counted
        grows = len(known) < len(messages) and all(
            one is other for one, other in zip(known, messages, strict=False)
        )
        added = sum(len(message.text.encode()) for message in messages[len(known) :])
        stands = (
            grows
            and shortened == self._shortened
            and added >= _GROWTH
            and added / _BYTES_OF_A_TOKEN < usage.input <= counted
            and usage.input >= counted / 2
            and usage.cached <= usage.input
        )
        self._messages, self._shortened, self._counted = list(messages), shortened, usage.input
        return bool(known) and stands
