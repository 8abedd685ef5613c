"""A web server that ends when told to, whatever its clients do. Needs uvicorn."""

import asyncio
import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from socket import socket

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from branchwise.tools.serving.listening import Listener

MAX_CONNECTIONS = 1000
IDLE_SECONDS = 30.0
"""Time for a connection's next request to arrive, with headers, and for a client to read."""
_GRACE_SECONDS = 0.3


def serve_app(app: ASGIApp, listener: Listener, ready: Callable[[], None]) -> None:
    """Serve until SIGINT or SIGTERM; `ready` is called when requests are answered.

    Requests in progress then have a third of a second and are cancelled after it.
    """
    asyncio.run(web_server(app, ready).serve(sockets=[listener.socket]))


def web_server(app: ASGIApp, ready: Callable[[], None]) -> uvicorn.Server:
    """The server, not yet started; `should_exit` ends it."""
    config = uvicorn.Config(
        app,
        loop="asyncio",
        http=_Connection,
        ws="none",
        lifespan="on",
        log_config=None,
        log_level="critical",  # the apps report errors themselves, on one line
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_keep_alive=int(IDLE_SECONDS),
        timeout_graceful_shutdown=_GRACE_SECONDS,  # type: ignore[arg-type] # asyncio takes floats
    )
    return _Server(config, ready)


class _Server(uvicorn.Server):
    """Ends without an error at SIGINT and SIGTERM: for a server that is the end."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket] | None = None) -> None:
        """Listen, then say so."""
        await super().startup(sockets)
        self._ready()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Replaces uvicorn's own, which sends itself the signal again at the end."""
        loop = asyncio.get_running_loop()
        in_main = threading.current_thread() is threading.main_thread()
        signals = (signal.SIGINT, signal.SIGTERM) if in_main else ()
        for number in signals:
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in signals:
                loop.remove_signal_handler(number)


class _Connection(H11Protocol):
    """Closes the connections of clients that neither send nor read.

    uvicorn closes a connection that is silent after a request, but not one that sends a letter at a
    time, and waits for ever for a client that does not read its response.
    """

    _watch: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start waiting for a request."""
        super().connection_made(transport)
        self._expect_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        if self._watch:
            self._watch.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Wait for the client to read the response, and for the next request."""
        super().on_response_complete()
        self._expect_request()

    def _expect_request(self) -> None:
        if self._watch:
            self._watch.cancel()
        self._watch = self.loop.call_later(IDLE_SECONDS, self._look, self.cycle, self._unread())

    def _look(self, cycle: RequestResponseCycle | None, unread: int) -> None:
        """End the connection if nothing has happened since `cycle` and `unread` were noted."""
        now, left = self.cycle, self._unread()
        answering = now is not None and not now.response_complete
        sending = answering and (now is not cycle or not now.more_body)
        if sending or 0 < left < unread:
            self._expect_request()
        else:
            self.transport.abort()

    def _unread(self) -> int:
        """Bytes of responses that the client has not read."""
        return self.transport.get_write_buffer_size()
