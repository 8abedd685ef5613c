"""Running a prepared query on an Oxigraph store, and its rows as plain lists."""

from collections.abc import Iterable
from itertools import islice
from typing import Any

from pyoxigraph import (
    BlankNode,
    Literal,
    NamedNode,
    QueryBoolean,
    QueryTriples,
    Store,
)

from branchwise.corpora.graph.answers import MAX_ROWS, GraphError

_PLAIN = (
    "http://www.w3.org/2001/XMLSchema#string",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString",
)
MAX_TEXT = 2_000
"""Characters of a value that are kept."""

MAX_ANSWER = 4_000_000
"""Characters of all values together; the rows after that are left out."""

Cell = tuple[str, str, str, str] | None
"""A Term (value, kind, datatype, language), or nothing."""


def run(store: Store, text: str) -> dict[str, Any]:
    """The fields of an Answer, without labels and notes.

    Raises GraphError where Oxigraph cannot parse or evaluate the query.
    """
    try:
        found = store.query(text)
        if isinstance(found, QueryBoolean):
            return {"variables": (), "rows": [], "complete": True, "boolean": bool(found)}
        if isinstance(found, QueryTriples):
            names: tuple[str, ...] = ("subject", "predicate", "object")
            rows, complete = _bounded(found, 3)
        else:
            names = tuple(variable.value for variable in found.variables)
            rows, complete = _bounded(found, len(names))
    except SyntaxError as error:
        raise GraphError("syntax", f"The query could not be read: {error.msg}") from None
    except (OSError, ValueError, RuntimeError) as error:
        raise GraphError("resources", f"The query could not be evaluated: {error}") from None
    return {"variables": names, "rows": rows, "complete": complete, "boolean": None}


def holds(store: Store, pattern: str) -> bool:
    """Whether a group graph pattern has a solution."""
    return bool(store.query(f"ASK {{ {pattern} }}"))


def iris(rows: Iterable[Iterable[Cell]]) -> set[str]:
    """The IRIs in rows, each once."""
    return {cell[0] for row in rows for cell in row if cell is not None and cell[1] == "iri"}


def _bounded(found: Iterable[Any], width: int) -> tuple[list[list[Cell]], bool]:
    """Rows in order, and whether that is all of them."""
    rows: list[list[Cell]] = []
    size = 0
    for solution in islice(found, MAX_ROWS + 1):
        row = [_cell(solution[column]) for column in range(width)]
        size += sum(len(cell[0]) for cell in row if cell is not None)
        if len(rows) == MAX_ROWS or size > MAX_ANSWER:
            return rows, False
        rows.append(row)
    return rows, True


def _cell(term: Any) -> Cell:
    if term is None:
        return None
    if isinstance(term, NamedNode):
        return (term.value, "iri", "", "")
    if isinstance(term, BlankNode):
        return (term.value, "blank", "", "")
    if isinstance(term, Literal):
        datatype = term.datatype.value
        plain = datatype in _PLAIN  # what SPARQL's JSON results leave out
        return (_cut(term.value), "literal", "" if plain else datatype, term.language or "")
    return (_cut(str(term)), "literal", "", "")


def _cut(text: str) -> str:
    if len(text) <= MAX_TEXT:
        return text
    return f"{text[:MAX_TEXT]}… (cut: {len(text):,} characters)"
