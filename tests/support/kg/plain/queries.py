"""The queries of `queries/*.yaml`, filled with numbers of a world, and answers as plain rows."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import yaml

from support import TESTS
from support.kg.plain import (
    choices,
    expressions,
    forms,
    groups,
    label_corners,
    labels,
    paths,
    patterns,
    times,
)
from support.kg.plain.answers import EVALUATIONS, Row, difference
from support.kg.plain.kg import Literal, Node, PlainKg, shorten

if TYPE_CHECKING:
    from branchwise.kg.answers import QueryResult, Term

EVALUATED = (expressions, forms, groups, label_corners, labels, paths, patterns, times)


QUERIES: dict[str, str] = {
    name: text
    for path in sorted((TESTS / "kg" / "queries").glob("*.yaml"))
    for name, text in yaml.safe_load(path.read_text(encoding="utf-8")).items()
}


def filled(name: str, plain: PlainKg) -> str:
    """The query with numbers or names of the world for its `%name%`s."""

    def chosen(match: re.Match[str]) -> str:
        choose: Callable[[PlainKg], str] = getattr(choices, match[1])
        return choose(plain).removeprefix("wd:")

    return re.sub(r"%(\w+)%", chosen, QUERIES[name])


def found_rows(answer: "QueryResult") -> list[Row]:
    return [
        {name: _node(term) for name, term in zip(answer.variables, row, strict=True) if term}
        for row in answer.rows
    ]


def _node(term: "Term") -> Node:
    """A term as plain Python writes it."""
    assert term.kind != "blank"
    if term.kind == "iri":
        return shorten(term.value)
    datatype = "" if term.language else shorten(term.datatype).replace("xsd:string", "")
    return Literal(term.value, datatype, term.language)


def wrong_with(name: str, plain: PlainKg, answer: "QueryResult", rows: list[Row]) -> str:
    """How the answer to a query, and its rows, differ from the evaluation; empty if they do not."""
    expected = EVALUATIONS[name](plain)
    if isinstance(expected, bool):
        return "" if answer.boolean is expected else f"answered {answer.boolean}"
    if answer.boolean is not None or not answer.complete:
        return f"answered {answer.boolean}, complete {answer.complete}"
    if isinstance(expected, set):
        found = {tuple(row.values()) for row in rows}
        return f"differs by {found ^ expected}" if found != expected else ""
    return difference(expected, rows)
