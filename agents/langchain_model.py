"""Providers with a protocol of their own, through LangChain's models of them. Import it lazily.

LangChain makes the request and reads the response. The bytes between go by our connections, as
those of chat completions do, so that keys, proxies, sizes and errors are the same for all
providers, whatever client a model brings; its own retries are off. It is asked below its callbacks,
which would send what they see to LangSmith where the environment says so.
"""

from __future__ import annotations

import logging
import re
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx
import httpx2
from pydantic import SecretStr

from branchwise.agents.chat_completions import (
    checked,
    connections,
    encoded,
    sent_by,
    status_error,
)
from branchwise.agents.langchain_results import read_result, turn
from branchwise.agents.provider_fields import amend
from branchwise.agents.refusals import BACK
from branchwise.agents.reply import ModelError
from branchwise.agents.reply_stream import ENCODINGS, decoded, pieces_of
from branchwise.base.numbers import MOST_SECONDS
from branchwise.base.secrets import bytes_without_keys

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import BaseMessage

    from branchwise.agents.decoding import Decoding
    from branchwise.agents.reply import Completion
    from branchwise.agents.spec import ModelSpec
    from branchwise.base.keys import Keys

_NO_KEY = SecretStr("none")
"""The clients insist on one; each request gets its own on our connections."""
_OURS = frozenset({"host", "content-length", "accept-encoding", "connection", "transfer-encoding"})
_RETRY_DELAY = re.compile(rb'"retryDelay":\s*"([0-9.]+)s"')
"""Google says in the body of a 429 what others say in its header."""


@dataclass
class _Request:
    """What is asked, and what became of it: `error`, why no response came that can be read."""

    messages: list[BaseMessage]
    fields: Mapping[str, Any]
    own: Mapping[str, Any]
    seconds: float = 0.0
    is_answered: bool = False
    error: Exception | None = None


_UNDER_WAY: ContextVar[_Request] = ContextVar("_UNDER_WAY")


class LangChainModel:
    """A model of LangChain's, asked as `ChatCompletions` is."""

    def __init__(
        self, spec: ModelSpec, decoding: Decoding, keys: Keys, headers: Mapping[str, str]
    ) -> None:
        self._spec = spec
        self._connections = connections(spec, decoding.timeout, keys, headers)
        self._model = _MODELS[spec.provider](spec, _Carrier(spec, self._connections))
        # What it logs, and warns of in responses that it then fails on, would go to standard error.
        logging.getLogger(type(self._model).__module__.partition(".")[0]).addHandler(_NOWHERE)
        warnings.filterwarnings("ignore", "Pydantic serializer warnings", UserWarning)

    def body(
        self, messages: Sequence[BaseMessage], fields: Mapping[str, Any], own: Mapping[str, Any]
    ) -> _Request:
        """A request. `fields` are a chat completion's; with `BACK` turns keep their reasoning."""
        back, provider = BACK in fields, self._spec.provider
        turns = [turn(message, provider, with_reasoning=back) for message in messages]
        return _Request(turns, fields, own)

    async def complete(self, request: _Request, seconds: float) -> Completion:
        """The completion of one request; `seconds`: the longest silence of the server.

        Raises what `ChatCompletions.complete` does, and ModelError for a response that LangChain
        cannot read, or a request that it cannot make.
        """
        request.seconds = seconds
        tools = request.fields.get("tools")
        bound: Any = self._model.bind_tools(tools) if tools else None
        current = _UNDER_WAY.set(request)
        try:
            result = await self._model._agenerate(
                request.messages, **(bound.kwargs if bound else {})
            )
            return read_result(result)
        except Exception as error:
            if request.error is not None:
                raise request.error from request.error.__cause__
            if isinstance(error, ModelError):
                raise
            words = f"{type(error).__name__}: {error}"
            if request.is_answered:
                what = f"the response is not what the protocol promises ({words})"
                raise ModelError("invalid_response", what, retryable=True) from None
            raise ModelError("bad_request", f"the request cannot be made ({words})") from None
        finally:
            _UNDER_WAY.reset(current)

    async def end(self) -> None:
        """Close the connections."""
        await self._connections.aclose()


class _Carrier:
    """Carries the requests of a model's client on our connections: a transport of httpx as of
    httpx2, which are alike in all that it uses."""

    def __init__(self, spec: ModelSpec, client: httpx2.AsyncClient) -> None:
        self._spec, self._client = spec, client

    async def handle_async_request(self, request: Any) -> Any:
        """Notes errors in the request that is under way: clients wrap what they meet."""
        asked = _UNDER_WAY.get()
        try:
            content = await self._exchanged(asked, request)
        except Exception as error:
            asked.error = error
            raise
        asked.is_answered = True
        library = sys.modules[type(request).__module__.partition(".")[0]]
        return library.Response(
            200, headers={"content-type": "application/json"}, content=content, request=request
        )

    async def _exchanged(self, asked: _Request, request: Any) -> bytes:
        body = decoded(await request.aread())
        amend(self._spec, body, asked.fields, asked.own)
        headers = {name: text for name, text in request.headers.items() if name not in _OURS}
        sent = self._client.build_request(
            request.method,
            str(request.url),
            headers={**headers, "Accept-Encoding": ENCODINGS},
            content=encoded(body),
            timeout=asked.seconds,
        )
        async with sent_by(self._client, sent) as response:
            content = b"".join([piece async for piece in pieces_of(response)])
        if not response.is_success:
            if (wait := _RETRY_DELAY.search(content)) and "retry-after" not in response.headers:
                response.headers["retry-after"] = wait[1].decode()
            raise status_error(response, content)
        checked(content, sent)
        return bytes_without_keys(content)

    async def aclose(self) -> None:
        """The connections are ours, and closed by `LangChainModel`."""

    async def __aenter__(self) -> _Carrier:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None


def _anthropic(spec: ModelSpec, carrier: Any) -> Any:
    from anthropic import AsyncAnthropic
    from langchain_anthropic import ChatAnthropic

    url = spec.url.removesuffix("/v1")
    model = ChatAnthropic(model_name=spec.name, base_url=url, api_key=_NO_KEY, max_retries=0)
    # In the place of the one that it would make at its first request.
    vars(model)["_async_client"] = AsyncAnthropic(
        api_key=_NO_KEY.get_secret_value(),
        base_url=url,
        max_retries=0,
        # Else requests for long replies are refused before they are sent.
        timeout=float(MOST_SECONDS),
        http_client=httpx2.AsyncClient(transport=carrier),
    )
    return model


def _google(spec: ModelSpec, carrier: Any) -> Any:
    from langchain_google_genai import ChatGoogleGenerativeAI

    return ChatGoogleGenerativeAI(
        model=spec.name,
        base_url=spec.url.removesuffix("/v1beta"),
        api_key=_NO_KEY,
        vertexai=False,
        temperature=None,
        max_retries=1,
        client_args={"transport": carrier},
    )


def _mistral(spec: ModelSpec, carrier: Any) -> Any:
    from langchain_mistralai import ChatMistralAI

    client = httpx.AsyncClient(base_url=spec.url, transport=carrier)
    return ChatMistralAI(
        model_name=spec.name, base_url=spec.url, api_key=_NO_KEY, max_retries=1, async_client=client
    )


_MODELS: Mapping[str, Callable[[ModelSpec, _Carrier], BaseChatModel]] = {
    "anthropic": _anthropic,
    "google": _google,
    "mistral": _mistral,
}
_NOWHERE = logging.NullHandler()
