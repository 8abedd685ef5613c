"""Filling `names.sqlite`: things are staged with their names, then numbered and indexed."""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from branchwise.kg.answers import SearchKind
from branchwise.kg.names import schema as sql
from branchwise.kg.names.ends import Sampled, end_rows
from branchwise.kg.names.name_keys import fold
from branchwise.kg.names.spelling import deletion_codes
from branchwise.kg.names.things import Thing
from branchwise.kg.vocabulary import is_property_id, local_name

_MAX_TEXT = 1_000  # characters of a label or description that are kept
_CLASSES_AT_ONCE = 200_000  # counted in memory
_MAX_SAID = 50  # bearers of a name whose descriptions can be searched together with it


class NameCounts(NamedTuple):
    """What was indexed, as a `KgDescription` counts it."""

    entities: int
    properties: int
    names: int
    shared_names: int


class NameTables:
    """`names.sqlite` while it is made."""

    def __init__(self, path: Path) -> None:
        self._members: Counter[str] = Counter()
        self._staging = path.with_suffix(".staging")
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.execute("ATTACH ? AS staging", (str(self._staging),))
        self._run(sql.SETTINGS)
        self._connection.execute("BEGIN")
        self._run(sql.THINGS)

    def add(self, thing: Thing) -> None:
        """Stage a thing that is a subject in the graph."""
        kind: SearchKind = "property" if is_property_id(thing.id) else "item"
        label, description = thing.label, thing.description[:_MAX_TEXT]
        row = (thing.id, kind, label and label[:_MAX_TEXT], description, "\n".join(thing.kinds))
        years = " ".join(thing.dates)
        added = self._connection.execute(sql.ADD_THING, (*row, years, thing.statements))
        assert added.lastrowid is not None
        self._name(added.lastrowid, kind, thing.names())
        self._members.update(set(thing.types))
        if len(self._members) > _CLASSES_AT_ONCE:
            self._stage_members()

    def _stage_members(self) -> None:
        self._connection.executemany(
            "INSERT INTO staging.members VALUES (?, ?)", sorted(self._members.items())
        )
        self._members.clear()

    def add_used(self, used: Iterable[tuple[str, int]]) -> None:
        """Stage how often ids are objects."""
        self._connection.executemany("INSERT INTO staging.used VALUES (?, ?)", used)

    def finish(self, usage: dict[str, int], sampled: Mapping[str, Sequence[Sampled]]) -> NameCounts:
        """Make the tables that are searched.

        `usage`: how often each property is used; `sampled`: some statements of each.
        """
        self._run(sql.ADD_USED)
        self._add_predicates(usage)
        self._stage_members()
        self._run(sql.CLASSES)
        self._run(sql.ENDS)
        rows = list(end_rows(self._connection, sampled))
        self._connection.executemany(sql.ADD_ENDS, rows)
        for kind in sql.KINDS:
            self._run(sql.NAMES.format(kind=kind))
            self._index_words(kind)
            self._index_spellings(kind)
        self._run("ANALYZE main;\nCOMMIT;\nDETACH staging")
        return NameCounts(*self._connection.execute(sql.COUNTS).fetchone())

    def close(self) -> None:
        """Close the file, and delete what was staged."""
        self._connection.close()
        self._staging.unlink(missing_ok=True)

    def _run(self, script: str) -> None:
        """Statements one by one: `executescript` would end the transaction."""
        for statement in script.split(";\n"):
            self._connection.execute(statement)

    def _name(self, number: int, kind: SearchKind, names: Iterable[str]) -> None:
        folded = ((name[:_MAX_TEXT], fold(name)) for name in names)
        self._connection.executemany(
            "INSERT INTO staging.named VALUES (?, ?, ?, ?, ?)",
            [(number, kind, name, it.key, it.squeezed) for name, it in folded if it.key],
        )

    def _add_predicates(self, usage: dict[str, int]) -> None:
        """Predicates become properties; one without a name is called by its IRI's end."""
        for identifier, uses in sorted(usage.items()):
            added = self._connection.execute(sql.ADD_PREDICATE, (identifier, uses))
            (number,) = added.fetchone()
            named = self._connection.execute(
                "UPDATE staging.named SET kind = 'property' WHERE thing = ?", (number,)
            ).rowcount
            if not named and not is_property_id(identifier):
                self._name(number, "property", [local_name(identifier)])

    def _index_words(self, kind: SearchKind) -> None:
        self._run(sql.WORDS.format(kind=kind))
        names = self._connection.execute(sql.ALL_NAMES.format(kind=kind))
        self._connection.executemany(
            sql.ADD_WORDS.format(kind=kind),
            ((number, key, self._said(kind, number)) for number, key in names),
        )

    def _said(self, kind: SearchKind, name: int) -> str:
        """Folded words of what is said of a name's bearers: descriptions, types, years, ends."""
        rows = self._connection.execute(sql.SAID_OF_BEARERS.format(kind=kind), (name, _MAX_SAID))
        words: dict[str, None] = {}
        for description, types, years in rows:
            words |= dict.fromkeys([*fold(description).words, *years.split()])
            for identifier in types.splitlines():
                words |= dict.fromkeys(fold(self._label(identifier)).words)
        if kind == "property":
            for ends in self._connection.execute(sql.ENDS_OF_BEARERS, (name, _MAX_SAID)):
                words |= dict.fromkeys(" ".join(ends).split())
        return " ".join(words)

    def _label(self, identifier: str) -> str:
        found = self._connection.execute("SELECT label FROM things WHERE id = ?", (identifier,))
        row = found.fetchone()
        return (row and row[0]) or ""

    def _index_spellings(self, kind: SearchKind) -> None:
        self._run(sql.SPELLINGS.format(kind=kind))
        words = self._connection.execute(sql.ALL_SPELLINGS.format(kind=kind))
        self._connection.executemany(sql.ADD_CODE.format(kind=kind), _codes(words))
        self._run(sql.TYPOS.format(kind=kind))


def _codes(words: Iterable[tuple[int, str]]) -> Iterator[tuple[int, int]]:
    for number, word in words:
        yield from ((code, number) for code in deletion_codes(word))
