"""From an exception of the client to a `ModelError`: what failed, and whether to try again.

Servers word the same refusal in many ways (docs/compatibility.md), so it is recognised by what it
says: of what, that it is too much; never by one server's sentence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from branchwise.agents.refusals import codes_of, sentences
from branchwise.agents.reply import LONGEST_WAIT, ModelError
from branchwise.base.backoff import retry_after
from branchwise.base.secrets import without_keys, without_users
from branchwise.base.text import cut, one_line, printable

if TYPE_CHECKING:
    import openai

_MAX_MESSAGE = 300
_MAX_READ = 50_000
# What clients call a connection that was there and ended; by name, as each has classes of its own.
_DROPPED = frozenset({"ReadError", "WriteError", "CloseError", "RemoteProtocolError"})
_RETRIED = frozenset({408, 409, 425, 429})
_NO_MODEL_CODES = frozenset({"model_not_found", "invalid_model"})
_RATE = re.compile(
    r"\bper[ -]?(second|sec|minute|min|hour|day|month)\b|\b[tr]p[smd]\b|\brate[ -]?limit|throttl"
    r"|too many requests|concurren|please wait|quota",
    re.IGNORECASE,
)
_FULL = re.compile(
    r"context (length|window|size) (is |was |has been )?exceeded|exceeds? context|prompt too long"
    r"|tokens limit reached|request too large|(entity|payload|body) (is )?too large"
    r"|(上下文|输入|提示词|消息|prompt).{0,20}(超过|超出|超限|过长|超长)",
    re.IGNORECASE,
)
"""What codes say, too; `_` is a space here."""
_CONTEXT = re.compile(
    r"\bcontext\b.{0,20}\b(length|window|size|limit|budget)|\bmax(imum)? (context|model len|seq)"
    r"|\bcontext\b.{0,10}\boverflow|\b(n|num) ctx\b",
    re.IGNORECASE,
)
_INPUT = re.compile(
    r"\b(inputs?|prompts?|messages?|conversation|history|requests?)\b", re.IGNORECASE
)
_OUTPUT = re.compile(
    r"\bmax (completion |new |output )?tokens\b|\b(output|completion|generated) tokens\b"
    r"|\bmaxOutputTokens\b",
    re.IGNORECASE,
)
_TOO_MUCH = re.compile(
    r"exceed|\btoo (long|large|big|many)\b|\b(longer|larger|greater|more|less|fewer) than\b|<=|>"
    r"|\boverflow|\b(max|maximum|limit|limited|limits|at most|reduce|shorten|shorter|decrease)\b"
    r"|\bshould be \[|\b(does not|doesn't|cannot|can't|to) fit\b|\bnot enough\b|\bonly\b",
    re.IGNORECASE,
)
_TOKENS = re.compile(r"\btokens?\b", re.IGNORECASE)
_MEASURE = re.compile(r"\btokens?\b|\blength\b|\blong|\btoo (large|big)\b|\bsequence\b", re.I)
_OTHER_MEASURE = re.compile(
    r"\b(images?|files?|tools?|functions?|audio|videos?|pages|pdf|stop|array|batch|dimensions?"
    r"|took too|time[ds]?|timeout|deadline|seconds|name|url|uri|headers?|user|metadata|schema)\b",
    re.IGNORECASE,
)
_SPENT = re.compile(
    r"insufficient[ _-]?(quota|balance|credits?|funds|account)|balance[^.]{0,20}\binsufficient"
    r"|\b(credit|account)?[ _]?balance (is )?(too low|exhausted|not enough|negative)"
    r"|\bout of credits?\b|\bno (more |remaining )?credits?\b|\bcredits?\b[^.]{0,40}\b(exhausted"
    r"|depleted|exceeded|used up|spent|run out|ran out)|(used|exceeded|exhausted|run out of|spent)"
    r"[^.]{0,40}\bcredits?\b|requires? (more|at least)[^.]{0,20}credits?"
    r"|\bkey limit exceeded|\bbilling[ _](hard[ _]limit|not[ _]active|limit)|\bpayment required"
    r"|\bbudget\b[^.]{0,20}\bexceeded|exceeded[^.]{0,20}\bbudget\b|\barrear|\boverdue"
    r"|\b(spend(ing)?|monthly|usage)[ _]limit\b[^.]{0,40}(reach|exceed)"
    r"|(reach|exceed)[^.]{0,40}\b(spend(ing)?|monthly)[ _](usage[ _])?limit\b"
    r"|\bper[ _-]?(day|month)|/ ?(day|month)\b|\b(daily|monthly)\b[^.]{0,30}\b(limit|quota)"
    r"|\b[tr]pd\b|余额不足|欠费",
    re.IGNORECASE,
)
"""Words of an account that is empty, and of a limit that no wait within a run lifts."""
_QUOTA = re.compile(
    r"exceeded (your|the) current quota|exceeded_current_quota|quota exceeded", re.I
)
_SOON = re.compile(r"per[ _-]?(second|minute|min|hour)|retry in \d|again in \d|retrydelay", re.I)
"""A quota that is a rate, as Gemini's: "exceeded your current quota" of requests a minute."""
_NO_MODEL = re.compile(
    r"\b(invalid|unknown|no such) model\b|not a valid model|\bpinned to '"
    r"|\bmodel\b.{0,80}\b(not found|does not exist)",
    re.IGNORECASE,
)
_NO_KEY = re.compile(
    r"\bAPI[ _]key[ _](is )?(not[ _]valid|invalid|not found|expired)", re.IGNORECASE
)
"""Google says so with status 400."""
_SENTENCE = re.compile(r"[.;!?]\s+|\n+")
_SECRET = re.compile(r"\b(?:sk|pk)-[\w*.-]{4,}|\bBearer\s+\S+", re.IGNORECASE)


def error_line(text: str) -> str:
    """`text` as one printable line of at most 300 characters, keys struck out."""
    text = without_users(without_keys(text[:_MAX_READ]))
    return cut(one_line(printable(_SECRET.sub("***", text[:5000]), " ")), _MAX_MESSAGE)


def classify(error: Exception, where: str) -> ModelError:
    """The `ModelError` of what the openai client raised; `where` names model and server.

    Retried: 408, 409, 425, 429, every 5xx, time-outs, connections that fail or end early, and
    bodies that are not what the protocol promises. Not retried: other refusals, among them that of
    an account that is empty, which comes with any status.
    """
    import openai

    if isinstance(error, ModelError):
        error.args = (error_line(f"{where}: {error}"),)
        return error
    if isinstance(error, openai.APITimeoutError | TimeoutError):
        return ModelError("timeout", error_line(f"{where}: no answer in time"), retryable=True)
    if isinstance(error.__cause__, ModelError):
        return error.__cause__
    if isinstance(error, openai.APIConnectionError):
        cause = error.__cause__
        detail = f"{type(cause).__name__}: {cause}" if cause else str(error)
        is_cut = "complete message body" in detail
        what = "the response broke off" if is_cut else "no connection"
        return ModelError(
            "cut" if is_cut else "connection",
            error_line(f"{where}: {what} ({detail})"),
            retryable=True,
            dropped=type(cause).__name__ in _DROPPED,
        )
    if isinstance(error, openai.APIStatusError):
        body, status = error.body or error.message, error.status_code
        wait = retry_after(error.response.headers)
        return failure_of(status, body, error_line(f"{where}: {status} {_words_of(error)}"), wait)
    if isinstance(error, openai.APIError):
        return _reported_error(error, where)
    if isinstance(error, ValueError):
        what = f"{where}: the response is not valid JSON ({error})"
        return ModelError("invalid_response", error_line(what), retryable=True)
    return ModelError("connection", error_line(f"{where}: {type(error).__name__}: {error}"))


def refusal(error: openai.APIError, where: str, field: str) -> ModelError:
    """The `ModelError` of an error that refuses an optional field of the request."""
    import openai

    status = error.status_code if isinstance(error, openai.APIStatusError) else None
    words = _words_of(error) if isinstance(error, openai.APIStatusError) else error.message
    message = error_line(f"{where}: {status or 'in a stream'} {words}")
    return ModelError("bad_request", message, status=status, refused=field)


def _reported_error(error: openai.APIError, where: str) -> ModelError:
    """The error that a stream, or a body with status 200, reports."""
    code = str(error.body.get("code")) if isinstance(error.body, Mapping) else ""
    status = int(code) if re.fullmatch(r"[45][0-9][0-9]", code) else None
    line = error_line(f"{where}: {error.message}")
    failure = failure_of(status, error.body or error.message, line, None)
    # The request was accepted: whatever broke the reply off, it is asked again.
    failure.retryable = failure.kind in ("rate_limit", "server")
    # The server itself has answered: no gateway said that it is gone.
    failure.status = None
    return failure


def failure_of(
    status: int | None, body: Any, message: str, wait: float | None = None
) -> ModelError:
    """The `ModelError` of a refusal with this status (None: it says none) and body. `message`: its
    line; `wait`: seconds that the server asked for."""
    words = " ".join(sentences(body))[:_MAX_READ]
    codes = {str(code) for code in codes_of(body)}
    if is_spent(status, words, wait):
        return ModelError("credit", message, status=status)
    if refuses_length(status, words):
        return ModelError("context_length", message, status=status)
    if status in (401, 403) or (status == 400 and _NO_KEY.search(words)):
        return ModelError("auth", message, status=status)
    if status == 429 or "rate_limit_exceeded" in codes:
        return ModelError("rate_limit", message, retryable=True, retry_after=wait, status=status)
    if status is None or status in _RETRIED or status >= 500:
        return ModelError("server", message, retryable=True, retry_after=wait, status=status)
    if status == 404:
        hint = "is the model's name right, and does the URL end in /v1?"
        return ModelError("not_found", error_line(f"{message} ({hint})"), status=status)
    if codes & _NO_MODEL_CODES or _NO_MODEL.search(words):
        return ModelError("not_found", message, status=status)
    return ModelError("bad_request", message, status=status)


def is_spent(status: int | None, words: str, wait: float | None = None) -> bool:
    """Whether a refusal says that the account is empty, or its limit of a day or month reached.

    A rate's limit is not: it is over within a minute. A 429 that asks for more than an hour is.
    """
    if status == 402:
        return True
    if status not in (400, 401, 403, 412, 429, None):
        return False
    if status == 429 and wait is not None and wait > LONGEST_WAIT:
        return True
    if _QUOTA.search(words):
        return bool(_SPENT.search(words)) or not (_SOON.search(words) or wait is not None)
    return bool(_SPENT.search(words))


def refuses_length(status: int | None, words: str) -> bool:
    """Whether a refusal is of a conversation that is too long.

    Not of a rate, although it may count tokens; nor of the output's limit alone, which leaving
    out of the conversation does not mend.
    """
    if status is not None and status not in (400, 413, 422) and status < 500:
        return False
    text = re.sub(r"(?<=[a-z])(?=[A-Z][a-z])", " ", words).replace("_", " ")
    text = re.sub(r"[`'\"*]", "", text)
    if _FULL.search(text) and not re.search(r"\btoken.{0,20}\bper\b", text):
        return True
    if _RATE.search(text):
        return False
    parts = _SENTENCE.split(text)
    if status == 413 and not any(map(_OUTPUT.search, parts)):
        return True
    if _OUTPUT.search(text) and not _INPUT.search(_OUTPUT.sub("", text)):
        return False
    return any(
        _TOO_MUCH.search(part)
        and (
            _CONTEXT.search(part)
            or (
                (_INPUT.search(part) or _TOKENS.search(part))
                and _MEASURE.search(part)
                and not (_OTHER_MEASURE.search(part) and not _TOKENS.search(part))
            )
        )
        for part in parts
        if not (_OUTPUT.search(part) and not _INPUT.search(_OUTPUT.sub("", part)))
    )


def _words_of(error: openai.APIStatusError) -> str:
    """The server's own words: OpenAI's `error.message`, FastAPI's `detail`, or the body."""
    body = error.body
    if isinstance(body, Mapping):
        for name in ("message", "detail", "error"):
            if isinstance(body.get(name), str):
                return str(body[name])
    words = without_keys(str(body or error.message))[:2000]
    # Some servers answer in plain text that begins with the status.
    return words.removeprefix(f"{error.status_code}").lstrip(" :") or words
