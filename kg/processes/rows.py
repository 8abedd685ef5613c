"""Running a prepared query on an Oxigraph store, and bounding its answer."""

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

from branchwise.kg.answers import MAX_LABEL, MAX_ROWS, KgError, QueryResult, cut, cut_value
from branchwise.kg.names.index import NameIndex
from branchwise.kg.processes.explain import unknown_mentions
from branchwise.kg.sparql.prepare import Prepared

_PLAIN = (
    "http://www.w3.org/2001/XMLSchema#string",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString",
)
MAX_ANSWER = 8 * 2**20
"""Bytes of the rows in JSON; those after that are left out."""

MAX_LABELS = 16 * 2**20
"""Bytes of all labels in JSON; those after that are left out: ten labels of 300 characters in each
of 1,000 rows fit, in whatever script."""


def run(store: Store, names: NameIndex, prepared: Prepared) -> QueryResult:
    """Run a query; the rows' labels beside them, and what it names that the graph lacks.

    Terms are plain tuples of their fields, which pickle ten times as fast.

    Raises KgError if Oxigraph cannot parse or evaluate the query, or read the store.
    """
    boolean = None
    variables: tuple[str, ...] = ()
    rows: list[tuple[Any, ...]] = []
    complete = True
    try:
        found = store.query(prepared.text)
        if isinstance(found, QueryBoolean):
            boolean = bool(found)
        elif isinstance(found, QueryTriples):
            variables = ("subject", "predicate", "object")
            rows, complete = _bounded(found, 3)
        else:
            variables = tuple(variable.value for variable in found.variables)
            rows, complete = _bounded(found, len(variables))
    except SyntaxError as error:
        raise KgError("syntax", f"The query could not be read: {error.msg}") from None
    except OSError:
        raise KgError(
            "damaged", "The graph's store cannot be read: the user must build the graph again."
        ) from None
    except (ValueError, RuntimeError) as error:
        raise KgError("resources", f"The query could not be evaluated: {error}") from None
    iris = {cell[0] for row in rows for cell in row if cell is not None and cell[1] == "iri"}
    notes = [cut(note) for note in unknown_mentions(prepared, names)]
    if not complete and not rows:
        notes.append("The first row alone is too long: ask for fewer columns.")
    labels = short_labels(names.labels(iris))
    return QueryResult(variables, tuple(rows), complete, boolean, labels, tuple(notes))


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


def _bounded(found: Iterable[Any], width: int) -> tuple[list[tuple[Any, ...]], bool]:
    """Rows in order, and whether that is all of them."""
    rows: list[tuple[Any, ...]] = []
    size = 0
    for solution in islice(found, MAX_ROWS + 1):
        row = tuple(_cell(solution[column]) for column in range(width))
        size += len(orjson.dumps(row))
        if len(rows) == MAX_ROWS or size > MAX_ANSWER:
            return rows, False
        rows.append(row)
    return rows, True


def _cell(term: Any) -> tuple[str, str, str, str] | None:
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
