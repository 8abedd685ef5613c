"""Where a request goes: over HTTP to a server, or straight into a model of this process."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, MutableMapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from branchwise.agents.decoding import Decoding
from branchwise.agents.extra_body import named_in
from branchwise.agents.failures import classify, error_line, refusal
from branchwise.agents.headers import NO_HEADERS
from branchwise.agents.reasoning import demands_reasoning, native_of, send_back
from branchwise.agents.refusals import (
    BACK,
    LOGPROBS,
    OPTIONAL_FIELDS,
    OTHER_LIMIT,
    TOP_LOGPROBS,
    demands_reasoning_back,
    mentions_schema,
    note_demand,
    refusals_of,
    refused_field,
)
from branchwise.agents.reply import Completion, ModelError
from branchwise.agents.response_bodies import make_call, read_usage
from branchwise.agents.spec import ModelSpec
from branchwise.corpora.keys import NO_KEYS, Keys, refused_key
from branchwise.corpora.text import storable

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, BaseMessage

    from branchwise.agents.chat_completions import ChatCompletions


class Endpoint(Protocol):
    """Takes one request and answers it or raises ModelError."""

    @property
    def refused(self) -> Mapping[str, str]:
        """The optional fields that the server refuses, each with its words; they are left out."""
        ...

    async def complete(
        self,
        messages: list[BaseMessage],
        tools: Sequence[Mapping[str, Any]],
        schema: Mapping[str, Any] | None,
        seconds: float,
    ) -> Completion:
        """The completion, within `seconds`; `tools` are OpenAI tool schemas.

        A field that the server refuses is in the ModelError, and from then on in `refused`: the
        same call sends the request without it.
        """
        ...

    async def aclose(self) -> None:
        """Close what is open."""
        ...


class OpenAIServer:
    """An OpenAI-compatible server. The client is built at the first request."""

    def __init__(
        self,
        spec: ModelSpec,
        decoding: Decoding,
        keys: Keys = NO_KEYS,
        headers: Mapping[str, str] = NO_HEADERS,
    ) -> None:
        self._spec, self._decoding, self._keys, self._headers = spec, decoding, keys, headers
        self.refused: MutableMapping[str, str] = refusals_of(spec)
        self._client: ChatCompletions | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def complete(
        self,
        messages: list[BaseMessage],
        tools: Sequence[Mapping[str, Any]],
        schema: Mapping[str, Any] | None,
        seconds: float,
    ) -> Completion:
        body: dict[str, Any] = {}
        sent: frozenset[str] = frozenset()
        try:
            body, left_out = self._body(messages, tools, schema)
            sent = frozenset(body)
            if self._sends_back and send_back(
                messages, body["messages"], demanded=demands_reasoning_back(self._spec)
            ):
                sent |= {BACK}
            # The client's own limit is for each read: a server that drips would never meet it.
            async with asyncio.timeout(seconds):
                completion = await self._connected().complete(body, seconds)
            return replace(completion, left_out=left_out)
        except Exception as error:  # noqa: BLE001 -- on any error the item must end recorded
            failure = self._advised(self._failure(error, sent))
        # Outside the handler: the cause's request headers hold the key.
        raise failure

    def _body(
        self,
        messages: list[BaseMessage],
        tools: Sequence[Mapping[str, Any]],
        schema: Mapping[str, Any] | None,
    ) -> tuple[dict[str, Any], tuple[str, ...]]:
        """The request without what the server refuses, and what that was."""
        extra: dict[str, Any] = dict(self._decoding.extra_body)
        if tools:
            extra["tools"] = tools
        if schema is not None and self._decoding.structured == "auto":
            named = {"name": "answer", "schema": schema, "strict": False}
            extra["response_format"] = {"type": "json_schema", "json_schema": named}
        if (most := self._decoding.top_logprobs) is not None:
            extra |= {LOGPROBS: True, TOP_LOGPROBS: most}
        body = self._connected().body(messages, extra)
        ours = body.keys() - self._decoding.extra_body.keys()
        left_out = tuple(name for name in OPTIONAL_FIELDS if name in ours and name in self.refused)
        held_back = self._is_held_back and any(map(native_of, messages))
        for name in left_out:
            value, other = body.pop(name), OTHER_LIMIT.get(name)
            if other in self.refused:
                what = f"{self._spec}: the server takes neither {name} nor {other}"
                raise ModelError("bad_request", f"{what}; ask without --max-tokens")
            if other:
                body[other] = value
        if "stream" not in body:
            body.pop("stream_options", None)
        if not {LOGPROBS, TOP_LOGPROBS} <= body.keys():
            # Each is of use with the other alone; a user's own field stays.
            for name in {LOGPROBS, TOP_LOGPROBS} & ours:
                body.pop(name, None)
        return body, (*left_out, BACK) if held_back else left_out

    @property
    def _sends_back(self) -> bool:
        """Whether the reasoning of earlier turns is in requests."""
        how = self._decoding.reasoning_back
        wanted = how == "on" or (how == "auto" and demands_reasoning_back(self._spec))
        return wanted and BACK not in self.refused

    @property
    def _is_held_back(self) -> bool:
        """Whether they would have it if the server took it."""
        return self._decoding.reasoning_back == "on" and BACK in self.refused

    def _failure(self, error: Exception, sent: Collection[str]) -> ModelError:
        import openai

        failure = classify(error, str(self._spec))
        if not isinstance(error, openai.APIError) or failure.kind == "context_length":
            return failure
        if (
            BACK not in sent
            and self._decoding.reasoning_back == "auto"
            and demands_reasoning(error)
        ):
            note_demand(self._spec)
            return ModelError(
                "bad_request", str(failure), status=failure.status, demands_reasoning=True
            )
        # A user's own fields are never left out: then the error stands, and names them.
        field = refused_field(error, set(sent) - self._decoding.extra_body.keys())
        if field is None:
            if own := named_in(str(failure), self._decoding.extra_body):
                failure.args = (f"{str(failure)[:250]} (extra_body sets {', '.join(own)})"[:400],)
                return failure
            if "response_format" in sent and mentions_schema(str(failure)):
                failure.args = (f"{str(failure)[:250]} (--structured off asks for no schema)",)
            return failure
        failure = refusal(error, str(self._spec), field)
        self.refused.setdefault(field, str(failure))
        return failure

    async def aclose(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.root_async_client.close()

    def _advised(self, failure: ModelError) -> ModelError:
        """Where a server refuses the key, or wants one and gets none, what to do."""
        if failure.status != 401:
            return failure
        advice = refused_key(self._spec.url, self._keys, of_model=True)
        return ModelError("auth", f"{failure} ({advice})", status=401)

    def _connected(self) -> ChatCompletions:
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            from branchwise.agents.chat_completions import make_client

            made = make_client(self._spec, self._decoding, self._keys, self._headers)
            self._client, self._loop = made, loop
        return self._client


class InProcess:
    """A chat model of this process, called without callbacks, tracing or threads."""

    refused: Mapping[str, str] = MappingProxyType({})

    def __init__(self, model: BaseChatModel) -> None:
        from langchain_core.language_models import BaseChatModel

        self._model = model
        self._is_async = type(model)._agenerate is not BaseChatModel._agenerate

    async def complete(
        self,
        messages: list[BaseMessage],
        tools: Sequence[Mapping[str, Any]],
        schema: Mapping[str, Any] | None,
        seconds: float,
    ) -> Completion:
        bound: dict[str, Any] = {"tools": tools} if tools else {}
        try:
            if self._is_async:
                async with asyncio.timeout(seconds):
                    result = await self._model._agenerate(messages, **bound)
            else:
                result = self._model._generate(messages, **bound)
        except TimeoutError:
            raise ModelError("timeout", f"no answer in {seconds:.1f} s") from None
        except Exception as error:
            what = error_line(f"the model failed: {type(error).__name__}: {error}")
            raise ModelError("server", what) from error
        message: Any = result.generations[0].message
        return _completion(message)

    async def aclose(self) -> None:
        return None


class NoServer:
    """The endpoint of a replay, which has no server: requests that were not recorded fail."""

    refused: Mapping[str, str] = MappingProxyType({})

    def __init__(self, spec: ModelSpec) -> None:
        self._spec = spec

    async def complete(
        self,
        messages: list[BaseMessage],
        tools: Sequence[Mapping[str, Any]],
        schema: Mapping[str, Any] | None,
        seconds: float,
    ) -> Completion:
        raise ModelError("not_recorded", f"{self._spec}: a replay has no server to ask")

    async def aclose(self) -> None:
        return None


def _completion(message: AIMessage) -> Completion:
    usage: Mapping[str, Any] = message.usage_metadata or {}
    made = [*message.tool_calls, *message.invalid_tool_calls]
    calls = [
        make_call(c["name"] or "", c["args"], c["id"] or f"call_{n}") for n, c in enumerate(made)
    ]
    return Completion(
        text=storable(str(message.text)),
        finish="tool_calls" if calls else "stop",
        tool_calls=tuple(call for call in calls if "error" not in call),
        invalid_tool_calls=tuple(call for call in calls if "error" in call),
        usage=read_usage(
            {
                "prompt_tokens": usage.get("input_tokens", 0),
                "completion_tokens": usage.get("output_tokens", 0),
            }
        ),
    )
