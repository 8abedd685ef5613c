"""What a server answers, read strictly: SPARQL's JSON results, triples, or why it refuses."""

import re
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

import orjson

from branchwise.base.backoff import Sign, retry_after, sign_of_status
from branchwise.base.http import ExchangeError, HttpReply
from branchwise.kg.answers import MAX_ROWS, ErrorKind, KgError, QueryResult, Term, cut_value

if TYPE_CHECKING:
    import pyoxigraph

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
        self, kind: ErrorKind, message: str, asked: float | None = None, sign: Sign | None = None
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
    message = f"The endpoint asks {named} before the next query; go on with the other tools"
    return RetryLaterError("busy", f"{message} meanwhile.", 1.0 if seconds is None else seconds)


def asked_wait(reply: HttpReply) -> float | None:
    """Seconds that the server asked to wait, in a header or, as Wikidata's, the page; or None."""
    asked = retry_after(reply.headers)
    written = re.search(rb"retry in (\d{1,6}) seconds", reply.body)
    return float(written[1]) if asked is None and written else asked


def timed_out(body: bytes) -> bool:
    """The server's own words say that its time for the query ran out."""
    return _TIMED_OUT.search(body[-20_000:].decode(errors="replace")) is not None


def server_words(body: bytes) -> str:
    """The line of a server's message that matters, without addresses, paths and keys. Blazegraph
    and Fuseki send Java's exceptions after the query, QLever and others JSON, Virtuoso a text
    before the query; a proxy sends a web page, of which the title is taken."""
    text = _json_message(body) or body[:_MAX_READ].decode(errors="replace")
    if re.match(r"\s*<(?:!doctype|html|\?xml)", text, re.IGNORECASE):
        title = _TITLE.search(text)
        text = title[1] if title else "a web page instead of a message."
    if exceptions := list(_JAVA.finditer(text)):
        # What follows the last one of the first line that names one; the rest repeats it.
        line_end = text.find("\n", exceptions[0].end())
        line_end = len(text) if line_end < 0 else line_end
        last = [match for match in exceptions if match.start() < line_end][-1]
        rest = text[last.end() :]
        text = rest if rest.strip() and not _ENDS.match(rest) else last[0].rstrip(": ")
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


def _json_message(body: bytes) -> str:
    try:
        message = orjson.loads(body)
    except orjson.JSONDecodeError:
        return ""
    while isinstance(message, dict):
        keys = ("exception", "message", "error", "detail", "info", "title")
        message = next((message[key] for key in keys if message.get(key)), "")
    return message if isinstance(message, str) else ""


JSON_TYPES = ("application/sparql-results+json", "application/json")
_XML_TYPES = (
    "application/rdf+xml",
    "application/xml",
    "text/xml",
    "application/sparql-results+xml",  # what rdflib-endpoint calls an answer to DESCRIBE
)
_STRING = "http://www.w3.org/2001/XMLSchema#string"
_LANGUAGE_STRING = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"
_MAX_NESTING = 8
_COLUMN = re.compile(r"\w{1,100}")
_SURROGATE = re.compile(rb"\\(?:\\|u[dD][89a-fA-F][0-9a-fA-F]{2})")
_BROKEN_CHARACTER = (
    "The endpoint's answer has a broken character in it and cannot be read; leave out the "
    "variable that shows it, or ask for other rows."
)
_PARTIAL = (
    "The endpoint's time ran out: it gave the rows that it had by then, and there may be more; "
    "what is counted or summed up in them may be too little; ask for less at a time."
)
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}
_XML_BOOLEAN = re.compile(rb"<boolean>\s{0,20}(\w{1,5})\s{0,20}</boolean>")
_ASKED = "__ASK_RETVAL"
"""The column in which Virtuoso answers an ASK: a row with 1 where it holds, else no row."""


def read_json(reply: HttpReply) -> Any:
    """The JSON of an answer. Raises KgError where it is not JSON, or not the whole of it. A server
    whose time runs out while it sends has said 200 by then: Blazegraph writes its exception into
    the middle of the rows, QLever an apology after them, others just stop."""
    if not reply.body:
        raise KgError("endpoint", CUT_SHORT)
    if reply.media_type not in JSON_TYPES:
        raise not_results(reply)
    try:
        value = orjson.loads(reply.body)
    except orjson.JSONDecodeError:
        if timed_out(reply.body):
            raise KgError("timeout", TOO_SLOW) from None
        if reply.whole and not reply.body.lstrip().startswith((b"{", b"[")):
            raise not_results(reply) from None
        if reply.whole:
            with suppress(orjson.JSONDecodeError):  # JSON but for characters that are none
                orjson.loads(_SURROGATE.sub(b"?", reply.body).decode("utf-8", "replace"))
                raise KgError("endpoint", _BROKEN_CHARACTER) from None
        raise KgError("endpoint", CUT_SHORT) from None
    if not reply.whole:
        raise KgError("endpoint", CUT_SHORT)
    return value


def not_results(reply: HttpReply) -> KgError:
    """The error for an answer of another kind, such as a login page or a query editor."""
    html = reply.media_type in ("text/html", "application/xhtml+xml")
    return KgError(
        "endpoint",
        f"The endpoint sent {'a web page' if html else 'something else'} instead of results; the "
        "user must give the address of the SPARQL endpoint itself. Go on with the other tools.",
    )


def read_boolean(reply: HttpReply) -> QueryResult:
    """An answer to ASK, in any of the forms in which servers give one. Raises KgError. Something
    unreadable is not an answer, nor is a "no" of a server whose time ran out."""
    value = _boolean(reply)
    if value is None:
        raise _unreadable()
    if not value and _ended_early(reply):
        raise KgError("timeout", TOO_SLOW)
    return QueryResult((), (), boolean=value)


def _boolean(reply: HttpReply) -> bool | None:
    if reply.media_type not in JSON_TYPES:
        tagged = _XML_BOOLEAN.search(reply.body[:2_000])
        word = tagged[1] if tagged else reply.body[:20].strip()
        value = _BOOLEANS.get(word.decode(errors="replace").lower())
        if value is None or not reply.whole:
            raise not_results(reply)
        return value
    match read_json(reply):
        case bool(value) | {"boolean": bool(value)}:
            return value
        case {"boolean": str(word)}:
            return _BOOLEANS.get(word.lower())
        case {"head": {"vars": [str(name)]}, "results": {"bindings": [dict(row)]}} if name in row:
            return _BOOLEANS.get(_term(row[name]).value.lower())
        case {"head": {"vars": [str(name)]}, "results": {"bindings": []}} if name == _ASKED:
            return False
    return None


def read_results(reply: HttpReply) -> QueryResult:
    """An answer to SELECT (SPARQL 1.1 Query Results JSON Format). Raises KgError."""
    match read_json(reply):
        case {"head": {"vars": list(names)}, "results": {"bindings": list(bindings)}} if all(
            isinstance(name, str) for name in names
        ):
            pass
        case _:
            raise _unreadable()
    rows = []
    for binding in bindings[:MAX_ROWS]:
        if not isinstance(binding, dict):
            raise _unreadable()
        rows.append(tuple(_term(binding[name]) if name in binding else None for name in names))
    columns: list[str] = []
    for number, name in enumerate(names, 1):
        # What no variable is called, and a name that comes again, is "column 2".
        usual = _COLUMN.fullmatch(name) and name not in columns
        columns.append(name if usual else f"column {number}")
    late = _ended_early(reply)
    # Virtuoso gives as many rows as it is set to, and names that number if it came to it.
    complete = len(bindings) <= MAX_ROWS and not late and "X-SPARQL-MaxRows" not in reply.headers
    notes = (_PARTIAL,) if late else ()
    return QueryResult(tuple(columns), tuple(rows), complete, notes=notes)


def _ended_early(reply: HttpReply) -> bool:
    """Virtuoso gives what it has when its time runs out, and says so in a header only."""
    return reply.headers.get("X-SQL-State", "").strip() == "S1TAT"


def read_triples(reply: HttpReply) -> QueryResult:
    import pyoxigraph

    try:
        parsed = pyoxigraph.parse(reply.body, _triples_format(reply))
        triples = list(islice(parsed, MAX_ROWS + 1))
    except (SyntaxError, ValueError):
        late = timed_out(reply.body)
        raise KgError(*(("timeout", TOO_SLOW) if late else ("endpoint", CUT_SHORT))) from None
    if not reply.whole:
        raise KgError("endpoint", CUT_SHORT)
    parts = ((triple.subject, triple.predicate, triple.object) for triple in triples[:MAX_ROWS])
    rows = tuple(tuple(map(_from_oxigraph, nodes)) for nodes in parts)
    names = ("subject", "predicate", "object")
    return QueryResult(names, rows, complete=len(triples) <= MAX_ROWS)


def _triples_format(reply: HttpReply) -> "pyoxigraph.RdfFormat":
    """By the media type; XML must say that it is RDF, and may define no entities."""
    from pyoxigraph import RdfFormat

    if reply.media_type in _XML_TYPES:
        if b"RDF" in reply.body[:2_000] and b"<!ENTITY" not in reply.body:
            return RdfFormat.RDF_XML
        raise not_results(reply)
    if reply.media_type == "text/turtle":
        return RdfFormat.TURTLE
    if reply.media_type in ("application/n-triples", "text/plain"):
        return RdfFormat.N_TRIPLES
    raise not_results(reply)


def _from_oxigraph(node: Any) -> Term:
    import pyoxigraph

    if isinstance(node, pyoxigraph.NamedNode):
        return Term(node.value, "iri")
    if isinstance(node, pyoxigraph.BlankNode):
        return Term(node.value, "blank")
    if isinstance(node, pyoxigraph.Literal):
        return _literal(node.value, node.datatype.value, node.language or "")
    return Term(str(node), "literal")


def _term(cell: object, nesting: int = 0) -> Term:
    match cell:
        case {"type": "uri", "value": str(value)}:
            return Term(value, "iri")
        case {"type": "bnode", "value": str(value)}:
            return Term(value.removeprefix("_:"), "blank")
        case {"type": "literal" | "typed-literal", "value": str(value), **rest}:
            datatype, language = rest.get("datatype", ""), rest.get("xml:lang", "")
            if isinstance(datatype, str) and isinstance(language, str):
                return _literal(value, datatype, language)
        case {"type": "triple", "value": {"subject": s, "predicate": p, "object": o}}:
            if nesting < _MAX_NESTING:
                inner = " ".join(as_sparql(_term(part, nesting + 1)) for part in (s, p, o))
                return Term(f"<< {inner} >>", "literal")
    raise _unreadable()


def _literal(value: str, datatype: str, language: str) -> Term:
    """A plain string has neither datatype nor language, however a server writes it."""
    plain = datatype in (_STRING, _LANGUAGE_STRING)
    return Term(cut_value(value), "literal", "" if plain or language else datatype, language)


def as_sparql(term: Term) -> str:
    """The term as SPARQL and N-Triples write it, escaped."""
    if term.kind == "iri":
        return f"<{term.value}>"
    if term.kind == "blank":
        return f"_:{term.value}"
    if term.value.startswith("<< "):
        return term.value
    text = quoted(term.value)
    if term.language:
        return f"{text}@{term.language}"
    return f"{text}^^<{term.datatype}>" if term.datatype else text


def quoted(text: str) -> str:
    """A string literal of SPARQL; nothing in `text` can end it."""
    escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    return '"' + "".join(escapes.get(character, character) for character in text) + '"'


def _unreadable() -> KgError:
    return KgError(
        "endpoint",
        "The endpoint's answer is not in the form of SPARQL results; "
        "the user must check its address. Go on with the other tools.",
    )
