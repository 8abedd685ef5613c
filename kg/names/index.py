"""The names of a built graph, apart from its triples, where misspelt ones cannot be found."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, zip_longest
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import NamedTuple
from urllib.parse import quote

from branchwise.base.errors import InputError
from branchwise.base.text import encodable
from branchwise.kg.answers import KgError, Match, SearchKind
from branchwise.kg.names.item_search import NameWords, meant_items
from branchwise.kg.names.property_search import (
    bearers,
    labels_of,
    meant_properties,
    most_used,
    properties,
    thing,
    with_members,
)
from branchwise.kg.store import NAMES_FILE, REBUILD, read_description
from branchwise.kg.vocabulary import ALIASES, DESCRIPTIONS, LABELS, TYPES, short_id, written_id

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
    """How a graph's names were read. `names_alone`: entities that have a label and no statement
    about them, as classes often do. `unlabelled`: properties in use without a label. The rest are
    IRIs of predicates, most used first; none of Wikidata's graphs, where it is known."""

    names_alone: int
    unlabelled: int
    labels: tuple[str, ...]
    aliases: tuple[str, ...]
    descriptions: tuple[str, ...]
    types: tuple[str, ...]


MAX_LIMIT = 50
# SQLite's words on a damaged file may hold bytes of it, which are not text.
_DAMAGE = (sqlite3.DatabaseError, UnicodeDecodeError)
_MAX_TEXT = 2_000  # characters of a search text: an IRI may be long


class NameIndex:
    """`names.sqlite`, read-only, for any threads and processes. Raises KgError if it is damaged."""

    @classmethod
    def open(cls, folder: Path) -> "NameIndex":
        """The names of the graph in a folder. Raises InputError if there are none."""
        read_description(folder)
        index = cls(Path(folder) / NAMES_FILE)
        try:
            index.most_used_properties(1)
        except KgError:
            problem = "the names are missing or damaged"
            raise InputError(problem, where=str(folder), remedy=REBUILD) from None
        return index

    def __init__(self, path: Path) -> None:
        # Immutable: nothing locks or writes what stands beside the file.
        self._uri = f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1"
        self._idle: SimpleQueue[sqlite3.Connection] = SimpleQueue()

    def close(self) -> None:
        """Close what is open. Searches that are going on keep their own connection."""
        while True:
            try:
                self._idle.get_nowait().close()
            except Empty:
                return

    def search(self, text: str, kind: SearchKind = "item", limit: int = 8) -> list[Match]:
        """Things with this name, best first, bearers of one name together.

        `limit` counts names (or properties), of up to 20 bearers each, those with most statements
        first. If nothing has the name, similar names are marked (`near`). A number or IRI finds
        the thing itself, of either kind.
        """
        limit = max(1, min(limit, MAX_LIMIT))
        # Lone surrogates, which JSON may hold, are not text to SQLite.
        text = encodable(text[:_MAX_TEXT])
        identifier = written_id(text.strip())
        with self._connection() as connection:
            names = NameWords(connection, kind)
            matches = thing(connection, identifier) if identifier else []
            if not matches and kind == "property":
                matches = properties(connection, meant_properties(names, text, limit))
            elif not matches:
                matches = bearers(connection, kind, meant_items(names, text, limit))
            return with_members(connection, matches)

    def labels(self, iris: Iterable[str]) -> dict[str, str]:
        """IRI -> label, for those that have one; predicates have their property's."""
        wanted = {iri: short_id(iri) for iri in iris}
        with self._connection() as connection:
            labels = labels_of(connection, set(wanted.values()))
        return {iri: labels[number] for iri, number in wanted.items() if number in labels}

    def knows(self, identifier: str) -> bool:
        """Whether a number ("Q42", "P57") or IRI has a name or is in a triple."""
        query = "SELECT 1 FROM things WHERE id = ?"
        with self._connection() as connection:
            return connection.execute(query, (short_id(identifier),)).fetchone() is not None

    def nearest_properties(self, words: Sequence[str], limit: int = 3) -> list[Match]:
        """Properties that words or variables may mean ("birthPlace"), the best of each first."""
        matches = [self.search(word, "property", limit) for word in words if word.strip()]
        first: dict[str, Match] = {}
        for match in chain.from_iterable(zip_longest(*matches)):
            if match is not None:
                first.setdefault(match.id, match)
        return list(first.values())[:limit]

    def most_used_properties(self, limit: int) -> list[Match]:
        with self._connection() as connection:
            return most_used(connection, limit)

    def readings(self) -> NameReadings:
        with self._connection() as connection:

            def in_use(iris: frozenset[str]) -> tuple[str, ...]:
                rows = connection.execute(_IN_USE, (json.dumps(sorted(iris)),))
                return tuple(iri for (iri,) in rows)

            read = tuple(in_use(iris) for iris in (LABELS, ALIASES, DESCRIPTIONS, TYPES))
            known = json.dumps([iri for iris in read for iri in iris])
            (names_alone,) = connection.execute(_NAMES_ALONE).fetchone()
            (unlabelled,) = connection.execute(_UNLABELLED, (known,)).fetchone()
            return NameReadings(names_alone, unlabelled, *read)

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """A connection that no other thread uses, given back afterwards."""
        connection = None
        try:
            try:
                connection = self._idle.get_nowait()
            except Empty:
                connection = sqlite3.connect(self._uri, uri=True, check_same_thread=False)
                connection.execute("PRAGMA cache_size = -16384")
            yield connection
        except _DAMAGE:
            message = "The names of the graph are damaged: the user must build the graph again."
            raise KgError("damaged", message) from None
        finally:
            if connection is not None:
                self._idle.put(connection)
