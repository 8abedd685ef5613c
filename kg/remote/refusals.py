"""What a server that does not answer says, for the model that asked."""

import re

import orjson

from branchwise.base.absence import Sign, sign_of_status
from branchwise.base.backoff import retry_after
from branchwise.base.http import ExchangeError, HttpReply
from branchwise.kg.answers import ErrorKind, KgError

TOO_SLOW = "The endpoint did not answer in time; ask for less: fewer patterns, or a LIMIT."
CUT_SHORT = "The endpoint's answer broke off; ask again, or ask for less with a LIMIT."
_NO_ANSWER = {
    "another host": "The endpoint redirects to another host, which is not followed; "
    "give the address of the SPARQL endpoint itself.",
    "compression": "The endpoint compresses its answers in a way not asked for.",
    "corrupt": CUT_SHORT,
    "encryption": "The endpoint's certificate or encryption was not accepted; the user must check "
    "its address and certificate.",
    "unreachable": "The endpoint cannot be reached; the user must check that it runs, and its "
    "address. Go on with the other tools.",
}

_MAX_READ = 50_000
MAX_SERVER_WORDS = 300
"""Characters of a server's own message that are passed on."""

# What a server sends may be made to slow these down: each repetition has an end.
_JAVA = re.compile(
    r"\b(?:[a-z]\w{0,40}\.){1,12}[A-Z]\w{0,60}?(?:Exception|Error)(?:: {0,3}|$)", re.MULTILINE
)
_TIMED_OUT = re.compile(
    r"TimeoutException|QueryTimeout|timed[ -]?out|time[ -]?out (?:reached|exceeded|expired)"
    r"|exceeds the limit of \d+ \(sec\)|query was cancell?ed",
    re.IGNORECASE,
)
_ENDS = re.compile(
    r"^[ \t]{0,8}at [\w.$]{1,200}\(|^Was expecting|^SPARQL query:|^Caused by", re.MULTILINE
)
_ADDRESS = re.compile(
    r"(?<!<)\b[a-z][a-z0-9+]{0,20}://[^\s<>\"')]+|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b", re.I
)
# What a server should not have told: keys by their form, and what is named as one. A value after a
# colon must have a digit: "Unexpected token: FILTER" is not a secret. Nor is a variable, "?key=".
_SECRET = re.compile(
    r"\b(?:bearer|basic)\s{1,3}[\w.~+/=-]{8,2000}"
    r"|(?<![?$\w])[\w-]{0,40}?(?:key|token|secret|password|passwd|pwd|signature|credentials?|auth)"
    r"(?:[\"']{0,2}=[\"']?[^\s\"'&<>,;)]{1,2000}"
    r"|[\"']{0,2}\s{0,3}[:=]\s{0,3}[\"']?(?=[\w.~+/-]{0,60}\d)[\w.~+/=-]{12,2000})"
    r"|\b(?:sk|pk|rk|hf|gh[opsu]|github_pat|glpat|xox[abprs])[-_][\w-]{6,2000}"
    r"|\beyJ[\w-]{6,2000}(?:\.[\w-]{1,2000}){1,2}"
    r"|\bA(?:KIA|SIA|Iza)[\w-]{12,2000}",
    re.IGNORECASE,
)
# Virtuoso answers 500 to queries that it cannot work out, with SQL's states (its manual, "Errors"):
# an argument or value of the wrong kind, what its dialect does not know, a bound that was passed.
_UNANSWERABLE = re.compile(rb"^Virtuoso (?:07|22|37|42)\w{3} Error ")
_TITLE = re.compile(r"<title>([^<]{0,300})</title>", re.IGNORECASE)
_PATH = re.compile(r"(?<![\w<>:/)*+?])(?:[A-Za-z]:)?[/\\](?:[\w.@-]+[/\\])+[\w.@-]*")


class RetryLaterError(KgError):
    """A failure that may pass. `asked`: seconds that the server wants to be left alone, if any."""

    def __init__(
        self,
        kind: ErrorKind,
        message: str,
        asked: float | None = None,
        sign: Sign | None = None,
    ) -> None:
        super().__init__(kind, message, sign)
        self.asked = asked


def failure(error: ExchangeError, limit: int) -> KgError:
    """The error for a missing answer, without address or path; `limit`: of its size, in bytes."""
    match error.fault:
        case "late":
            return KgError("timeout", TOO_SLOW)
        case "closed":
            message = "The endpoint closed the connection before it had answered."
            return RetryLaterError("endpoint", message, sign="lost")
        case "too large":
            size = f"{limit // 1024**2} MB" if limit >= 1024**2 else f"{limit} bytes"
            message = f"The endpoint's answer is larger than {size}; add a LIMIT, or select fewer "
            return KgError("resources", f"{message}variables.")
        case "redirect":
            message = f"The endpoint answered with a redirect ({error.reason}) that leads nowhere; "
            return KgError("endpoint", f"{message}the user must check its address.")
    sign: Sign | None = "gone" if error.fault == "unreachable" else None
    return KgError("endpoint", _NO_ANSWER[error.fault], sign)


def refusal(reply: HttpReply) -> KgError:
    """The error for an answer with status 400 or above, with what to do about it."""
    error = _refusal(reply)
    # A 504 is the query's fault as often as not: the endpoint is there.
    gone = sign_of_status(reply.status, asked_wait(reply)) == "gone"
    error.sign = "gone" if gone else "answered"
    return error


def _refusal(reply: HttpReply) -> KgError:
    words = server_words(reply.body)
    status = reply.status
    if status == 429 or (status == 503 and asked_wait(reply) is not None):
        return too_busy(asked_wait(reply))
    if timed_out(reply.body):
        return KgError("timeout", TOO_SLOW)
    if status in (400, 422):
        return KgError("syntax", f"The endpoint does not accept the query: {words}")
    if status in (401, 403, 407):
        return KgError(
            "endpoint",
            f"The endpoint refuses this client ({status}): {words} The user must name the client "
            "and a contact in BRANCHWISE_USER_AGENT, name the endpoint's key with --key, or use an "
            "endpoint that is open to it; asking again does not help.",
        )
    if status in (413, 414, 431):
        return KgError("refused", "The endpoint finds the query too long; shorten it.")
    if status >= 500 and _UNANSWERABLE.match(reply.body):
        message = f"The endpoint cannot answer this query; write it otherwise: {words}"
        return KgError("endpoint", message)
    if status >= 500:
        return RetryLaterError("endpoint", f"The endpoint failed ({status}): {words}")
    return KgError(
        "endpoint",
        f"The endpoint answered with status {status}: {words} The user must check its address.",
    )


def too_busy(seconds: float | None) -> RetryLaterError:
    """A 429, or a 503 that says when to come back. Without a time, a second is assumed."""
    named = f"to wait {seconds:.0f} seconds" if seconds is not None else "to wait"
    message = (
        f"The endpoint asks {named} before the next query; go on with the other tools meanwhile."
    )
    return RetryLaterError("busy", message, 1.0 if seconds is None else seconds)


def asked_wait(reply: HttpReply) -> float | None:
    """Seconds that the server asked to wait, or None.

    Wikidata's servers also write "Please retry in 9 seconds" into the page itself.
    """
    asked = retry_after(reply.headers)
    written = re.search(rb"retry in (\d{1,6}) seconds", reply.body)
    return float(written[1]) if asked is None and written else asked


def timed_out(body: bytes) -> bool:
    """The server's own words say that its time for the query ran out."""
    return _TIMED_OUT.search(body[-20_000:].decode(errors="replace")) is not None


def server_words(body: bytes) -> str:
    """The line of a server's message that matters, without addresses, paths and keys.

    Blazegraph and Fuseki send Java's exceptions after the query, QLever and others JSON,
    Virtuoso a text before the query; a proxy sends a web page, of which the title is taken.
    """
    text = _json_message(body) or body[:_MAX_READ].decode(errors="replace")
    if re.match(r"\s*<(?:!doctype|html|\?xml)", text, re.IGNORECASE):
        title = _TITLE.search(text)
        text = title[1] if title else "a web page instead of a message."
    exceptions = list(_JAVA.finditer(text))
    if exceptions:
        text = _innermost(text, exceptions)
    ends = _ENDS.search(text)
    return clean_words(text[: ends.start()] if ends else text)


def clean_words(text: str) -> str:
    """A message from elsewhere in one line, cut, without control characters, addresses and keys."""
    text = text[:_MAX_READ]
    text = re.sub(r"[\x00-\x1f\x7f-\x9f\s]+", " ", text).strip()
    text = _SECRET.sub("(key)", _ADDRESS.sub("(address)", text))
    text = _PATH.sub("(path)", text)
    if not text:
        return "it gives no reason."
    return text if len(text) <= MAX_SERVER_WORDS else text[:MAX_SERVER_WORDS].rstrip() + "…"


def _innermost(text: str, exceptions: list[re.Match[str]]) -> str:
    """What follows the last exception of the first line that names one; the rest repeats it."""
    line_end = text.find("\n", exceptions[0].end())
    line_end = len(text) if line_end < 0 else line_end
    on_line = [match for match in exceptions if match.start() < line_end]
    rest = text[on_line[-1].end() :]
    return rest if rest.strip() and not _ENDS.match(rest) else on_line[-1][0].rstrip(": ")


def _json_message(body: bytes) -> str:
    try:
        message = orjson.loads(body)
    except orjson.JSONDecodeError:
        return ""
    while isinstance(message, dict):
        keys = ("exception", "message", "error", "detail", "info", "title")
        message = next((message[key] for key in keys if message.get(key)), "")
    return message if isinstance(message, str) else ""
