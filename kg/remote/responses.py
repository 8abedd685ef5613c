"""Bodies of answers, read strictly: SPARQL's JSON results, and triples."""

import re
from itertools import islice
from typing import TYPE_CHECKING, Any

import orjson

from branchwise.base.http import HttpReply
from branchwise.kg.answers import MAX_ROWS, KgError, QueryResult, Term
from branchwise.kg.bounds import cut_value
from branchwise.kg.remote.refusals import CUT_SHORT, TOO_SLOW, timed_out

if TYPE_CHECKING:
    import pyoxigraph

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
    """The JSON of an answer. Raises KgError where it is not JSON, or not the whole of it.

    A server whose time runs out while it sends has said 200 by then: Blazegraph writes its
    exception into the middle of the rows, QLever an apology after them, others just stop.
    """
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
        if reply.whole and _is_json(reply.body):
            raise KgError("endpoint", _BROKEN_CHARACTER) from None
        raise KgError("endpoint", CUT_SHORT) from None
    if not reply.whole:
        raise KgError("endpoint", CUT_SHORT)
    return value


def _is_json(body: bytes) -> bool:
    """Whether a body that cannot be read is JSON but for characters that are none."""
    try:
        orjson.loads(_SURROGATE.sub(b"?", body).decode("utf-8", "replace"))
    except orjson.JSONDecodeError:
        return False
    return True


def not_results(reply: HttpReply) -> KgError:
    """The error for an answer of another kind, such as a login page or a query editor."""
    html = reply.media_type in ("text/html", "application/xhtml+xml")
    what = "a web page" if html else "something else"
    return KgError(
        "endpoint",
        f"The endpoint sent {what} instead of results; the user must give the address of the "
        "SPARQL endpoint itself. Go on with the other tools.",
    )


def read_boolean(reply: HttpReply) -> QueryResult:
    """An answer to ASK, in any of the forms in which servers give one. Raises KgError.

    Something unreadable is not an answer, nor is a "no" of a server whose time ran out.
    """
    value = _boolean(reply)
    if value is None:
        raise _unreadable()
    if not value and _ended_early(reply):
        raise KgError("timeout", TOO_SLOW)
    return QueryResult((), (), boolean=value)


def _boolean(reply: HttpReply) -> bool | None:
    if reply.media_type not in JSON_TYPES:
        tagged = _XML_BOOLEAN.search(reply.body[:2_000])
        said = tagged[1] if tagged else reply.body[:20].strip()
        value = _BOOLEANS.get(said.decode(errors="replace").lower())
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
            rows = tuple(_row(binding, names) for binding in bindings[:MAX_ROWS])
            columns = _columns(names)
            late = _ended_early(reply)
            # Virtuoso gives as many rows as it is set to, and names that number if it came to it.
            cut = "X-SPARQL-MaxRows" in reply.headers
            complete = len(bindings) <= MAX_ROWS and not late and not cut
            return QueryResult(columns, rows, complete, notes=(_PARTIAL,) if late else ())
    raise _unreadable()


def _columns(names: list[str]) -> tuple[str, ...]:
    """Names of columns, each once; what no variable is called, "column 2" (counted from 1)."""
    found: list[str] = []
    for number, name in enumerate(names, 1):
        usual = _COLUMN.fullmatch(name) and name not in found
        found.append(name if usual else f"column {number}")
    return tuple(found)


def _ended_early(reply: HttpReply) -> bool:
    """Virtuoso gives what it has when its time runs out, and says so in a header only."""
    return reply.headers.get("X-SQL-State", "").strip() == "S1TAT"


def read_triples(reply: HttpReply) -> QueryResult:
    """An answer to CONSTRUCT or DESCRIBE. Raises KgError."""
    import pyoxigraph

    try:
        parsed = pyoxigraph.parse(reply.body, _triples_format(reply))
        triples = list(islice(parsed, MAX_ROWS + 1))
    except (SyntaxError, ValueError):
        late = timed_out(reply.body)
        raise KgError(*(("timeout", TOO_SLOW) if late else ("endpoint", CUT_SHORT))) from None
    if not reply.whole:
        raise KgError("endpoint", CUT_SHORT)
    parts = ((one.subject, one.predicate, one.object) for one in triples[:MAX_ROWS])
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


def _row(binding: object, names: list[str]) -> tuple[Term | None, ...]:
    if not isinstance(binding, dict):
        raise _unreadable()
    return tuple(_term(binding[name]) if name in binding else None for name in names)


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
