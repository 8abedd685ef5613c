"""What clients send: JSON, bounded in size and time, or refused with `{"error": "..."}`."""

import asyncio
from typing import Any

import orjson
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from branchwise.corpora.text import encodable, one_line, parsed

STOPPING = "the server is stopping"
_MAX_CHARS = 500


class RefusalError(Exception):
    """A refused request. `last`: the connection ends with it."""

    def __init__(self, status: int, message: str, *, last: bool = False) -> None:
        super().__init__(message)
        self.status, self.last = status, last


def refused(status: int, message: str, *, last: bool = False) -> Response:
    """The response that gives the reason."""
    line = one_line(encodable(message))[:_MAX_CHARS]
    headers = {"connection": "close"} if last else None
    return json_response({"error": line}, status, headers)


def json_response(
    value: object, status: int = 200, headers: dict[str, str] | None = None
) -> Response:
    """A JSON response."""
    return Response(orjson.dumps(value), status, headers, "application/json")


async def say_refusal(_: Request, error: Exception) -> Response:
    """The exception handler of an app for RefusalError."""
    assert isinstance(error, RefusalError)
    return refused(error.status, str(error), last=error.last)


async def say_no_route(request: Request, error: Exception) -> Response:
    """The exception handler of an app for unknown paths and methods."""
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "another method")
        return refused(405, f"{request.url.path} takes {allowed}", last=True)
    return refused(error.status_code, f"{error.detail}; GET / says what is served", last=True)


_DISCARD_SECONDS = 5.0


async def read_json(request: Request, limit: int, seconds: float) -> Any:
    """The JSON value in the body of a request, at most `limit` bytes of it.

    Raises RefusalError: 408 if the body is late, 413 if it is too large, 415 if its type is not
    JSON, 400 if it is not valid JSON; ClientDisconnect if the client left.
    """
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != "application/json":
        # This also stops forms on web pages: browsers do not let a page send this type unasked.
        raise RefusalError(
            415, "send JSON, with the header Content-Type: application/json", last=True
        )
    return _decoded(await read_body(request, limit, seconds))


async def read_body(request: Request, limit: int, seconds: float) -> bytes:
    """The body of a request. Raises RefusalError (408, 413) and ClientDisconnect."""
    try:
        async with asyncio.timeout(seconds):
            return await _read(request, limit)
    except TimeoutError:
        raise RefusalError(
            408, f"the request did not arrive within {seconds:.0f} seconds", last=True
        ) from None


async def _read(request: Request, limit: int) -> bytes:
    body = bytearray()
    announced = request.headers.get("content-length", "")
    too_large = announced.isdigit() and int(announced) > limit
    if not too_large:
        async for chunk in request.stream():
            body += chunk
            if len(body) > limit:
                too_large = True
                break
    if too_large:
        await _discard(request)
        raise RefusalError(
            413, f"the request is larger than {limit} bytes; send it in parts", last=True
        )
    return bytes(body)


async def _discard(request: Request) -> None:
    """Read what the client still sends, for a while: otherwise it would not read the refusal."""
    try:
        async with asyncio.timeout(_DISCARD_SECONDS):
            while (message := await request.receive())["type"] == "http.request":
                if not message.get("more_body", False):
                    return
    except TimeoutError:
        return
    raise ClientDisconnect


def _decoded(body: bytes) -> Any:
    try:
        return parsed(body)
    except ValueError:
        raise RefusalError(400, "the request is not valid JSON") from None
