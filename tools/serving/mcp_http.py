"""MCP over streamable HTTP, for any number of clients. Needs mcp."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from importlib.metadata import version
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from branchwise.tools.serving.guard import LoopbackOnly
from branchwise.tools.serving.refusals import STOPPING, json_response, refused, say_no_route

PATH = "/mcp"
MAX_BODY_BYTES = 4 * 1024 * 1024


def mcp_app(server: Server[Any, Any], *, only_loopback: bool = True) -> Starlette:
    """The app: the protocol at `/mcp`, a word about it at `/` and `/health`.

    Without sessions: our tools remember nothing between calls, a client that vanishes leaves
    nothing behind, and one that stays is not disturbed when the server is started anew.
    """
    sessions = StreamableHTTPSessionManager(
        server, json_response=True, stateless=True, max_request_body_size=MAX_BODY_BYTES
    )

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with sessions.run():
            yield

    async def describe(_: Request) -> Response:
        protocol = f"MCP, streamable HTTP: {PATH}"
        what = {"status": "ok", "server": f"branchwise {version('branchwise')}"}
        return json_response(what | {"protocol": protocol})

    return Starlette(
        routes=[
            Route(PATH, _Endpoint(sessions), methods=["POST"]),
            Route("/", describe, methods=["GET"]),
            Route("/health", describe, methods=["GET"]),
        ],
        middleware=[Middleware(LoopbackOnly)] if only_loopback else [],
        exception_handlers={HTTPException: say_no_route},
        lifespan=lifespan,
    )


class _Endpoint:
    """The SDK's handler as a route's: Starlette takes a class's instance as an app."""

    def __init__(self, sessions: StreamableHTTPSessionManager) -> None:
        self._sessions = sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; one that is under way when the server ends is told so."""
        try:
            await self._sessions.handle_request(scope, receive, send)
        except asyncio.CancelledError:
            # Only the end of the server cancels.
            await refused(503, STOPPING, last=True)(scope, receive, send)
