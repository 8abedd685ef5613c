"""Why a query at an endpoint has no row, with as few questions as will do."""

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from branchwise.corpora.graph.answers import GraphError
from branchwise.corpora.graph.processes.shorthand import shorten
from branchwise.corpora.graph.remote.labels import labels_of
from branchwise.corpora.graph.remote.selecting import Select
from branchwise.corpora.graph.vocabulary import ENTITY

if TYPE_CHECKING:
    from branchwise.corpora.graph.sparql.prepare import Prepared

MAX_ASKS = 6
"""ASK queries for one explanation."""


def explain_emptiness(prepared: "Prepared", select: Select) -> tuple[str, ...]:
    """Sentences: which pattern matches nothing, and what the numbers in the query stand for.

    What the endpoint does not answer in time is left out; it never raises GraphError.
    """
    notes: list[str] = []
    with suppress(GraphError):
        notes.append(_numbers(prepared, select))
        notes.insert(0, _barren(prepared, select))
    return tuple(filter(None, notes))


def _barren(prepared: "Prepared", select: Select) -> str:
    """The first pattern without a match, alone or with those before it."""
    patterns = prepared.patterns[:MAX_ASKS]
    for pattern in patterns:
        if not _holds([pattern], select):
            return f"`{shorten(pattern)}` matches nothing."
    asked = len(patterns)
    for count in range(2, len(patterns) + 1):
        if asked == MAX_ASKS:
            return "Each triple pattern alone matches something, but not all of them together."
        asked += 1
        if not _holds(patterns[:count], select):
            return (
                f"`{shorten(patterns[count - 1])}` matches nothing that the "
                f"{'pattern' if count == 2 else f'{count - 1} patterns'} before it match."
            )
    return (
        "The triple patterns match together: a FILTER, VALUES, MINUS, UNION, subquery or HAVING "
        "leaves nothing of it."
        if patterns and len(patterns) == len(prepared.patterns)
        else ""
    )


def _holds(patterns: Sequence[str], select: Select) -> bool:
    return bool(select(f"ASK {{ {' . '.join(patterns)} }}", "ASK").boolean)


def _numbers(prepared: "Prepared", select: Select) -> str:
    """What the numbers are called: a wrong one is seen at once by who meant another thing."""
    numbers = list(dict.fromkeys(mention.id for mention in prepared.mentioned))
    if not numbers:
        return ""
    labels = labels_of([ENTITY + number for number in numbers], select)
    meanings = [
        f"{number} is {labels[ENTITY + number]}"
        if ENTITY + number in labels
        else f"{number} has no name here (look the right one up with wikidata_search)"
        for number in numbers[:12]
    ]
    return f"In this graph {', '.join(meanings)}."
