"""OpenAI's chat-completions protocol, through LangChain's client. Import it lazily.

`ChatOpenAI` makes the payload. Requests are sent, and bodies read, here instead of there:
it drops `reasoning_content`, raises if a tool call's arguments are not a JSON object, and spends
most of a request's CPU time on turning dictionaries into typed objects and back.

Connections are aiohttp's: httpx's own pool asks each, at every request, whether it has expired,
which with a thousand open takes longer than all else. The openai client has a transport like this
one, which reports a refused or lost connection as a time-out.
"""

from __future__ import annotations

import asyncio
import functools
import json
import ssl
import threading
import weakref
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING, Any, ClassVar

import aiohttp
import httpx2
import orjson
import yarl
from langchain_openai import ChatOpenAI
from openai import (
    DEFAULT_CONNECTION_LIMITS,
    APIConnectionError,
    APIError,
    APIStatusError,
    APITimeoutError,
    DefaultAsyncHttpxClient,
    DefaultHttpxClient,
)
from pydantic import SecretStr

from branchwise.agents.headers import NO_HEADERS
from branchwise.agents.reasoning import send_back
from branchwise.agents.refusals import BACK
from branchwise.agents.reply import ModelError
from branchwise.agents.reply_stream import ENCODINGS, StreamFold, decoded, events_of, pieces_of
from branchwise.agents.response_bodies import read_body, reported_error
from branchwise.base.http import proxy_of
from branchwise.base.keys import NO_KEYS, Keys, Origin
from branchwise.base.providers import OPENAI_KEY, PROVIDERS

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

    from branchwise.agents.decoding import Decoding
    from branchwise.agents.reply import Completion
    from branchwise.agents.spec import ModelSpec


_KEEP_ALIVE = 5.0
"""Seconds for which an idle connection is kept: what httpx's own pool does."""
_LONGEST_HEADER = 65_536
# In order: the first that fits.
_ERRORS: tuple[tuple[type[Exception], type[httpx2.TransportError]], ...] = (
    (aiohttp.ConnectionTimeoutError, httpx2.ConnectTimeout),
    (aiohttp.ServerTimeoutError, httpx2.ReadTimeout),
    (aiohttp.ClientConnectorError, httpx2.ConnectError),
    (aiohttp.ClientPayloadError, httpx2.RemoteProtocolError),
    (aiohttp.ServerDisconnectedError, httpx2.RemoteProtocolError),
    (aiohttp.ClientResponseError, httpx2.RemoteProtocolError),
    (aiohttp.ClientError, httpx2.NetworkError),
    (OSError, httpx2.NetworkError),
    (ValueError, httpx2.LocalProtocolError),
)
_WORDS = {
    aiohttp.ClientPayloadError: "peer closed connection without sending complete message body",
    aiohttp.ServerDisconnectedError: "Server disconnected without sending a response.",
}
"""As httpx says it, where aiohttp shows its own objects."""


class AiohttpTransport(httpx2.AsyncBaseTransport):
    """A pool without a limit for one event loop, that of its first request.

    How many requests go at a time is for those who send them. Proxies are not its part.
    """

    def __init__(self, certificates: ssl.SSLContext) -> None:
        self._certificates = certificates
        self._session: aiohttp.ClientSession | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Raises httpx's exceptions, as its own transport does."""
        url, limits = request.url, request.extensions.get("timeout", {})
        # Without user and password, which are in a header by now.
        address = f"{url.scheme}://{url.netloc.decode()}{url.raw_path.decode()}"
        connect, read = limits.get("connect"), limits.get("read")
        with _errors_of_httpx():
            response = await self._opened().request(
                request.method,
                yarl.URL(address, encoded=True),
                # In the case of letters in which they were written.
                headers=[(name.decode(), value.decode()) for name, value in request.headers.raw],
                data=await request.aread(),
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(
                    connect=connect, sock_connect=connect, sock_read=read
                ),
            )
        return httpx2.Response(
            response.status, headers=response.raw_headers, stream=_Body(response)
        )

    async def aclose(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=0,
                    keepalive_timeout=_KEEP_ALIVE,
                    resolver=aiohttp.ThreadedResolver(),
                    ssl=self._certificates,
                ),
                # What httpx does by itself.
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                max_line_size=_LONGEST_HEADER,
                max_field_size=_LONGEST_HEADER,
            )
            # For callers that drop it unclosed, of which aiohttp would complain. `__del__` would be
            # too late: the session's own may be called before it.
            weakref.finalize(self, _close, self._session, asyncio.get_running_loop())
        return self._session


class _Body(httpx2.AsyncByteStream):
    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _errors_of_httpx():
            async for data in self._response.content.iter_any():
                yield data

    async def aclose(self) -> None:
        # Closes the connection if something of the body is still to come.
        self._response.release()


def _close(session: aiohttp.ClientSession, loop: asyncio.AbstractEventLoop) -> None:
    closing = session.close()
    if loop.is_closed():
        # Nothing is left to wait for.
        with suppress(StopIteration):
            closing.send(None)
    elif threading.main_thread().is_alive():
        asyncio.run_coroutine_threadsafe(closing, loop)
    else:
        # The process ends, and the loop's thread with it: closed now, its requests fail before.
        closing.close()


@contextmanager
def _errors_of_httpx() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        for ours, theirs in _ERRORS:
            if isinstance(error, ours):
                raise theirs(_WORDS.get(ours) or str(error)) from error
        raise


_NEVER_SENT = "none"
"""The client insists on a key; each request gets its own headers by `_guard`."""
_LONGEST_DRAIN = 1.0
"""Seconds for what may follow the end of a stream."""


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
        ModelError for a body without a message or one that was cut or is too large.
        """
        client = self.http_async_client
        assert client is not None
        content, headers = encoded(body), self._headers
        request = client.build_request(
            "POST", self._address, headers=headers, content=content, timeout=seconds
        )
        async with sent_by(client, request) as response:
            if response.is_success and body.get("stream"):
                return await self._streamed(response)
            content = b"".join([piece async for piece in pieces_of(response)])
        if not response.is_success:
            raise status_error(response, content)
        return self.read(checked(content, request))

    async def end(self) -> None:
        """Close the connections."""
        await self.root_async_client.close()

    async def _streamed(self, response: httpx2.Response) -> Completion:
        fold, pieces = self.fold(), pieces_of(response)
        async for event in events_of(pieces):
            if isinstance(event, bytearray):
                return self.read(checked(event, response.request))
            if event.is_end:
                fold.is_ended = True
                # To its end, which keeps the connection, if that is soon.
                with suppress(TimeoutError, ModelError, httpx2.RequestError):
                    async with asyncio.timeout(_LONGEST_DRAIN):
                        async for _ in pieces:
                            pass
                break
            chunk = event.value
            _check(chunk, response.request, is_error=event.name == "error")
            fold.add(chunk)
        return self.read(fold.body())

    # The same for every request. OpenAI's client makes both anew each time, checks and copies its
    # own options: that takes longer than sending.
    @functools.cached_property
    def _address(self) -> httpx2.URL:
        base: httpx2.URL = self.root_async_client.base_url
        return base.copy_with(raw_path=base.raw_path.rstrip(b"/") + self.path.encode())

    @functools.cached_property
    def _headers(self) -> dict[str, str]:
        named = self.root_async_client.default_headers.items()
        headers = {name: value for name, value in named if isinstance(value, str)}
        return {**headers, "Accept-Encoding": ENCODINGS}


def make_client(
    spec: ModelSpec,
    decoding: Decoding,
    keys: Keys = NO_KEYS,
    headers: Mapping[str, str] = NO_HEADERS,
    protocol: type[ChatCompletions] = ChatCompletions,
) -> ChatCompletions:
    """The client of `spec`, with a connection pool of its own: LangChain's default pool is
    shared by all event loops of the process, and breaks when one of them ends.

    It is given no sampling: by the model's name it would change or drop some of it.
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
        http_async_client=connections(spec, decoding.timeout, keys, headers),
    )


def connections(
    spec: ModelSpec, seconds: float, keys: Keys, headers: Mapping[str, str]
) -> httpx2.AsyncClient:
    """The connections to one model server, on which each request gets its key and its headers."""
    proxy = proxy_of(spec.url, takes_all=True)
    transport: httpx2.AsyncBaseTransport = (
        httpx2.AsyncHTTPTransport(
            verify=_certificates(), proxy=proxy, limits=DEFAULT_CONNECTION_LIMITS
        )
        if proxy
        else AiohttpTransport(_certificates())
    )
    guard = functools.partial(_guard, spec, keys, headers)
    return DefaultAsyncHttpxClient(
        timeout=seconds, transport=transport, event_hooks={"request": [guard]}
    )


@asynccontextmanager
async def sent_by(
    client: httpx2.AsyncClient, request: httpx2.Request
) -> AsyncIterator[httpx2.Response]:
    """The response to a request, whose body is read within. Raises what the openai client raises
    where it does not come, or not whole."""
    try:
        response = await client.send(request, stream=True)
        try:
            yield response
        finally:
            await response.aclose()
    except httpx2.TimeoutException as error:
        raise APITimeoutError(request) from error
    except (httpx2.RequestError, ssl.SSLError) as error:
        raise APIConnectionError(request=request) from error


async def _guard(spec: ModelSpec, keys: Keys, headers: Mapping[str, str], request: Any) -> None:
    """Give each request, those after redirects, too, its key and its headers. Raises ModelError for
    one that would leave the server's origin."""
    url, server = str(request.url), spec.url
    if Origin.of(url) != Origin.of(server):
        raise ModelError(
            "bad_request",
            f"{server} redirects to another server, which is not followed; "
            "give the address of the model server itself",
        )
    request.headers.update(headers)
    key, header = keys.key(url, of_model=True), PROVIDERS[spec.provider].header
    for name in ("Authorization", header):
        request.headers.pop(name, None)
    if key is not None:
        request.headers[header] = f"Bearer {key}" if header == "Authorization" else key
    if keys.variable(url, of_model=True) != OPENAI_KEY:
        for name in ("OpenAI-Organization", "OpenAI-Project"):
            request.headers.pop(name, None)


@functools.cache
def _no_client() -> DefaultHttpxClient:
    return DefaultHttpxClient(verify=_certificates())


@functools.cache
def _certificates() -> ssl.SSLContext:
    """Those that the client would read by itself, once a process: it takes 20 ms."""
    return httpx2.create_ssl_context()


def encoded(body: Any) -> bytes:
    """A request's body as JSON."""
    try:
        return orjson.dumps(body)
    except TypeError:
        # The standard encoder takes half characters and large numbers.
        return json.dumps(body).encode()


def checked(content: bytes | bytearray, request: httpx2.Request) -> Any:
    """A whole body. Raises ValueError where it is not JSON, APIError where it reports an error."""
    body = decoded(content)
    _check(body, request)
    return body


def _check(body: Any, request: httpx2.Request, *, is_error: bool = False) -> None:
    """Raise APIError where a body or chunk reports an error; `is_error`: its event is named so."""
    error = reported_error(body) or (body if is_error else None)
    if error:
        named = error.get("message") if isinstance(error, Mapping) else error
        words = named if isinstance(named, str) and named else json.dumps(error)[:2000]
        raise APIError(words, request, body=error)


def status_error(response: httpx2.Response, content: bytes) -> APIStatusError:
    """The error of a status; its `body` is what it says, without what OpenAI puts around it."""
    reported: Any = content.decode("utf-8", "replace").strip()
    with suppress(ValueError, RecursionError):
        reported = json.loads(reported)
    body = reported.get("error", reported) if isinstance(reported, dict) else reported
    named = body.get("message") if isinstance(body, dict) else None
    line = f"Error code: {response.status_code}"
    line += f" - {named}" if named and isinstance(named, str) else ""
    return APIStatusError(line, response=response, body=body)
