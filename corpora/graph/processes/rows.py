"""Running a prepared query on an Oxigraph store, and its rows as plain lists."""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

import orjson
from pyoxigraph import (
    BlankNode,
    Literal,
    NamedNode,
    QueryBoolean,
    QueryTriples,
    Store,
)

from branchwise.corpora.graph.answers import MAX_ROWS, GraphError
from branchwise.corpora.graph.bounds import MAX_LABEL, cut, cut_value

_PLAIN = (
    "http://www.w3.org/2001/XMLSchema#string",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString",
)
MAX_ANSWER = 8 * 2**20
"""Bytes of the rows in JSON; those after that are left out."""

MAX_LABELS = 16 * 2**20
"""Bytes of all labels in JSON; those after that are left out: ten labels of 300 characters in each
of 1,000 rows fit, in whatever script."""

EncodedTerm = tuple[str, str, str, str] | None
"""A Term (value, kind, datatype, language), or nothing."""


def run(store: Store, text: str) -> dict[str, Any]:
    """The fields of a QueryResult, without labels and notes.

    Raises GraphError if Oxigraph cannot parse or evaluate the query, or read the store.
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
    except OSError:
        raise GraphError(
            "damaged", "The graph's store cannot be read: the user must build the graph again."
        ) from None
    except (ValueError, RuntimeError) as error:
        raise GraphError("resources", f"The query could not be evaluated: {error}") from None
    return {"variables": names, "rows": rows, "complete": complete, "boolean": None}


def holds(store: Store, pattern: str) -> bool:
    """Whether a group graph pattern has a solution."""
    return bool(store.query(f"ASK {{ {pattern} }}"))


def iris(rows: Iterable[Iterable[EncodedTerm]]) -> set[str]:
    """The IRIs in rows, each once."""
    return {cell[0] for row in rows for cell in row if cell is not None and cell[1] == "iri"}


def short_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """Labels cut to `MAX_LABEL` characters, as many as `MAX_LABELS` allows."""
    kept: dict[str, str] = {}
    size = 0
    for iri, label in labels.items():
        short = cut(label, MAX_LABEL)
        size += len(orjson.dumps((iri, short)))
        if size > MAX_LABELS:
            break
        kept[iri] = short
    return kept


def _bounded(found: Iterable[Any], width: int) -> tuple[list[list[EncodedTerm]], bool]:
    """Rows in order, and whether that is all of them."""
    rows: list[list[EncodedTerm]] = []
    size = 0
    for solution in islice(found, MAX_ROWS + 1):
        row = [_cell(solution[column]) for column in range(width)]
        size += len(orjson.dumps(row))
        if len(rows) == MAX_ROWS or size > MAX_ANSWER:
            return rows, False
        rows.append(row)
    return rows, True


def _cell(term: Any) -> EncodedTerm:
    if term is None:
        return None
    if isinstance(term, NamedNode):
        return (term.value, "iri", "", "")
    if isinstance(term, BlankNode):
        return (term.value, "blank", "", "")
    if isinstance(term, Literal):
        datatype = term.datatype.value
        plain = datatype in _PLAIN  # what SPARQL's JSON results leave out
        return (cut_value(term.value), "literal", "" if plain else datatype, term.language or "")
    return (cut_value(str(term)), "literal", "", "")
