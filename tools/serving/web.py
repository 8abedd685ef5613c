"""A web server for programs: where it listens, what it refuses, and its end. Needs uvicorn.

It listens before anything is loaded, so that a busy port shows at once, and ends when told to,
whatever its clients do.
"""

import asyncio
import contextlib
import errno
import ipaddress
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import orjson
import uvicorn
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from branchwise.corpora.errors import InputError
from branchwise.corpora.text import encodable, one_line

LOOPBACK = "127.0.0.1"
STOPPING = "the server is stopping"
MAX_CONNECTIONS = 1000
DISCARD_SECONDS = 5.0
_GRACE_SECONDS = 0.3
_BACKLOG = 2048
_MAX_CHARS = 500
_REASONS: Mapping[int, tuple[str, str]] = {
    errno.EADDRINUSE: ("the port is in use", "name another, or 0 for any free port"),
    errno.EACCES: ("this user may not listen there", "name a port above 1023"),
    errno.EADDRNOTAVAIL: ("this machine does not have that address", f"name {LOOPBACK}"),
}


@dataclass(frozen=True)
class Listener:
    """A listening socket; `host` as the user named it, `is_local` if no other machine gets in.

    Clients that connect before the server is ready wait for it.
    """

    socket: socket.socket
    host: str
    is_local: bool

    @property
    def url(self) -> str:
        """Such as `http://127.0.0.1:8000`, with the port that was found for port 0."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.socket.getsockname()[1]}"


def listen(host: str, port: int, option: str) -> Listener:
    """Listen on a port, 0 for any free one. Raises InputError, which names `option`."""
    try:
        found = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE | socket.AI_NUMERICSERV
        )
    except (OSError, UnicodeError, ValueError):
        raise InputError(
            f"unknown host {host[:80]!r}", where=option, remedy=f"name {LOOPBACK}"
        ) from None
    family, _, _, _, address = found[0]
    taken = socket.socket(family, socket.SOCK_STREAM)
    try:
        # Otherwise the port of a server that has just ended is blocked for a minute.
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Connections inherit it: asyncio sets it only on sockets that name their protocol. A
        # response in two writes would wait 40 ms for the client to acknowledge the first.
        taken.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        taken.bind(address)
        taken.listen(_BACKLOG)
    except OSError as error:
        taken.close()
        what, remedy = _REASONS.get(
            error.errno or 0, (error.strerror or "cannot listen there", "name another address")
        )
        raise InputError(f"{what} ({host}, port {port})", where=option, remedy=remedy) from None
    taken.setblocking(False)
    is_local = ipaddress.ip_address(str(address[0]).partition("%")[0]).is_loopback
    return Listener(taken, host, is_local)


def parse_address(text: str, option: str) -> tuple[str, int]:
    """Host and port of `HOST:PORT`; for `PORT` or `:PORT`, the loopback host. Raises InputError."""
    host, _, port = text.strip().rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    # More than one colon is an IPv6 address, which is written in brackets before a port.
    if not (port.isascii() and port.isdigit() and int(port) < 2**16) or (
        ":" in host and host == bare
    ):
        raise InputError(
            f"{text[:80]!r} is not an address to listen on",
            where=option,
            remedy="write PORT, or HOST:PORT such as 127.0.0.1:8001",
        )
    return bare or LOOPBACK, int(port)


class RefusalError(Exception):
    """A refused request. `last`: the connection ends with it."""

    def __init__(self, status: int, message: str, *, last: bool = False) -> None:
        super().__init__(message)
        self.status, self.last = status, last


def refused(status: int, message: str, *, last: bool = False) -> Response:
    """The response that gives the reason."""
    line = one_line(encodable(message))[:_MAX_CHARS]
    return json_response({"error": line}, status, {"connection": "close"} if last else None)


def json_response(
    value: object, status: int = 200, headers: dict[str, str] | None = None
) -> Response:
    """A JSON response."""
    return Response(orjson.dumps(value), status, headers, "application/json")


async def say_why(request: Request, error: Exception) -> Response:
    """The exception handler of an app for RefusalError, and for unknown paths and methods."""
    if isinstance(error, RefusalError):
        return refused(error.status, str(error), last=error.last)
    assert isinstance(error, HTTPException)
    why = f"{error.detail}; GET / says what is served"
    if error.status_code == 405:
        why = f"{request.url.path} takes {(error.headers or {}).get('Allow', 'another method')}"
    return refused(error.status_code, why, last=True)


async def read_body(request: Request, limit: int, seconds: float) -> bytes:
    """The body of a request, at most `limit` bytes.

    Raises RefusalError: 408 if it is late, 413 if it is too large; ClientDisconnect if the client
    left.
    """
    body = bytearray()
    announced = request.headers.get("content-length", "")
    too_large = announced.isdigit() and int(announced) > limit
    try:
        async with asyncio.timeout(seconds):
            if not too_large:
                async for chunk in request.stream():
                    body += chunk
                    if too_large := len(body) > limit:
                        break
    except TimeoutError:
        raise RefusalError(
            408, f"the request did not arrive within {seconds:.0f} seconds", last=True
        ) from None
    if too_large:
        await _discard(request)
        raise RefusalError(
            413, f"the request is larger than {limit} bytes; send it in parts", last=True
        )
    return bytes(body)


async def _discard(request: Request) -> None:
    """Read what the client still sends, for a while: otherwise it would not read the refusal."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(DISCARD_SECONDS):
            while (message := await request.receive())["type"] == "http.request":
                if not message.get("more_body", False):
                    return
        raise ClientDisconnect


class LoopbackOnly:
    """Keeps web pages away from a server that is meant for programs on this machine.

    A page in the user's browser can reach the loopback too. With a domain name that points there
    (DNS rebinding) it could even read the responses; the name is then in `Host`, and the page's
    origin in `Origin`.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The app's response, or a refusal."""
        answer = self._app
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            if not _is_local(f"//{headers.get('host', LOOPBACK)}"):
                why = "this server answers to 127.0.0.1 and localhost only; use one of them"
                answer = refused(403, f"{why} in the address", last=True)
            elif not _is_local(headers.get("origin", f"//{LOOPBACK}")):
                answer = refused(403, "requests from web pages are refused", last=True)
        await answer(scope, receive, send)


def _is_local(address: str) -> bool:
    try:
        host = urlsplit(address).hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def web_server(app: ASGIApp, ready: Callable[[], None]) -> uvicorn.Server:
    """The server, not yet started: SIGINT, SIGTERM or `should_exit` end it.

    `ready` is called when requests are answered. At the end, requests in progress have a third of a
    second and are cancelled after it.
    """
    config = uvicorn.Config(
        app,
        loop="asyncio",
        http="h11",
        ws="none",
        lifespan="on",
        log_config=None,
        log_level="critical",  # the apps report errors themselves, on one line
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=_GRACE_SECONDS,  # type: ignore[arg-type] # asyncio takes floats
    )
    return _Server(config, ready)


class _Server(uvicorn.Server):
    """Ends without an error at SIGINT and SIGTERM: for a server that is the end."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[Any] | None = None) -> None:
        """Listen, then say so."""
        await super().startup(sockets)
        self._ready()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Replaces uvicorn's own, which sends itself the signal again at the end."""
        loop = asyncio.get_running_loop()
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):  # until the loop is closed
                loop.add_signal_handler(number, self.handle_exit, number, None)
        yield
