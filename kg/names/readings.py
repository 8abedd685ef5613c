"""What a graph's names were read from, and what has no name."""

import json
import sqlite3
from typing import NamedTuple

from branchwise.kg.vocabulary import ALIASES, DESCRIPTIONS, LABELS, TYPES

_IN_USE = """
SELECT id FROM things WHERE kind = 'property' AND statements
AND id IN (SELECT value FROM json_each(?)) ORDER BY statements DESC, id
"""
# Those that say names are part of no question.
_UNLABELLED = """
SELECT count(*) FROM things WHERE kind = 'property' AND statements AND label IS NULL
AND id NOT IN (SELECT value FROM json_each(?))
"""
_NAMES_ALONE = """
SELECT count(*) FROM things WHERE kind = 'item' AND NOT statements AND label IS NOT NULL
"""


class NameReadings(NamedTuple):
    """How a graph's names were read.

    `names_alone`: entities that have a label and no statement about them, as classes often do.
    `unlabelled`: properties in use without a label. The rest are IRIs of predicates, most
    used first; none of Wikidata's graphs, where it is known.
    """

    names_alone: int
    unlabelled: int
    labels: tuple[str, ...]
    aliases: tuple[str, ...]
    descriptions: tuple[str, ...]
    types: tuple[str, ...]


def readings(connection: sqlite3.Connection) -> NameReadings:
    """What the names in an open `names.sqlite` were read from."""

    def in_use(iris: frozenset[str]) -> tuple[str, ...]:
        return tuple(iri for (iri,) in connection.execute(_IN_USE, (json.dumps(sorted(iris)),)))

    read = tuple(in_use(iris) for iris in (LABELS, ALIASES, DESCRIPTIONS, TYPES))
    known = json.dumps([iri for iris in read for iri in iris])
    (names_alone,) = connection.execute(_NAMES_ALONE).fetchone()
    (unlabelled,) = connection.execute(_UNLABELLED, (known,)).fetchone()
    return NameReadings(names_alone, unlabelled, *read)
