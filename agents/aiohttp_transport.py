"""httpx requests over aiohttp's connections.

httpx's own pool asks every connection, at every request, whether it has expired: with a thousand
open, that takes longer than all else. The openai client has a transport like this one, which
reports a refused or lost connection as a time-out.
"""

from __future__ import annotations

import asyncio
import ssl
import threading
import weakref
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress

import aiohttp
import httpx2
import yarl
from aiohttp import ClientTimeout

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
                timeout=ClientTimeout(connect=connect, sock_connect=connect, sock_read=read),
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
