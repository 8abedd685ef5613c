"""Requests that get no result: one line of JSON, `{"error": "..."}`."""

import orjson
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from branchwise.corpora.text import encodable, one_line

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
