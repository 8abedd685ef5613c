"""A web server for programs: where it listens, what it refuses, and its end. Needs uvicorn.

It listens before anything is loaded, so that a busy port shows at once, and ends when told to,
whatever its clients do.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from importlib.metadata import version
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import orjson
import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from branchwise.base.errors import InputError
from branchwise.base.text import encodable, one_line

LOOPBACK = "127.0.0.1"
MAX_CONNECTIONS = 1000
_GRACE_SECONDS = 0.3
_BACKLOG = 2048
_MAX_CHARS = 500
LAST = {"connection": "close"}
"""The headers of a response with which the connection ends."""


class Listener(NamedTuple):
    """A listening socket, its address, and whether no other machine gets in."""

    socket: socket.socket
    url: str
    is_local: bool


def listen(host: str, port: int, option: str) -> Listener:
    """Listen on a port, 0 for any free one. Raises InputError, which names `option`."""
    try:
        resolved = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        family, *_, address = min(resolved, key=lambda entry: entry[0] != socket.AF_INET)
        both = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
        taken = socket.create_server(address, family=family, backlog=_BACKLOG, dualstack_ipv6=both)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or "unknown host"
        raise InputError(
            f"cannot listen there: {reason.partition(' (while')[0]} ({host[:80]}, port {port})",
            where=option,
            remedy=f"name a free port above 1023, or 0 for any, and {LOOPBACK} as the host",
        ) from None
    # Connections inherit it: asyncio sets it only on sockets that name their protocol. A response
    # in two writes would wait 40 ms for the client to acknowledge the first.
    taken.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    address, port = taken.getsockname()[:2]
    is_local = ipaddress.ip_address(address.partition("%")[0]).is_loopback
    return Listener(taken, f"http://{f'[{host}]' if ':' in host else host}:{port}", is_local)


def parse_address(text: str, option: str) -> tuple[str, int]:
    """Host and port of `HOST:PORT`; for `PORT` or `:PORT`, the loopback host. Raises InputError."""
    try:
        parts = urlsplit(f"//{text}" if ":" in text else f"//:{text}")
        port = parts.port
    except ValueError:
        port = None
    if port is None:
        raise InputError(
            f"{text[:80]!r} is not an address to listen on",
            where=option,
            remedy="write PORT, or HOST:PORT such as 127.0.0.1:8001",
        )
    return parts.hostname or LOOPBACK, port


def service(
    path: str,
    endpoint: Callable[[Request], Awaitable[ASGIApp]],
    about: Mapping[str, Any],
    *,
    only_loopback: bool,
    lifespan: Callable[[Starlette], AbstractAsyncContextManager[None]] | None = None,
) -> Starlette:
    """The app that answers POST at `path`, and says what it is at `/` and `/health`.

    `endpoint` returns a response; an HTTPException refuses the request, in its `detail`.
    """

    async def describe(_: Request) -> Response:
        server = f"branchwise {version('branchwise')}"
        return json_response({"status": "ok", "server": server, **about})

    return Starlette(
        routes=[
            Route(path, endpoint, methods=["POST"]),
            Route("/", describe, methods=["GET"]),
            Route("/health", describe, methods=["GET"]),
        ],
        middleware=[Middleware(_Guard, only_loopback)],
        exception_handlers={HTTPException: _say_why},
        lifespan=lifespan,
    )


def json_response(
    value: object, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """A JSON response."""
    return Response(orjson.dumps(value), status, headers, "application/json")


def _refused(status: int, why: str, headers: Mapping[str, str] | None = LAST) -> Response:
    return json_response({"error": one_line(encodable(why))[:_MAX_CHARS]}, status, headers)


async def _say_why(request: Request, error: Exception) -> Response:
    """The response to a refused request, and to unknown paths and methods."""
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "another method")
        return _refused(405, f"{request.url.path} takes {allowed}")
    if error.status_code == 404:
        return _refused(404, f"{error.detail}; GET / says what is served")
    return _refused(error.status_code, error.detail, error.headers)


async def read_body(request: Request, limit: int, seconds: float) -> bytes:
    """The body of a request, at most `limit` bytes. Raises HTTPException: 408 if it is late, 413 if
    it is too large; ClientDisconnect if the client left."""
    body, size = bytearray(), 0
    try:
        async with asyncio.timeout(seconds):
            async for chunk in request.stream():
                size += len(chunk)
                # Read to its end: otherwise the client would not read the refusal.
                if size <= limit:
                    body += chunk
    except TimeoutError:
        late = f"the request did not arrive within {seconds:.0f} seconds"
        raise HTTPException(408, late, LAST) from None
    if size > limit:
        large = f"the request is larger than {limit} bytes; send it in parts"
        raise HTTPException(413, large, LAST)
    return bytes(body)


class _Guard:
    """Keeps web pages away from a server for programs here, and tells clients of its end.

    A page in the user's browser can reach the loopback too. With a domain name that points there
    (DNS rebinding) it could even read the responses; the name is then in `Host`, and the page's
    origin in `Origin`.
    """

    def __init__(self, app: ASGIApp, only_loopback: bool) -> None:
        self._app, self._only_loopback = app, only_loopback

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The app's response, or a refusal."""
        answer = self._app
        if scope["type"] == "http" and self._only_loopback:
            headers = Headers(scope=scope)
            if not _is_local(f"//{headers.get('host', LOOPBACK)}"):
                why = "this server answers to 127.0.0.1 and localhost only; use one of them"
                answer = _refused(403, f"{why} in the address")
            elif not _is_local(headers.get("origin", f"//{LOOPBACK}")):
                answer = _refused(403, "requests from web pages are refused")
        try:
            await answer(scope, receive, send)
        except asyncio.CancelledError:
            # Only the end of the server cancels. Clients that know 503 come back.
            await _refused(503, "the server is stopping")(scope, receive, send)


def _is_local(address: str) -> bool:
    try:
        host = urlsplit(address).hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def web_server(app: ASGIApp) -> uvicorn.Server:
    """The server, not yet started: SIGINT, SIGTERM or `should_exit` end it.

    At the end, requests in progress have a third of a second and are cancelled after it.
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
    return uvicorn.Server(config)
