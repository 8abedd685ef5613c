"""The names of a built graph: from names to things, and from things to their labels."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import NamedTuple, TypeVar
from urllib.parse import quote

from branchwise.corpora.errors import InputError
from branchwise.corpora.graph.answers import Match, SearchKind
from branchwise.corpora.graph.description import NAMES_FILE, read_description
from branchwise.corpora.graph.folding import fold
from branchwise.corpora.graph.item_search import Meant, meant_items
from branchwise.corpora.graph.name_words import Name, NameWords
from branchwise.corpora.graph.property_search import meant_properties
from branchwise.corpora.graph.vocabulary import local_name, short_id, written_id

MAX_BEARERS = 20
"""Of one name, so many are listed."""

MAX_LIMIT = 50
_MAX_TEXT = 2_000  # characters of a search text: an IRI may be long
_TOLD_APART = 1_000  # bearers of a name among whom words choose
_MATCH = "SELECT things.id, label, description, types, years, statements"
_ITSELF = _MATCH + ", NULL FROM things WHERE id = ?"
_MOST_USED = (
    _MATCH + ", NULL FROM things WHERE kind = 'property' AND statements"
    " ORDER BY statements DESC, id LIMIT ?"
)
_BEARERS = (
    _MATCH + ", bearers.text FROM bearers_{kind} AS bearers JOIN things"
    " ON things.number = bearers.thing WHERE bearers.name = ?"
    " ORDER BY statements DESC, used DESC, things.id LIMIT ?"
)


class _Bearer(NamedTuple):
    id: str
    label: str | None
    description: str
    types: str
    years: str
    statements: int
    text: str | None  # the name borne, where it is not the label


_Found = TypeVar("_Found", _Bearer, Match)


class NameIndex:
    """`names.sqlite`, read-only. Any number of threads and processes may use one at a time."""

    @classmethod
    def open(cls, folder: Path) -> "NameIndex":
        """The names of the graph in a folder. Raises InputError where there are none."""
        read_description(folder)
        index = cls(Path(folder) / NAMES_FILE)
        try:
            index.knows("Q1")
        except sqlite3.Error as error:
            raise InputError(
                f"the names cannot be read ({error})",
                where=str(folder),
                remedy="build the graph again",
            ) from None
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

        `limit` counts names (of properties: properties); up to `MAX_BEARERS` bearers of each are
        listed, those with most statements first. A number or IRI finds the thing itself, of
        either kind.
        """
        limit = max(1, min(limit, MAX_LIMIT))
        # Lone surrogates, which JSON may hold, are no text to SQLite.
        text = text[:_MAX_TEXT].encode("utf-8", "replace").decode()
        identifier = written_id(text.strip())
        with self._connection() as connection:
            if identifier and (itself := self._itself(connection, identifier)):
                return itself
            names = NameWords(connection, kind)
            if kind == "property":
                found = meant_properties(names, text, 4 * limit)
                meant = [Meant(name, frozenset()) for name in found]
                return self._matches(connection, kind, meant)[:limit]
            return self._matches(connection, kind, meant_items(names, text, limit))

    def labels(self, iris: Iterable[str]) -> dict[str, str]:
        """IRI -> label, for those that have one; predicates have their property's."""
        wanted = {iri: short_id(iri) for iri in iris}
        with self._connection() as connection:
            found = _labels(connection, set(wanted.values()))
        return {iri: found[known] for iri, known in wanted.items() if known in found}

    def knows(self, identifier: str) -> bool:
        """Whether a number ("Q42", "P57") or IRI has a name or is in a triple."""
        with self._connection() as connection:
            found = connection.execute(
                "SELECT 1 FROM things WHERE id = ?", (short_id(identifier),)
            ).fetchone()
        return found is not None

    def nearest_properties(self, words: Sequence[str], limit: int = 3) -> list[Match]:
        """Properties that words or names of variables may mean ("birthPlace"), each tried by
        itself, the best of each first."""
        found = [self.search(word, "property", limit) for word in words if word.strip()]
        ranked = (match for row in zip_longest(*found) for match in row if match is not None)
        return _each_once(ranked)[:limit]

    def most_used_properties(self, limit: int) -> list[Match]:
        """Properties by how often they are used."""
        with self._connection() as connection:
            rows = connection.execute(_MOST_USED, (limit,))
            return _shown(connection, [_Bearer(*row) for row in rows])

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """One that no other thread is using, given back afterwards."""
        try:
            connection = self._idle.get_nowait()
        except Empty:
            connection = sqlite3.connect(self._uri, uri=True, check_same_thread=False)
            connection.execute("PRAGMA cache_size = -16384")
        try:
            yield connection
        finally:
            self._idle.put(connection)

    def _itself(self, connection: sqlite3.Connection, identifier: str) -> list[Match]:
        rows = connection.execute(_ITSELF, (identifier,))
        return _shown(connection, [_Bearer(*row) for row in rows])

    def _matches(
        self, connection: sqlite3.Connection, kind: SearchKind, meant: Sequence[Meant]
    ) -> list[Match]:
        """Bearers of the names, each thing once."""
        hinted = any(one.hint for one in meant)
        borne = {
            one: _bearers(connection, kind, one.name, _TOLD_APART if one.hint else MAX_BEARERS)
            for one in meant
        }
        if hinted:
            borne = _told_apart(connection, borne)
        listed = (bearer for bearers in borne.values() for bearer in bearers[:MAX_BEARERS])
        return _shown(connection, _each_once(listed))


def _each_once(found: Iterable[_Found]) -> list[_Found]:
    """Each thing under the first name that found it."""
    first: dict[str, _Found] = {}
    for one in found:
        first.setdefault(one.id, one)
    return list(first.values())


def _bearers(
    connection: sqlite3.Connection, kind: SearchKind, name: Name, most: int
) -> list[_Bearer]:
    rows = connection.execute(_BEARERS.format(kind=kind), (name.number, most))
    return [_Bearer(*row) for row in rows]


def _told_apart(
    connection: sqlite3.Connection, borne: dict[Meant, list[_Bearer]]
) -> dict[Meant, list[_Bearer]]:
    """Of each name, the bearers about whom most words of the hint are said; all, where of no
    name any is."""
    kinds = {kind for bearers in borne.values() for b in bearers for kind in b.types.splitlines()}
    labels = _labels(connection, kinds)

    def said(bearer: _Bearer, hint: frozenset[str]) -> int:
        types = " ".join(labels.get(kind, "") for kind in bearer.types.splitlines())
        told = (bearer.description, types, bearer.years, bearer.label or "")
        return len(hint & {word for text in told for word in fold(text).words})

    chosen: dict[Meant, list[_Bearer]] = {}
    for meant, bearers in borne.items():
        counts = [said(bearer, meant.hint) for bearer in bearers]
        most = max(counts, default=0)
        if most:
            chosen[meant] = [b for b, count in zip(bearers, counts, strict=True) if count == most]
    return chosen or borne


def _shown(connection: sqlite3.Connection, bearers: Sequence[_Bearer]) -> list[Match]:
    kinds = {kind for bearer in bearers for kind in bearer.types.splitlines()}
    labels = _labels(connection, kinds)
    matches = []
    for bearer in bearers:
        label = bearer.label or bearer.text or _called(bearer.id)
        types = tuple(labels[kind] for kind in bearer.types.splitlines() if kind in labels)
        matches.append(
            Match(
                bearer.id,
                label,
                bearer.description,
                bearer.text or label,
                types,
                bearer.statements,
            )
        )
    return matches


def _called(identifier: str) -> str:
    return local_name(identifier) if "/" in identifier or ":" in identifier else identifier


def _labels(connection: sqlite3.Connection, identifiers: Iterable[str]) -> dict[str, str]:
    """Number or IRI -> label, in one query."""
    rows = connection.execute(
        "SELECT id, label FROM things WHERE label IS NOT NULL"
        " AND id IN (SELECT value FROM json_each(?))",
        (json.dumps(sorted(identifiers)),),
    )
    return dict(rows.fetchall())
