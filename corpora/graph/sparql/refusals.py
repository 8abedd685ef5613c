"""What a query may not do, decided on its tokens and again on its syntax tree."""

import re
from collections.abc import Iterator
from typing import Any, NoReturn

from branchwise.corpora.graph.answers import GraphError
from branchwise.corpora.graph.sparql.prefixes import KNOWN, LABEL_SERVICE, Names
from branchwise.corpora.graph.sparql.tokens import Token, depth, tokens_of

MAX_DEPTH = 24
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

_HIDDEN = re.compile(r"(?i)\n(?s:.*)service")
"""What would be a clause to a parser that took `?a<?b#>` before the string for a comparison and a
comment. Oxigraph and rdflib may; here it is an IRI, as the longest match."""


def check_depth(tokens: list[Token]) -> None:
    """Refuse what nests deeper than the parsers can follow. Raises GraphError."""
    if depth(tokens) > MAX_DEPTH:
        raise GraphError(
            "resources",
            f"the query nests more than {MAX_DEPTH} brackets deep: "
            "write it with fewer, or ask in several queries",
        )


def check_tokens(tokens: list[Token], names: Names) -> None:
    """Refuse updates, other data and other servers. Raises GraphError."""
    for at, token in enumerate(tokens):
        if token.says(*_UPDATES):
            _refuse(f"{token.text.upper()}: {_READ_ONLY}")
        if token.says("WITH", "INCLUDE"):
            _refuse(_NAMED)
        if token.says("FROM", "GRAPH"):
            _refuse(_ONE_GRAPH.format(word=token.text.upper()))
        if token.kind == "string" and _HIDDEN.search(token.text):
            _refuse('a string of several lines with "service" in it: write it on one line')
        if token.says("SERVICE"):
            name = tokens[at + 2 if tokens[at + 1].says("SILENT") else at + 1]
            if names.iri(name) != LABEL_SERVICE:
                _refuse(_ALONE)


def check_no_service(text: str) -> None:
    """Refuse a text that is to run and asks a server, label service or not. Raises GraphError."""
    if any(token.says("SERVICE") for token in tokens_of(text)[0]):
        _refuse("`SERVICE wikibase:label` belongs inside the braces of WHERE")


def check_tree(tree: Any) -> None:
    """Refuse the same, as rdflib's parser reads the text that will run. Raises GraphError."""
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
    raise GraphError("refused", message)
