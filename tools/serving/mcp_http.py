"""MCP over streamable HTTP, for any number of clients. Needs mcp."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from importlib.metadata import version
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.types import JSONRPCMessage
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from branchwise.tools.serving.guard import LoopbackOnly
from branchwise.tools.serving.requests import (
    STOPPING,
    RefusalError,
    json_response,
    read_body,
    refused,
    say_no_route,
)

PATH = "/mcp"
MAX_BODY_BYTES = 4 * 1024 * 1024
BODY_SECONDS = 30.0


def mcp_app(server: Server[Any, Any], *, only_loopback: bool = True) -> Starlette:
    """The app: the protocol at `/mcp`, a description at `/` and `/health`.

    There are no sessions: our tools remember nothing between calls, a client that vanishes leaves
    nothing behind, and one that stays is not disturbed by a restart.
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


def _fault(body: bytes) -> dict[str, Any] | None:
    """The error for a body that is not a JSON-RPC message.

    The SDK answers with pages of pydantic's, and with status 500 for bytes that are not UTF-8."""
    try:
        JSONRPCMessage.model_validate_json(body)
        return None
    except ValidationError as error:
        is_json = error.errors(include_url=False)[0]["type"] != "json_invalid"
    code, what = (-32600, "not a JSON-RPC message") if is_json else (-32700, "not valid JSON")
    fault = {"code": code, "message": f"the request is {what}"}
    return {"jsonrpc": "2.0", "id": "server-error", "error": fault}


def _again(body: bytes, receive: Receive) -> Receive:
    """Replays a body that was read, then passes on what follows."""
    waiting = [body]

    async def next_message() -> Message:
        if not waiting:
            return await receive()
        return {"type": "http.request", "body": waiting.pop(), "more_body": False}

    return next_message


class _Endpoint:
    """The SDK's handler for a route: Starlette takes an instance of a class as an app."""

    def __init__(self, sessions: StreamableHTTPSessionManager) -> None:
        self._sessions = sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; one in progress when the server ends is told so."""
        try:
            body = await read_body(Request(scope, receive), MAX_BODY_BYTES, BODY_SECONDS)
            if fault := _fault(body):
                await json_response(fault, 400)(scope, receive, send)
                return
            await self._sessions.handle_request(scope, _again(body, receive), send)
        except RefusalError as error:
            await refused(error.status, str(error), last=error.last)(scope, receive, send)
        except ClientDisconnect:
            return
        except asyncio.CancelledError:
            # Only the end of the server cancels.
            await refused(503, STOPPING, last=True)(scope, receive, send)
