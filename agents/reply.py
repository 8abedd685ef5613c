"""What comes back from a model: a reply and its cost, or the reason for its absence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from branchwise.agents.reasoning import DETAILS, USUAL_FIELD, native
from branchwise.base.backoff import Sign, sign_of_status
from branchwise.trace.parts import Usage

if TYPE_CHECKING:
    from langchain_core.messages import AIMessage

    from branchwise.agents.refusals import Api

Finish = Literal[
    "stop", "length", "tool_calls", "refusal", "content_filter", "text_calls", "unknown"
]
"""How a reply ended; `text_calls`: it is nothing but tool calls that are written as text."""
FailureKind = Literal[
    "context_length",
    "auth",
    "credit",
    "not_found",
    "rate_limit",
    "server",
    "timeout",
    "connection",
    "bad_request",
    "cut",
    "interrupted",
    "invalid_response",
    "not_recorded",
]
CUT = "cut at the token limit"
REASONING_ONLY = "with all of it in the reasoning: look at the server's reasoning parser"
BY_RESPONSES = "by the Responses API, the others by chat completions"
TEXT_CALLS = "tool calls written as text: --tool-protocol text"


class ReplyToken(NamedTuple):
    """A token of a reply, and the likeliest at its place with their log-probabilities."""

    text: str
    alternatives: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Completion:
    """A model's answer in plain data: what the journal records and what a reply is made from.

    `tool_calls` hold `{name, args, id, type}`, `invalid_tool_calls` `{name, args, id, error,
    type}` with the arguments as the model wrote them (LangChain's two shapes). `left_out`: optional
    fields that the request lacked because the server refuses them. `reasoning_field`: the name
    under which the server sent the reasoning; `reasoning_details`: blocks of it that it wants back
    unchanged. `tokens`: the last ones of the text, where their log-probabilities were asked for.
    `reason`: with the finish `unknown`, what the server called it. `api`: the protocol.
    """

    text: str
    finish: Finish
    reasoning: str = ""
    reasoning_field: str = USUAL_FIELD
    reasoning_details: tuple[Mapping[str, Any], ...] = ()
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    invalid_tool_calls: tuple[Mapping[str, Any], ...] = ()
    usage: Usage = field(default_factory=lambda: Usage(0, 0))
    left_out: tuple[str, ...] = ()
    tokens: tuple[ReplyToken, ...] = ()
    reason: str = ""
    api: Api = "chat"

    @property
    def remark(self) -> str | None:
        """What a run tells of replies that ended so, after their number; None of a usual one."""
        if self.finish == "length":
            return CUT
        if self.finish == "unknown":
            named = f"for the unknown reason {self.reason!r}" if self.reason else "without a reason"
            return f"ended {named}"
        has_calls = self.tool_calls or self.invalid_tool_calls
        if self.finish == "stop" and self.reasoning and not has_calls and not self.text.strip():
            return REASONING_ONLY
        return None

    def payload(self, seconds: float) -> dict[str, Any]:
        """The JSON-serialisable record of a call that took `seconds`."""
        return {
            "content": self.text,
            "tool_calls": list(self.tool_calls),
            "invalid_tool_calls": list(self.invalid_tool_calls),
            "reasoning": self.reasoning,
            "finish": self.finish,
            "usage": self.usage.record(),
            "seconds": seconds,
            **({"left_out": list(self.left_out)} if self.left_out else {}),
            **self._native(),
            **({"tokens": [list(one) for one in self.tokens]} if self.tokens else {}),
            **({"reason": self.reason} if self.reason else {}),
            **({"api": self.api} if self.api != "chat" else {}),
        }

    def _native(self) -> dict[str, Any]:
        """What is kept of the reasoning's form, where it is not the usual one."""
        field, details = self.reasoning_field, self.reasoning_details
        named = {"reasoning_field": field} if field != USUAL_FIELD else {}
        return named | ({DETAILS: list(details)} if details else {})

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any]) -> Completion:
        """The completion that `payload` recorded."""
        return cls(
            text=payload["content"],
            finish=payload["finish"],
            reasoning=payload["reasoning"],
            tool_calls=tuple(payload["tool_calls"]),
            invalid_tool_calls=tuple(payload["invalid_tool_calls"]),
            usage=Usage(**payload["usage"]),
            left_out=tuple(payload.get("left_out", ())),
            reasoning_field=payload.get("reasoning_field", USUAL_FIELD),
            reasoning_details=tuple(payload.get(DETAILS, ())),
            tokens=tuple(
                ReplyToken(text, tuple((other, value) for other, value in alternatives))
                for text, alternatives in payload.get("tokens", ())
            ),
            reason=payload.get("reason", ""),
            api=payload.get("api", "chat"),
        )

    def with_calls(self, text: str, valid: list[Any], invalid: list[Any]) -> Completion:
        """A copy whose tool calls were read out of its text."""
        return replace(
            self,
            text=text,
            tool_calls=tuple(valid),
            invalid_tool_calls=tuple(invalid),
            finish="tool_calls" if self.finish == "stop" else self.finish,
        )


@dataclass(frozen=True)
class Reply:
    """A model's turn as the graph sees it.

    `seconds` is the time of the request that was answered, without earlier attempts and waits;
    of a replayed call, the time that it took when it was made. `waited`: seconds until its server
    had a slot for it (`agents.limits`) or was back (`agents.outages`), which cost the question no
    time. `left_out`: optional fields that the request lacked because the server refuses them.
    `tokens`: the last ones of the text, where their log-probabilities were asked for. `remark`:
    what a run tells of such replies, after their number; None of a usual one.
    """

    message: AIMessage
    usage: Usage
    seconds: float
    replayed: bool
    reasoning: str
    finish: Finish
    waited: float = 0.0
    left_out: tuple[str, ...] = ()
    reasoning_field: str = USUAL_FIELD
    reasoning_details: tuple[Mapping[str, Any], ...] = ()
    tokens: tuple[ReplyToken, ...] = ()
    reason: str = ""
    remark: str | None = None
    api: Api = "chat"

    @property
    def text(self) -> str:
        """What was said, without the reasoning."""
        return self.message.text

    @classmethod
    def of(
        cls, completion: Completion, seconds: float, *, replayed: bool, waited: float = 0.0
    ) -> Reply:
        """The reply of a completion, fresh or recorded."""
        from langchain_core.messages import AIMessage

        message = AIMessage(
            content=completion.text,
            tool_calls=list(completion.tool_calls),
            invalid_tool_calls=list(completion.invalid_tool_calls),
            additional_kwargs=native(
                completion.reasoning, completion.reasoning_field, completion.reasoning_details
            ),
        )
        return cls(
            message=message,
            usage=completion.usage,
            seconds=seconds,
            replayed=replayed,
            reasoning=completion.reasoning,
            finish=completion.finish,
            waited=waited,
            left_out=completion.left_out,
            reasoning_field=completion.reasoning_field,
            reasoning_details=completion.reasoning_details,
            tokens=completion.tokens,
            reason=completion.reason,
            remark=completion.remark,
            api=completion.api,
        )


class ModelError(Exception):
    """A call that brought no reply. The message is one bounded line without secrets.

    `retryable` and `retry_after` (seconds that the server asked to wait) steer the retries.
    `refused`: the optional field of the request that the server does not take; without it the
    request can be made again. `demands_reasoning`: it can be made again with the reasoning of
    earlier turns. `dropped`: there was a connection, which ended without a response.
    """

    def __init__(
        self,
        kind: FailureKind,
        message: str,
        *,
        retryable: bool = False,
        retry_after: float | None = None,
        status: int | None = None,
        refused: str | None = None,
        demands_reasoning: bool = False,
        dropped: bool = False,
    ) -> None:
        super().__init__(message)
        self.kind: FailureKind = kind
        self.retryable = retryable
        self.retry_after = retry_after
        self.status = status
        self.refused = refused
        self.demands_reasoning = demands_reasoning
        self.dropped = dropped

    @property
    def is_everywhere(self) -> bool:
        """Whether every other request would meet it: no key, no such model or path, no credit."""
        return self.kind in ("auth", "not_found", "credit")

    @property
    def sign(self) -> Sign | None:
        """What it says of the server; None: nothing, as of a response that broke off."""
        if self.status is not None:
            return sign_of_status(self.status, self.retry_after)
        if self.kind == "connection" and self.retryable:
            return "lost" if self.dropped else "gone"
        signs: Mapping[str, Sign] = {"timeout": "lost", "invalid_response": "answered"}
        return signs.get(self.kind)
