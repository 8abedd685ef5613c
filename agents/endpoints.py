"""Where a request goes: over HTTP to a server, or straight into a model of this process."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from branchwise.agents.decoding import Decoding, named_in
from branchwise.agents.failures import classify, error_line, refusal
from branchwise.agents.headers import NO_HEADERS
from branchwise.agents.langchain_results import read_result
from branchwise.agents.provider_fields import check_fields
from branchwise.agents.reasoning import (
    ITEMS,
    calls_tools,
    demands_reasoning,
    encrypted,
    native_of,
    refuses_encrypted,
)
from branchwise.agents.refusals import (
    BACK,
    CHAT,
    LOGPROBS,
    MAX_TOKENS,
    OPTIONAL_FIELDS,
    OTHER_LIMIT,
    RESPONSES,
    TOP_LOGPROBS,
    Api,
    demands_reasoning_back,
    limit_name,
    mentions_schema,
    note_demand,
    refusals_of,
    refused_field,
    refuses_api,
)
from branchwise.agents.reply import Completion, ModelError
from branchwise.agents.spec import ModelSpec
from branchwise.base.keys import NO_KEYS, Keys, is_openai, refused_key

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import BaseMessage


class Client(Protocol):
    """What makes the requests of one protocol and reads its responses."""

    def body(
        self, messages: Sequence[BaseMessage], fields: Mapping[str, Any], own: Mapping[str, Any]
    ) -> Any:
        """A request: `fields` by the names of chat completions, and a user's own."""
        ...

    async def complete(self, body: Any, seconds: float) -> Completion:
        """The completion of a request. Raises what the openai client does, or ModelError."""
        ...

    async def end(self) -> None:
        """Close the connections."""
        ...


class ModelServer:
    """A model's server, OpenAI-compatible or with a protocol of its provider's own. Clients are
    built at their first requests."""

    def __init__(
        self,
        spec: ModelSpec,
        decoding: Decoding,
        keys: Keys = NO_KEYS,
        headers: Mapping[str, str] = NO_HEADERS,
    ) -> None:
        self._spec, self._decoding, self._keys, self._headers = spec, decoding, keys, headers
        check_fields(spec, decoding)
        # Whether the protocol is not OpenAI's.
        self._is_foreign = bool(spec.service and spec.service.package)
        self._own, self._sent = decoding.extra_body, decoding.fields
        self._sent[limit_name(spec.url)] = self._sent.pop(MAX_TOKENS)
        self._usual_api: Api = "responses" if is_openai(spec.url) else "chat"
        self._refused_apis: dict[str, str] = {}
        # Reasoning that the server could not decrypt.
        self._unreadable: set[str] = set()
        self._clients: dict[Api, Client] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def refused(self) -> Mapping[str, str]:
        """The optional fields that it refuses by the usual protocol, and the other protocol, each
        with its words; they are left out."""
        return {**refusals_of(self._spec, self._api(())), **self._refused_apis}

    async def complete(
        self,
        messages: list[BaseMessage],
        tools: Sequence[Mapping[str, Any]],
        schema: Mapping[str, Any] | None,
        seconds: float,
        sample: int = 0,
    ) -> Completion:
        """The completion, within `seconds`; `tools` are OpenAI tool schemas; `sample` is added to
        the seed, where there is one. Raises ModelError.

        A field that the server refuses is in the error, and from then on in `refused`: the same
        call sends the request without it.
        """
        api, fields = self._api(messages), dict[str, Any]()
        try:
            fields, left_out = self._fields(api, messages, tools, schema)
            if sample and "seed" in fields:
                fields["seed"] += sample
            client = self._connected(api)
            body = client.body(messages, fields, self._own)
            # The client's own limit is for each read: a server that drips would never meet it.
            async with asyncio.timeout(seconds):
                completion = await client.complete(body, seconds)
            if (
                api == "responses"
                and self._decoding.reasoning_back != "off"
                and BACK not in fields
                and "tools" in fields
                and completion.usage.reasoning > 0
            ):
                # It reasoned, and encrypts no reasoning so that it could go back.
                left_out = (*left_out, BACK)
            return replace(completion, left_out=left_out)
        except Exception as error:  # noqa: BLE001 -- on any error the item must end recorded
            failure = self._failure(error, api, fields, messages)
        if failure.kind == "auth" and failure.status != 403:
            advice = refused_key(self._spec.url, self._keys, of_model=True)
            failure = ModelError("auth", f"{failure} ({advice})", status=failure.status)
        # Outside the handler: the cause's request headers hold the key.
        raise failure

    def _api(self, messages: Sequence[BaseMessage]) -> Api:
        """The protocol of a request. A conversation goes on by the one that it was begun by: the
        other has no place for its reasoning."""
        if self._is_foreign:
            return "chat"
        if self._decoding.api != "auto":
            return self._decoding.api
        if self._refused_apis:
            return "responses" if CHAT in self._refused_apis else "chat"
        for message in reversed(messages):
            if calls_tools(message):
                return "responses" if ITEMS in native_of(message) else "chat"
        return self._usual_api

    def _fields(
        self,
        api: Api,
        messages: list[BaseMessage],
        tools: Sequence[Mapping[str, Any]],
        schema: Mapping[str, Any] | None,
    ) -> tuple[dict[str, Any], tuple[str, ...]]:
        """What a request asks for without what the server refuses, and what that was."""
        refused, decoding = refusals_of(self._spec, api), self._decoding
        asked: dict[str, Any] = {
            **self._sent,
            LOGPROBS: None if decoding.top_logprobs is None else True,
            "tools": tools or None,
        }
        if schema is not None and decoding.structured == "auto":
            named = {"name": "answer", "schema": schema, "strict": False}
            asked["response_format"] = {"type": "json_schema", "json_schema": named}
        if api == "responses":
            asked["store"] = False
        elif decoding.stream:
            asked["stream_options"] = {"include_usage": True}
        # A user's own fields say it instead.
        fields = {
            name: value
            for name, value in asked.items()
            if value is not None and name not in self._own
        }
        left_out = [name for name in OPTIONAL_FIELDS if name in fields and name in refused]
        for name in left_out:
            value, other = fields.pop(name), OTHER_LIMIT.get(name)
            if other in refused:
                what = f"the server takes neither {name} nor {other}"
                raise ModelError("bad_request", f"{what}; ask without --max-tokens")
            if other:
                fields[other] = value
        if "stream" not in fields:
            fields.pop("stream_options", None)
        if not {LOGPROBS, TOP_LOGPROBS} <= fields.keys() | self._own.keys():
            # Each is of use with the other alone; a user's own field stays.
            fields.pop(LOGPROBS, None)
            fields.pop(TOP_LOGPROBS, None)
        back, is_held_back = self._back(api, messages, with_tools=bool(tools))
        if back is not None:
            fields[BACK] = back
        left_out += [BACK] * is_held_back
        other_api = CHAT if api == "responses" else RESPONSES
        return fields, (*left_out, *[other_api] * (other_api in self._refused_apis))

    def _back(
        self, api: Api, messages: Sequence[BaseMessage], *, with_tools: bool
    ) -> tuple[Any, bool]:
        """How a request takes the reasoning of earlier turns along (`ChatCompletions.body`), None
        where it does not; and whether it should, and the server did not take it."""
        how, is_refused = self._decoding.reasoning_back, BACK in refusals_of(self._spec, api)
        if self._is_foreign:
            return True if how != "off" and any(map(native_of, messages)) else None, False
        demanded = api == "chat" and demands_reasoning_back(self._spec)
        if how == "off" or (api == "chat" and how == "auto" and not demanded):
            return None, False
        reasoned = any(map(native_of, messages))
        if api == "responses":
            goes = with_tools or reasoned
            back = frozenset(self._unreadable) if goes and not is_refused else None
            return back, goes and not self._unreadable.isdisjoint(encrypted(messages))
        goes = demanded or reasoned
        held_back = how == "on" and is_refused and reasoned
        return demanded if goes and not is_refused else None, held_back

    def _failure(
        self,
        error: Exception,
        api: Api,
        fields: Mapping[str, Any],
        messages: Sequence[BaseMessage],
    ) -> ModelError:
        import openai

        where, decoding = str(self._spec), self._decoding
        failure = classify(error, where)
        if not isinstance(error, openai.APIError) or failure.kind == "context_length":
            return failure
        is_of_api, protocol = refuses_api(error, api), CHAT if api == "chat" else RESPONSES
        if is_of_api and decoding.api == "auto" and self._refused_apis.keys() <= {protocol}:
            failure = refusal(error, where, protocol)
            self._refused_apis[protocol] = str(failure)
            return failure
        unreadable = encrypted(messages) - self._unreadable
        if BACK in fields and unreadable and refuses_encrypted(error):
            self._unreadable |= unreadable
            return refusal(error, where, BACK)
        if BACK not in fields and decoding.reasoning_back == "auto" and demands_reasoning(error):
            note_demand(self._spec)
            words, status = str(failure), failure.status
            return ModelError("bad_request", words, status=status, demands_reasoning=True)
        # A user's own fields are never left out: then the error stands, and names them.
        field = refused_field(error, fields.keys())
        if field is not None:
            failure = refusal(error, where, field)
            refusals_of(self._spec, api).setdefault(field, str(failure))
            return failure
        words, hint = str(failure), ""
        if own := named_in(words, self._own):
            hint = f"extra_body sets {', '.join(own)}"
        elif is_of_api:
            hint = f"--api {'responses' if api == 'chat' else 'chat'} asks by the other protocol"
        elif "response_format" in fields and mentions_schema(words):
            hint = "--structured off asks for no schema"
        if hint:
            failure.args = (f"{words[:250]} ({hint})"[:400],)
        return failure

    async def aclose(self) -> None:
        clients, self._clients = self._clients, {}
        for client in clients.values():
            await client.end()

    def _connected(self, api: Api) -> Client:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._clients, self._loop = {}, loop
        if api not in self._clients:
            self._clients[api] = self._made(api)
        return self._clients[api]

    def _made(self, api: Api) -> Client:
        made_with = self._spec, self._decoding, self._keys, self._headers
        if self._is_foreign:
            from branchwise.agents.langchain_model import LangChainModel

            return LangChainModel(*made_with)
        from branchwise.agents.chat_completions import ChatCompletions, make_client
        from branchwise.agents.responses_api import Responses

        return make_client(*made_with, Responses if api == "responses" else ChatCompletions)


class InProcess:
    """A chat model of this process, asked as a server is, without callbacks, tracing or threads."""

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
        sample: int = 0,
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
        return read_result(result, reason="stop")

    async def aclose(self) -> None:
        return None


Endpoint = ModelServer | InProcess
