"""What a property leads from and to: what its subjects and values are called, as kinds of things.

So "league" tells "plays in" of clubs from "plays" of musicians, and "when" a date from a founder.
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from branchwise.kg.names.name_keys import fold
from branchwise.kg.names.word_forms import stem
from branchwise.kg.vocabulary import DATES

SAMPLED = 100
"""Statements of a property whose two ends are looked at."""

_KINDS, _NAMES_A_KIND = 12, 6  # of an end, the commonest; of a kind, the label and aliases
_HEAD, _MODIFIER = 0.7, 0.35  # of the word for a kind, and beside it: no film is a film award
_RARER = 0.97  # of the next kind, which is rarer
_XSD = "http://www.w3.org/2001/XMLSchema#"
_NUMBERS = frozenset(
    f"{_XSD}{name}" for name in ("decimal", "integer", "int", "long", "double", "float")
)
# What values are called and asked for with.
_DATE, _NUMBER = ("date", "year", "day", "time", "when"), ("number", "many", "much", "count")
_PERSON, _PLACE = ("person", "people", "who", "whom", "whose"), ("place", "location", "where")
_PERSONS = frozenset({"human", "person", "people"})
_PLACES = frozenset(
    {"city", "town", "village", "settlement", "country", "state", "region", "area", "place"}
)
_TABLE = "SELECT 1 FROM sqlite_master WHERE name = 'ends'"
_ENDS = "SELECT thing, subjects, objects FROM ends WHERE thing IN (SELECT value FROM json_each(?))"
_TYPES = "SELECT types FROM things WHERE id = ?"
_CALLED = """
SELECT text FROM staging.named JOIN things ON things.number = named.thing
WHERE things.id = ? ORDER BY text IS NOT label, named.rowid LIMIT ?
"""


class Sampled(NamedTuple):
    """A statement: ids of its subject and its value; of a literal, "date", "number" or neither."""

    subject: str
    value: str = ""
    literal: str = ""


def literal_kind(datatype: str) -> str:
    """The kind of a literal, by its datatype."""
    if datatype in DATES:
        return "date"
    return "number" if datatype in _NUMBERS else ""


def end_rows(
    connection: sqlite3.Connection, sampled: Mapping[str, Sequence[Sampled]]
) -> Iterator[tuple[int, str, str]]:
    """Rows of the table: a property's number, and what its subjects and its values are called.

    For while the tables are made: the things are there, and their names staged.
    """
    for identifier, statements in sorted(sampled.items()):
        subjects = _called(connection, [one.subject for one in statements])
        values = _called(connection, [one.value for one in statements if one.value])
        values += _asked(values, {one.literal for one in statements})
        query = "SELECT number FROM things WHERE id = ?"
        for (number,) in connection.execute(query, (identifier,)).fetchall():
            yield number, "\n".join(subjects), "\n".join(values)


class PropertyEnds(NamedTuple):
    """Of stems of words, how much they say of a property's subjects, and of its values."""

    subjects: Mapping[str, float]
    values: Mapping[str, float]


def ends_of(connection: sqlite3.Connection, properties: Iterable[int]) -> dict[int, PropertyEnds]:
    """The ends of properties; empty in a graph that was built before they were kept."""
    if connection.execute(_TABLE).fetchone() is None:
        return {}
    rows = connection.execute(_ENDS, (json.dumps(list(properties)),))
    return {
        number: PropertyEnds(_weighed(subjects), _weighed(values))
        for number, subjects, values in rows
    }


@lru_cache(maxsize=4_096)
def _weighed(lines: str) -> Mapping[str, float]:
    """The head of an English name is its last word, or the last before "of"."""
    found: dict[str, float] = {}
    for place, name in enumerate(lines.splitlines()):
        words = fold(name).words
        head = words[: words.index("of")] if "of" in words[1:] else words
        for word in words:
            weight = (_HEAD if word == head[-1] else _MODIFIER) * _RARER**place
            found[stem(word)] = max(weight, found.get(stem(word), 0.0))
    return found


def _called(connection: sqlite3.Connection, identifiers: Sequence[str]) -> list[str]:
    """Names of what things are instances of, the commonest first."""
    found: Counter[str] = Counter()
    for identifier in identifiers:
        for (types,) in connection.execute(_TYPES, (identifier,)):
            found.update(types.splitlines())
    names: dict[str, None] = {}
    for kind, _ in found.most_common(_KINDS):
        for (text,) in connection.execute(_CALLED, (kind, _NAMES_A_KIND)):
            names[" ".join(fold(text).words)] = None
    return [name for name in names if name]


def _asked(values: Iterable[str], literals: set[str]) -> list[str]:
    """Words for values of these kinds, and of the questions that they answer."""
    kinds = set(values)
    groups = (
        ("date" in literals, _DATE),
        ("number" in literals, _NUMBER),
        (not kinds.isdisjoint(_PERSONS), _PERSON),
        (not kinds.isdisjoint(_PLACES), _PLACE),
    )
    return [word for applies, words in groups if applies for word in words]
