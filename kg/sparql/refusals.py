"""What a query may not do, decided on its tokens and again on its syntax tree."""

import re
from collections.abc import Iterator
from typing import Any, NoReturn

from branchwise.kg.answers import KgError
from branchwise.kg.sparql.structure import KNOWN, LABEL_SERVICE, QueryPrefixes
from branchwise.kg.sparql.syntax import objection
from branchwise.kg.sparql.tokens import Token, all_plain, depth, tokens_of

MAX_DEPTH = 24
MAX_PREPARED = 65_536
"""Characters of a query with its look-ups of labels."""
MAX_STEPS = 100
"""Triple patterns and steps of paths. Oxigraph takes 1 s to order a hundred, 12 s for two."""
_UPDATES = ("INSERT", "DELETE", "LOAD", "CLEAR", "DROP", "CREATE", "COPY", "MOVE", "ADD", "USING")
_READ_ONLY = "only SELECT, ASK, CONSTRUCT and DESCRIBE are answered: the graph is read-only"
_ONE_GRAPH = "there is one graph: leave {word} out and write its patterns directly"
_ALONE = (
    "SERVICE is not answered, except `SERVICE wikibase:label`: "
    "to find an entity by name call wikidata_search, and ask for the rest with triple patterns"
)
_NAMED = (
    "named subqueries (WITH ... AS %name, INCLUDE) are not SPARQL 1.1: "
    "write a subquery, { SELECT ... WHERE { ... } }, where INCLUDE stands"
)
_FUNCTION = (
    "functions named by IRI are not answered, except casts such as xsd:integer(?x): "
    "use SPARQL 1.1's own functions"
)

_CLAUSE = re.compile(r"(?i)(?<=s)e(?=rvice)|(?<=g)r(?=aph)|(?<=f)r(?=om)")
_AMBIGUOUS = re.compile(r"<(?!https?://)[^>]*['#]")
"""Here `?a<?b#>` is a variable and an IRI, as the longest match; other parsers may take it for a
comparison and a comment, and what follows, up to a quotation mark, for what it is not."""


def check_depth(tokens: list[Token]) -> None:
    """Refuse what nests deeper than the parsers can follow. Raises KgError."""
    if depth(tokens) > MAX_DEPTH:
        raise KgError(
            "resources",
            f"the query nests more than {MAX_DEPTH} brackets deep: "
            "write it with fewer, or ask in several queries",
        )


def check_steps(tokens: list[Token], patterns: int) -> None:
    """Refuse a query of too many patterns, with steps of paths. Raises KgError."""
    if patterns + sum(token.says("/") for token in tokens) > MAX_STEPS:
        raise KgError(
            "resources",
            f"the query has more than {MAX_STEPS} triple patterns and steps of paths: "
            "ask in several queries",
        )


def check_size(characters: int) -> None:
    """Refuse a query that has become too long. Raises KgError."""
    if characters > MAX_PREPARED:
        raise KgError(
            "resources",
            "the query asks for too many labels, descriptions and aliases at once: "
            "leave some out, or ask in several queries",
        )


def check_tokens(tokens: list[Token], names: QueryPrefixes) -> None:
    """Refuse updates, other data and other servers. Raises KgError."""
    _check_ambiguity(tokens)
    for at, token in enumerate(tokens):
        if token.says(*_UPDATES):
            _refuse(f"{token.text.upper()}: {_READ_ONLY}")
        if token.says("WITH", "INCLUDE"):
            _refuse(_NAMED)
        if token.says("FROM", "GRAPH"):
            _refuse(_ONE_GRAPH.format(word=token.text.upper()))
        if token.says("SERVICE"):
            name = tokens[at + 2 if tokens[at + 1].says("SILENT") else at + 1]
            if names.iri(name) != LABEL_SERVICE:
                _refuse(_ALONE)


def _check_ambiguity(tokens: list[Token]) -> None:
    """Refuse what could hide a clause in a string from one parser and show it to another."""
    hidden = any(t.kind == "string" and "service" in t.text.lower() for t in tokens)
    for token in tokens:
        if hidden and token.kind == "iri" and _AMBIGUOUS.match(token.text):
            _refuse(
                f"{token.text[:40]} may be an IRI or a comparison: "
                "write IRIs in full, and a space on both sides of <"
            )


def check_reading(text: str) -> None:
    """Refuse a text that is to run and asks a server, label service or not, or other data.

    Where the words for this are in it, in strings, IRIs or names, Oxigraph must read the text with
    other words in their places: if it took one for a clause, it cannot. Raises KgError.
    """
    tokens = tokens_of(text)[0]
    if any(token.says("SERVICE") for token in tokens):
        _refuse("`SERVICE wikibase:label` belongs inside the braces of WHERE")
    misspelt = _CLAUSE.sub("x", text)
    if not all_plain(tokens) or (misspelt != text and objection(misspelt)):
        _refuse("the query can be read in two ways: write its strings and IRIs more simply")


def check_tree(tree: Any) -> None:
    """Refuse the same, as rdflib's parser reads the text that will run. Raises KgError."""
    prefixes = {
        str(part.get("prefix") or ""): str(part.iri)
        for part in tree[0]
        if part.name == "PrefixDecl"
    }
    for node in _nodes(tree):
        if node.name == "ServiceGraphPattern":
            _refuse(_ALONE)
        if node.name == "GraphGraphPattern" or node.name == "DatasetClause":
            _refuse(_ONE_GRAPH.format(word="GRAPH" if "Graph" in node.name else "FROM"))
        if node.name == "Function" and not _iri(node.iri, prefixes).startswith(KNOWN["xsd"]):
            _refuse(_FUNCTION)


def _iri(term: Any, prefixes: dict[str, str]) -> str:
    if getattr(term, "name", None) == "pname":
        return prefixes.get(str(term.get("prefix") or ""), "") + str(term.localname)
    return str(term)


def _nodes(tree: Any) -> Iterator[Any]:
    from rdflib.plugins.sparql.parserutils import CompValue

    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, CompValue):
            yield node
            pending.extend(node.values())
        elif not isinstance(node, str):
            try:
                pending.extend(node)
            except TypeError:
                continue


def _refuse(message: str) -> NoReturn:
    raise KgError("refused", message)
