"""The bearers of a name, told apart by their descriptions."""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from branchwise.kg.answers import Match, SearchKind
from branchwise.kg.names.name_keys import fold
from branchwise.kg.names.property_search import PropertyFound
from branchwise.kg.names.words import Meant
from branchwise.kg.vocabulary import is_wikidata_id, local_name

MAX_BEARERS = 20
"""Bearers listed per name."""

_TOLD_APART = 1_000  # bearers of a name among whom words choose
_COLUMNS = "SELECT things.id, label, description, types, years, statements"
_THING = _COLUMNS + ", NULL FROM things WHERE id = ?"
_MOST_USED = (
    _COLUMNS + ", NULL FROM things WHERE kind = 'property' AND statements"
    " ORDER BY statements DESC, id LIMIT ?"
)
_MEMBERS = (
    "SELECT id, members FROM classes JOIN things ON number = thing"
    " WHERE id IN (SELECT value FROM json_each(?))"
)
_BEARERS = (
    _COLUMNS + ", bearers.text FROM bearers_{kind} AS bearers JOIN things"
    " ON things.number = bearers.thing WHERE bearers.name = ?"
    " ORDER BY statements DESC, used DESC, things.id LIMIT ?"
)
_NAMED = (
    _COLUMNS + ", bearers.text FROM bearers_property AS bearers JOIN things"
    " ON things.number = bearers.thing WHERE bearers.name = ? AND bearers.thing = ?"
)


class _Bearer(NamedTuple):
    id: str
    label: str | None
    description: str
    types: str
    years: str
    statements: int
    text: str | None  # the name borne, if it is not the label

    @property
    def kinds(self) -> list[str]:
        return self.types.splitlines()

    @property
    def called(self) -> str:
        """A label; without one, the name, or else the end of the IRI."""
        own = self.id if is_wikidata_id(self.id) else local_name(self.id)
        return self.label or self.text or own


def thing(connection: sqlite3.Connection, identifier: str) -> list[Match]:
    """The thing with this number or IRI."""
    return _shown(connection, [_Bearer(*row) for row in connection.execute(_THING, (identifier,))])


def most_used(connection: sqlite3.Connection, limit: int) -> list[Match]:
    """Properties by how often they are used."""
    return _shown(connection, [_Bearer(*row) for row in connection.execute(_MOST_USED, (limit,))])


def properties(connection: sqlite3.Connection, found: Sequence[PropertyFound]) -> list[Match]:
    """The properties found, in their order."""
    rows = [
        _Bearer(*row)
        for one in found
        for row in connection.execute(_NAMED, (one.name, one.property))
    ]
    shown = zip(_shown(connection, rows), found, strict=True)
    return [match._replace(near=one.near) for match, one in shown]


def bearers(
    connection: sqlite3.Connection, kind: SearchKind, meant: Sequence[Meant]
) -> list[Match]:
    """Those who bear the names, most statements first, each under the first name it bears.

    If the words of a hint apply to none of them, all are only near.
    """
    borne = {one: _borne_by(connection, kind, one) for one in meant}
    told_apart = True
    if any(one.hint for one in meant):
        chosen = _told_apart(connection, borne)
        told_apart, borne = bool(chosen), chosen or borne
    first: dict[str, _Bearer] = {}
    near: set[str] = set()
    for one, found in borne.items():
        for bearer in found[:MAX_BEARERS]:
            if bearer.id not in first and (one.near or not told_apart):
                near.add(bearer.id)
            first.setdefault(bearer.id, bearer)
    return [
        match._replace(near=match.id in near) for match in _shown(connection, list(first.values()))
    ]


def with_members(connection: sqlite3.Connection, found: Sequence[Match]) -> list[Match]:
    """The matches, with how many things are instances of them."""
    ids = json.dumps([match.id for match in found])
    members = dict(connection.execute(_MEMBERS, (ids,)).fetchall())
    return [match._replace(members=members.get(match.id, 0)) for match in found]


def labels_of(connection: sqlite3.Connection, identifiers: Iterable[str]) -> dict[str, str]:
    """Number or IRI -> label, of those that have one, in one query."""
    rows = connection.execute(
        "SELECT id, label FROM things WHERE label IS NOT NULL"
        " AND id IN (SELECT value FROM json_each(?))",
        (json.dumps(sorted(identifiers)),),
    )
    return dict(rows.fetchall())


def _borne_by(connection: sqlite3.Connection, kind: SearchKind, meant: Meant) -> list[_Bearer]:
    most = _TOLD_APART if meant.hint else MAX_BEARERS
    rows = connection.execute(_BEARERS.format(kind=kind), (meant.name.number, most))
    return [_Bearer(*row) for row in rows]


def _told_apart(
    connection: sqlite3.Connection, borne: dict[Meant, list[_Bearer]]
) -> dict[Meant, list[_Bearer]]:
    """Of each name, the bearers to which most words of the hint apply; none if no word applies."""
    labels = _kind_labels(connection, [bearer for found in borne.values() for bearer in found])

    def said(bearer: _Bearer, hint: frozenset[str]) -> int:
        kinds = " ".join(labels.get(kind, "") for kind in bearer.kinds)
        told = (bearer.description, kinds, bearer.years, bearer.called)
        return len(hint & {word for text in told for word in fold(text).words})

    chosen: dict[Meant, list[_Bearer]] = {}
    for meant, found in borne.items():
        counts = [said(bearer, meant.hint) for bearer in found]
        most = max(counts, default=0)
        if most:
            chosen[meant] = [b for b, count in zip(found, counts, strict=True) if count == most]
    return chosen


def _shown(connection: sqlite3.Connection, found: Sequence[_Bearer]) -> list[Match]:
    labels = _kind_labels(connection, found)
    return [
        Match(
            id=bearer.id,
            label=bearer.called,
            description=bearer.description,
            name=bearer.text or bearer.called,
            types=tuple(labels[kind] for kind in bearer.kinds if kind in labels),
            statements=bearer.statements,
        )
        for bearer in found
    ]


def _kind_labels(connection: sqlite3.Connection, found: Iterable[_Bearer]) -> dict[str, str]:
    return labels_of(connection, {kind for bearer in found for kind in bearer.kinds})
