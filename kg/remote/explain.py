"""Why a query at an endpoint has no row, with as few questions as will do."""

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from branchwise.kg.answers import KgError
from branchwise.kg.bounds import MAX_LABEL, MAX_SENTENCES, cut
from branchwise.kg.remote.descriptions import labels_of
from branchwise.kg.remote.selecting import RunSelect
from branchwise.kg.sparql.prefixes import shorten
from branchwise.kg.vocabulary import ENTITY

if TYPE_CHECKING:
    from branchwise.kg.sparql.prepare import Prepared

MAX_ASKS = 6
"""ASK queries for one explanation."""

_MAX_NUMBERS = 12


def explain_emptiness(prepared: "Prepared", select: RunSelect) -> tuple[str, ...]:
    """Sentences: which pattern matches nothing, and what the numbers in the query stand for.

    What the endpoint does not answer in time is left out; it never raises KgError.
    """
    notes: list[str] = []
    with suppress(KgError):
        notes.append(_numbers(prepared, select))
        notes.insert(0, _barren(prepared, _Asks(select)))
    return tuple(cut(note) for note in notes if note)


class _Asks:
    """The questions that one explanation may ask."""

    def __init__(self, select: RunSelect) -> None:
        self._select = select
        self.left = MAX_ASKS

    def holds(self, patterns: Sequence[str]) -> bool:
        """Whether the patterns match together. Raises KgError where that was not answered."""
        self.left -= 1
        answer = self._select(f"ASK {{ {' . '.join(patterns)} }}", "ASK").boolean
        if answer is None:
            raise KgError("endpoint", "The endpoint did not say yes or no.")
        return answer


def _barren(prepared: "Prepared", asks: _Asks) -> str:
    """The first pattern without a match, alone or with those before it; else sides of a UNION."""
    patterns = prepared.patterns[:MAX_ASKS]
    for pattern in patterns:
        if not asks.holds([pattern]):
            return f"`{shorten(pattern)}` matches nothing."
    for count in range(2, len(patterns) + 1):
        if not asks.left:
            return (
                "Each triple pattern alone matches something, but perhaps not all of them together."
            )
        if not asks.holds(patterns[:count]):
            return (
                f"`{shorten(patterns[count - 1])}` matches nothing that the "
                f"{'pattern' if count == 2 else f'{count - 1} patterns'} before it match."
            )
    return _barren_sides(prepared, asks) or _matching(prepared)


def _barren_sides(prepared: "Prepared", asks: _Asks) -> str:
    """The sides of a UNION, or the only subquery, of which the patterns match nothing."""
    sides = [(number, side) for number, side in enumerate(prepared.alternatives, 1) if side]
    asked = sides[: asks.left]
    barren = [(number, side) for number, side in asked if not asks.holds(side)]
    if not barren:
        return ""
    if len(prepared.alternatives) == 1:
        return f"In the subquery `{shorten(' . '.join(barren[0][1]))}` matches nothing."
    named = "; ".join(
        f"side {number}, `{shorten(' . '.join(side))}`" for number, side in barren[:MAX_SENTENCES]
    )
    more = len(barren) - MAX_SENTENCES
    every = len(barren) == len(prepared.alternatives)
    return (
        f"{'No side' if every else 'Not every side'} of the UNION matches. "
        f"Nothing matches {named}{f'; and {more} more' if more > 0 else ''}."
    )


def _matching(prepared: "Prepared") -> str:
    """The explanation if every part by itself matches."""
    if not prepared.patterns:
        return (
            "Nothing is left of what its parts match: run subqueries, UNION sides, and VALUES "
            "with the patterns beside them one by one."
        )
    if len(prepared.patterns) > MAX_ASKS:
        return ""
    return (
        "The triple patterns match together: a FILTER, VALUES, MINUS, UNION, subquery, HAVING or "
        "OFFSET leaves nothing of it."
    )


def _numbers(prepared: "Prepared", select: RunSelect) -> str:
    """What the numbers are called: a wrong one is seen at once by who meant another thing."""
    numbers = list(dict.fromkeys(mention.id for mention in prepared.mentioned))
    if not numbers:
        return ""
    first = numbers[:_MAX_NUMBERS]
    labels = labels_of([ENTITY + number for number in first], select)
    meanings = [
        f"{number} is {cut(labels[ENTITY + number], MAX_LABEL)}"
        if ENTITY + number in labels
        else f"{number} has no name here"
        for number in first
    ]
    missing = any(ENTITY + number not in labels for number in first)
    more = f", and {len(numbers) - len(first):,} more" if len(numbers) > len(first) else ""
    advice = " Look the right ones up with wikidata_search." if missing else ""
    return f"In this graph {', '.join(meanings)}{more}.{advice}"
