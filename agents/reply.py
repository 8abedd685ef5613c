"""What comes back from a model: a reply and its cost, or the reason for its absence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
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
ENDED: Mapping[str, str] = {
    "length": CUT,
    "refusal": "refused to answer",
    "content_filter": "filtered by the server",
}
"""What a run tells of replies that ended so, after their number."""
REASONING_ONLY = "with all of it in the reasoning: look at the server's reasoning parser"
BY_RESPONSES = "by the Responses API, the others by chat completions"
TEXT_CALLS = "tool calls written as text: --tool-protocol text"
LONGEST_WAIT = 3600.0
"""Seconds; a server that asks for more is as good as down, and the call fails at once."""


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
        if self.finish in ENDED:
            return ENDED[self.finish]
        if self.finish == "unknown":
            named = f"for the unknown reason {self.reason!r}" if self.reason else "without a reason"
            return f"ended {named}"
        has_calls = self.tool_calls or self.invalid_tool_calls
        if self.finish == "stop" and self.reasoning and not has_calls and not self.text.strip():
            return REASONING_ONLY
        return None

    def payload(self, seconds: float) -> dict[str, Any]:
        """The JSON-serialisable record of a call that took `seconds`."""
        rarer = {
            "left_out": list(self.left_out),
            "reasoning_field": "" if self.reasoning_field == USUAL_FIELD else self.reasoning_field,
            DETAILS: list(self.reasoning_details),
            "tokens": [list(token) for token in self.tokens],
            "reason": self.reason,
            "api": "" if self.api == "chat" else self.api,
        }
        return {
            "content": self.text,
            "tool_calls": list(self.tool_calls),
            "invalid_tool_calls": list(self.invalid_tool_calls),
            "reasoning": self.reasoning,
            "finish": self.finish,
            "usage": self.usage.record(),
            "seconds": seconds,
            **{name: value for name, value in rarer.items() if value},
        }

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any]) -> Completion:
        """The completion that `payload` recorded."""
        return Completion(
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


@dataclass(frozen=True)
class Reply(Completion):
    """A model's turn as the graph sees it.

    `seconds` is the time of the request that was answered, without earlier attempts and waits;
    of a replayed call, the time that it took when it was made. `waited`: seconds until its server
    had a slot for it (`agents.restraints`) or was back (`agents.outages`), which cost the question
    no time.
    """

    seconds: float = 0.0
    replayed: bool = False
    waited: float = 0.0

    @classmethod
    def of(
        cls, completion: Completion, seconds: float, *, replayed: bool, waited: float = 0.0
    ) -> Reply:
        """The reply of a completion, fresh or recorded."""
        return cls(**vars(completion), seconds=seconds, replayed=replayed, waited=waited)

    @cached_property
    def message(self) -> AIMessage:
        """What the conversation goes on with."""
        from langchain_core.messages import AIMessage

        return AIMessage(
            content=self.text,
            tool_calls=list(self.tool_calls),
            invalid_tool_calls=list(self.invalid_tool_calls),
            additional_kwargs=native(self.reasoning, self.reasoning_field, self.reasoning_details),
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
        self.retryable, self.retry_after, self.status = retryable, retry_after, status
        self.refused, self.demands_reasoning = refused, demands_reasoning
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
