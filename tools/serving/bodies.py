"""Reading what a client sends: bounded in size and time, and JSON only."""

import asyncio
import json
from typing import Any

import orjson
from starlette.requests import ClientDisconnect, Request

from branchwise.tools.serving.refusals import RefusalError

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
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        pass
    try:
        # The standard parser takes lone surrogates ("\\\\ud800"), which models do write.
        return json.loads(body)
    except (ValueError, RecursionError):
        raise RefusalError(400, "the request is not valid JSON") from None
