"""OpenAI's chat-completions protocol, through LangChain's client. Import it lazily.

`ChatOpenAI` makes the payload. Requests are sent, and bodies read, here instead of there:
it drops `reasoning_content`, raises if a tool call's arguments are not a JSON object, and spends
most of a request's CPU time on turning dictionaries into typed objects and back.
"""

from __future__ import annotations

import functools
import json
import ssl
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import httpx2
import orjson
from langchain_openai import ChatOpenAI
from openai import (
    APIConnectionError,
    APITimeoutError,
    AsyncStream,
    DefaultAsyncHttpxClient,
    DefaultHttpxClient,
)
from pydantic import SecretStr

from branchwise.agents.aiohttp_transport import AiohttpTransport
from branchwise.agents.headers import NO_HEADERS
from branchwise.agents.reasoning import send_back
from branchwise.agents.refusals import BACK
from branchwise.agents.reply import ModelError
from branchwise.agents.response_bodies import StreamFold, read_body
from branchwise.corpora.keys import NO_KEYS, Keys, Origin
from branchwise.corpora.secrets import OPENAI_KEY

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

    from branchwise.agents.decoding import Decoding
    from branchwise.agents.reply import Completion
    from branchwise.agents.spec import ModelSpec

_NEVER_SENT = "none"
"""The client insists on a key; each request gets its own headers in `_Guard`."""
_OPENAI_HEADERS = ("OpenAI-Organization", "OpenAI-Project")


class ChatCompletions(ChatOpenAI):
    """`ChatOpenAI` whose `complete` returns everything that the server sent, streamed or not."""

    path: ClassVar[str] = "/chat/completions"

    def body(
        self, messages: Sequence[BaseMessage], fields: Mapping[str, Any], own: Mapping[str, Any]
    ) -> dict[str, Any]:
        """A request's body. `fields`: what is asked for, by the names of `OPTIONAL_FIELDS`, with
        `BACK` among them whether the server demands reasoning; `own`: a user's own."""
        body: dict[str, Any] = self._get_request_payload(list(messages))
        # It is there unasked, and servers refuse it even where it is off.
        del body["stream"]
        body |= {**fields, **own}
        if (demanded := body.pop(BACK, None)) is not None:
            send_back(messages, body["messages"], demanded=demanded)
        return body

    def read(self, body: Any) -> Completion:
        """The completion in a whole body. Raises ModelError where there is none in it."""
        return read_body(body)

    def fold(self) -> StreamFold:
        """What makes a whole body of a stream."""
        return StreamFold()

    async def complete(self, body: Mapping[str, Any], seconds: float) -> Completion:
        """The completion of one request; `seconds`: the longest silence of the server.

        Raises what the openai client raises, ValueError for a body that is not JSON, and
        ModelError for a body without a message or a stream that was cut.
        """
        if body.get("stream"):
            return await self._streamed(body, seconds)
        client = self.http_async_client
        assert client is not None
        request = client.build_request(
            "POST", self._address, headers=self._headers, content=_encoded(body), timeout=seconds
        )
        try:
            response = await client.send(request)
        except httpx2.TimeoutException as error:
            raise APITimeoutError(request) from error
        except (httpx2.RequestError, ssl.SSLError) as error:
            raise APIConnectionError(request=request) from error
        if not response.is_success:
            raise self.root_async_client._make_status_error_from_response(response)
        return self.read(_decoded(response.content))

    # The same for every request. OpenAI's client makes both anew each time, checks and copies its
    # own options: that takes longer than sending.
    @functools.cached_property
    def _address(self) -> httpx2.URL:
        url: httpx2.URL = self.root_async_client._prepare_url(self.path)
        return url

    @functools.cached_property
    def _headers(self) -> dict[str, str]:
        named = self.root_async_client.default_headers.items()
        return {name: value for name, value in named if isinstance(value, str)}

    async def _streamed(self, body: Mapping[str, Any], seconds: float) -> Completion:
        fold = self.fold()
        stream: AsyncStream[Any] = await self.root_async_client.post(
            self.path,
            cast_to=object,
            body=body,
            options={"timeout": seconds},
            stream=True,
            stream_cls=AsyncStream[Any],
        )
        async with stream:
            async for chunk in stream:
                fold.add(chunk)
        return self.read(fold.body())


def make_client(
    spec: ModelSpec,
    decoding: Decoding,
    keys: Keys = NO_KEYS,
    headers: Mapping[str, str] = NO_HEADERS,
    protocol: type[ChatCompletions] = ChatCompletions,
) -> ChatCompletions:
    """The client of `spec`, with a connection pool of its own (LangChain's default pool is
    shared by all event loops of the process, and breaks when one of them ends).

    It is given no sampling: by the model's name it would change or drop some of it. Building one
    takes half a millisecond, the first one 20: build it once a run.
    """
    return protocol(
        model=spec.name,
        base_url=spec.url,
        api_key=SecretStr(_NEVER_SENT),
        # Else taken from OPENAI_PROXY, and refused beside a client of our own, with its password.
        openai_proxy=None,
        # Else it warns, on standard error, of a client that nothing here uses.
        http_socket_options=(),
        temperature=None,
        timeout=decoding.timeout,
        max_retries=0,
        use_responses_api=protocol is not ChatCompletions,
        # Never used: made anew for each address, it would read the certificates each time.
        http_client=_no_client(),
        http_async_client=_Client(
            timeout=decoding.timeout,
            verify=_certificates(),
            event_hooks={"request": [_Guard(spec.url, keys, headers)]},
        ),
    )


class _Client(DefaultAsyncHttpxClient):
    """OpenAI's client over aiohttp; through a proxy that the environment names, over httpx."""

    def _init_transport(
        self, verify: ssl.SSLContext | str | bool = True, *_: Any, **__: Any
    ) -> httpx2.AsyncBaseTransport:
        assert isinstance(verify, ssl.SSLContext)
        return AiohttpTransport(verify)


class _Guard:
    """Sees each request as it goes out, those after redirects, too, and gives it its key and
    its headers."""

    def __init__(self, url: str, keys: Keys, headers: Mapping[str, str]) -> None:
        self._url, self._keys, self._headers = url, keys, headers

    async def __call__(self, request: Any) -> None:
        """Raises ModelError for a request that would leave the server's origin."""
        url = str(request.url)
        if Origin.of(url) != Origin.of(self._url):
            raise ModelError(
                "bad_request",
                f"{self._url} redirects to another server, which is not followed; "
                "give the address of the model server itself",
            )
        request.headers.update(self._headers)
        key = self._keys.key(url, of_model=True)
        request.headers.pop("Authorization", None)
        if key is not None:
            request.headers["Authorization"] = f"Bearer {key}"
        if self._keys.variable(url, of_model=True) != OPENAI_KEY:
            for name in _OPENAI_HEADERS:
                request.headers.pop(name, None)


@functools.cache
def _no_client() -> DefaultHttpxClient:
    return DefaultHttpxClient(verify=_certificates())


@functools.cache
def _certificates() -> ssl.SSLContext:
    """Those that the client would read by itself, once a process: it takes 20 ms."""
    return httpx2.create_ssl_context()


def _encoded(body: Mapping[str, Any]) -> bytes:
    try:
        return orjson.dumps(body)
    except TypeError:
        # The standard encoder takes half characters and large numbers.
        return json.dumps(body).encode()


def _decoded(content: bytes) -> Any:
    try:
        return orjson.loads(content)
    except ValueError:
        # The standard parser takes half characters, which models that break off do write.
        return json.loads(content)
