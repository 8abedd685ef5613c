"""Where a request goes: over HTTP to a server, or straight into a model of this process."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from branchwise.agents.bodies import make_call, read_usage, whole_characters
from branchwise.agents.decoding import Decoding
from branchwise.agents.failures import classify, one_line
from branchwise.agents.reply import Completion, ModelError
from branchwise.agents.spec import ModelSpec
from branchwise.corpora.keys import NO_KEYS, Keys, no_key
from branchwise.corpora.secrets import without_keys

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, BaseMessage

    from branchwise.agents.chat_completions import ChatCompletions

_SCHEMA_REFUSED = re.compile(
    r"response_format|json_schema|structured output|guided|grammar|unsupported|not supported",
    re.IGNORECASE,
)


class Endpoint(Protocol):
    """Takes one request and answers it or raises ModelError."""

    takes_schema: bool

    async def complete(
        self,
        messages: list[BaseMessage],
        tools: Sequence[Mapping[str, Any]],
        schema: Mapping[str, Any] | None,
        seconds: float,
    ) -> Completion:
        """The completion, within `seconds`; `tools` are OpenAI tool schemas."""
        ...

    def refuses_schema(self, error: ModelError) -> bool:
        """Whether `error` says that the server takes no schema; then none is sent again."""
        ...

    async def aclose(self) -> None:
        """Close what is open."""
        ...


class OpenAIServer:
    """An OpenAI-compatible server. The client is built at the first request."""

    def __init__(self, spec: ModelSpec, decoding: Decoding, keys: Keys = NO_KEYS) -> None:
        self._spec, self._decoding, self._keys = spec, decoding, keys
        self.takes_schema = decoding.structured == "auto"
        self._client: ChatCompletions | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def complete(
        self,
        messages: list[BaseMessage],
        tools: Sequence[Mapping[str, Any]],
        schema: Mapping[str, Any] | None,
        seconds: float,
    ) -> Completion:
        extra: dict[str, Any] = {}
        if tools:
            extra["tools"] = tools
        if schema is not None:
            named = {"name": "answer", "schema": schema, "strict": False}
            extra["response_format"] = {"type": "json_schema", "json_schema": named}
        try:
            # The client's own limit is for each read: a server that drips would never meet it.
            async with asyncio.timeout(seconds):
                return await self._connected().complete(messages, extra, seconds)
        except Exception as error:  # noqa: BLE001 -- whatever it is, the item must end recorded
            failure = self._advised(classify(error, str(self._spec)))
        # Outside the handler: the cause's request headers hold the key.
        raise failure

    def refuses_schema(self, error: ModelError) -> bool:
        refused = error.status in (400, 422) and bool(_SCHEMA_REFUSED.search(str(error)))
        self.takes_schema = self.takes_schema and not refused
        return refused

    async def aclose(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.root_async_client.close()

    def _advised(self, failure: ModelError) -> ModelError:
        """Where a server wants a key and none is meant for it, how one is named."""
        if failure.status != 401 or self._keys.variable(self._spec.url, of_model=True):
            return failure
        return ModelError("auth", f"{failure} ({no_key(self._spec.url)})", status=401)

    def _connected(self) -> ChatCompletions:
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            from branchwise.agents.chat_completions import make_client

            self._client, self._loop = make_client(self._spec, self._decoding, self._keys), loop
        return self._client


class InProcess:
    """A chat model of this process, called without callbacks, tracing or threads."""

    takes_schema = False

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
            what = one_line(f"the model failed: {type(error).__name__}: {error}")
            raise ModelError("server", what) from error
        message: Any = result.generations[0].message
        return _completion(message)

    def refuses_schema(self, error: ModelError) -> bool:
        return False

    async def aclose(self) -> None:
        return None


class Nobody:
    """The server of a replay: there is none, whatever was not recorded."""

    takes_schema = False

    def __init__(self, spec: ModelSpec) -> None:
        self._spec = spec

    async def complete(
        self,
        messages: list[BaseMessage],
        tools: Sequence[Mapping[str, Any]],
        schema: Mapping[str, Any] | None,
        seconds: float,
    ) -> Completion:
        raise ModelError("not_recorded", f"{self._spec}: nobody can be asked in this role")

    def refuses_schema(self, error: ModelError) -> bool:
        return False

    async def aclose(self) -> None:
        return None


def _completion(message: AIMessage) -> Completion:
    usage: Mapping[str, Any] = message.usage_metadata or {}
    made = [*message.tool_calls, *message.invalid_tool_calls]
    calls = [
        make_call(c["name"] or "", c["args"], c["id"] or f"call_{n}") for n, c in enumerate(made)
    ]
    return Completion(
        text=without_keys(whole_characters(str(message.text))),
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
