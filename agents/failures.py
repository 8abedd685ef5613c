"""From an exception of the client to a `ModelError`: what failed, and whether to try again."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from branchwise.agents.reply import FailureKind, ModelError
from branchwise.corpora.secrets import without_keys, without_users
from branchwise.corpora.text import cut, one_line, printable

if TYPE_CHECKING:
    import openai

_MAX_MESSAGE = 300
_MAX_READ = 50_000
# What clients call a connection that was there and ended; by name, as each has classes of its own.
_DROPPED = frozenset({"ReadError", "WriteError", "CloseError", "RemoteProtocolError"})
_RETRIED = frozenset({408, 409, 425, 429})
_NO_MODEL_CODES = frozenset({"model_not_found", "invalid_model"})
_CONTEXT = re.compile(
    r"context[_ ](length|window|size)|maximum context|max_model_len|prompt is too long"
    r"|too many (input )?tokens|reduce the length",
    re.IGNORECASE,
)
_NO_MODEL = re.compile(
    r"\b(invalid|unknown|no such) model\b|not a valid model|\bpinned to '"
    r"|\bmodel\b.{0,80}\b(not found|does not exist)",
    re.IGNORECASE,
)
_SECRET = re.compile(r"\b(?:sk|pk)-[\w*.-]{4,}|\bBearer\s+\S+", re.IGNORECASE)


def error_line(text: str) -> str:
    """`text` as one printable line of at most 300 characters, keys struck out."""
    text = without_users(without_keys(text[:_MAX_READ]))
    return cut(one_line(printable(_SECRET.sub("***", text[:5000]), " ")), _MAX_MESSAGE)


def classify(error: Exception, where: str) -> ModelError:
    """The `ModelError` of what the openai client raised; `where` names model and server.

    Retried: 408, 409, 425, 429, every 5xx, time-outs, connections that fail or end early, and
    bodies that are not what the protocol promises. Not retried: other refusals, among them an
    exhausted quota, which comes as 429.
    """
    import openai

    if isinstance(error, ModelError):
        return error
    if isinstance(error, openai.APITimeoutError | TimeoutError):
        return ModelError("timeout", error_line(f"{where}: no answer in time"), retryable=True)
    if isinstance(error.__cause__, ModelError):
        return error.__cause__
    if isinstance(error, openai.APIConnectionError):
        return _connection_error(error, where)
    if isinstance(error, openai.APIStatusError):
        return _status_error(error, where)
    if isinstance(error, openai.APIError):
        return ModelError("server", error_line(f"{where}: {error.message}"), retryable=True)
    if isinstance(error, ValueError):
        what = f"{where}: the response is not valid JSON ({error})"
        return ModelError("invalid_response", error_line(what), retryable=True)
    return ModelError("connection", error_line(f"{where}: {type(error).__name__}: {error}"))


def refusal(error: openai.APIError, where: str, field: str) -> ModelError:
    """The `ModelError` of an error that refuses an optional field of the request."""
    import openai

    status = error.status_code if isinstance(error, openai.APIStatusError) else None
    said = _said(error) if isinstance(error, openai.APIStatusError) else error.message
    message = error_line(f"{where}: {status or 'in a stream'} {said}")
    return ModelError("bad_request", message, status=status, refused=field)


def _connection_error(error: openai.APIConnectionError, where: str) -> ModelError:
    cause = error.__cause__
    detail = f"{type(cause).__name__}: {cause}" if cause else str(error)
    cut = "complete message body" in detail
    kind: FailureKind = "cut" if cut else "connection"
    what = "the response broke off" if cut else "no connection"
    line = error_line(f"{where}: {what} ({detail})")
    return ModelError(kind, line, retryable=True, dropped=type(cause).__name__ in _DROPPED)


def _status_error(error: openai.APIStatusError, where: str) -> ModelError:
    status, said = error.status_code, _said(error)
    message = error_line(f"{where}: {status} {said}")
    if error.code == "context_length_exceeded" or (
        status in (400, 413, 422) and _CONTEXT.search(said)
    ):
        return ModelError("context_length", message, status=status)
    if status in (401, 403):
        return ModelError("auth", message, status=status)
    if status == 429:
        return ModelError(
            "rate_limit",
            message,
            retryable=error.code != "insufficient_quota",
            retry_after=retry_after(error.response.headers),
            status=status,
        )
    if status in _RETRIED or status >= 500:
        wait = retry_after(error.response.headers)
        return ModelError("server", message, retryable=True, retry_after=wait, status=status)
    if status == 404:
        hint = "is the model's name right, and does the URL end in /v1?"
        return ModelError("not_found", error_line(f"{message} ({hint})"), status=status)
    if error.code in _NO_MODEL_CODES or _NO_MODEL.search(said):
        return ModelError("not_found", message, status=status)
    return ModelError("bad_request", message, status=status)


def _said(error: openai.APIStatusError) -> str:
    """The server's own words: OpenAI's `error.message`, FastAPI's `detail`, or the body."""
    body = error.body
    if isinstance(body, Mapping):
        for name in ("message", "detail", "error"):
            if isinstance(body.get(name), str):
                return str(body[name])
    said = without_keys(str(body or error.message))[:2000]
    # Some servers answer in plain text that begins with the status.
    return said.removeprefix(f"{error.status_code}").lstrip(" :") or said


def retry_after(
    headers: Mapping[str, str], now: Callable[[], datetime] = lambda: datetime.now(UTC)
) -> float | None:
    """Seconds that the server asked to wait, or None: `Retry-After` as seconds or as HTTP date.

    Never negative (RFC 9110, section 10.2.3); OpenAI's `retry-after-ms` goes first.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return max(0.0, milliseconds / 1000)
    text = headers.get("retry-after")
    seconds = _number(text)
    if seconds is not None:
        return max(0.0, seconds)
    try:
        date = parsedate_to_datetime(text or "")
    except ValueError:
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return max(0.0, (date - now()).total_seconds())


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) else None
