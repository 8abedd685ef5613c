"""Filling `names.sqlite`: things are staged with their names, then numbered and indexed.

Names are numbered by how likely they are meant (few words, then many statements), so that a
search that reads them in order may stop early. Items and properties have tables of their own.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from branchwise.kg.answers import SearchKind
from branchwise.kg.names.forms import deletion_codes, fold
from branchwise.kg.names.harvest import Sampled, Thing, end_rows
from branchwise.kg.vocabulary import is_property_id, local_name

KINDS: tuple[SearchKind, SearchKind] = ("item", "property")

SETTINGS = """
PRAGMA main.journal_mode = OFF;
PRAGMA main.synchronous = OFF;
PRAGMA staging.journal_mode = OFF;
PRAGMA staging.synchronous = OFF;
PRAGMA cache_size = -65536;
"""

THINGS = """
CREATE TABLE things (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL,             -- Q42, P57 or an IRI
    kind TEXT NOT NULL,           -- item or property
    label TEXT,                   -- none where the graph gives none
    description TEXT NOT NULL DEFAULT '',
    types TEXT NOT NULL DEFAULT '',        -- ids, a line each
    years TEXT NOT NULL DEFAULT '',        -- of its dates
    statements INTEGER NOT NULL DEFAULT 0, -- of a property: uses
    used INTEGER NOT NULL DEFAULT 0        -- how often it is an object
);
CREATE TABLE staging.named (thing INTEGER, kind TEXT, text TEXT, key TEXT, squeezed TEXT);
CREATE TABLE staging.used (id TEXT, uses INTEGER);
CREATE TABLE staging.members (id TEXT, members INTEGER)
"""

ADD_THING = """
INSERT INTO things (id, kind, label, description, types, years, statements)
VALUES (?, ?, ?, ?, ?, ?, ?)
"""

# Things that are only ever objects are known, too.
ADD_USED = """
CREATE UNIQUE INDEX thing_ids ON things (id);
INSERT INTO things (id, kind, used) SELECT id, 'item', sum(uses) FROM staging.used WHERE true
GROUP BY id ON CONFLICT (id) DO UPDATE SET used = excluded.used;
CREATE INDEX staging.borne ON named (thing)
"""

ADD_PREDICATE = """
INSERT INTO things (id, kind, statements) VALUES (?, 'property', ?)
ON CONFLICT (id) DO UPDATE SET kind = 'property', statements = excluded.statements
RETURNING number
"""

ENDS = """
CREATE TABLE ends (
    thing INTEGER PRIMARY KEY,
    subjects TEXT NOT NULL, -- names of the kinds of things that it leads from, a line each
    objects TEXT NOT NULL   -- and to
)
"""
ADD_ENDS = "INSERT INTO ends VALUES (?, ?, ?)"

CLASSES = """
CREATE TABLE classes (thing INTEGER PRIMARY KEY, members INTEGER NOT NULL);
INSERT INTO classes SELECT number, sum(members) FROM staging.members JOIN things USING (id)
GROUP BY number
"""

NAMES = """
CREATE TABLE names_{kind} (number INTEGER PRIMARY KEY, key TEXT NOT NULL, squeezed TEXT NOT NULL);
-- The text is left out where it is the thing's label.
CREATE TABLE bearers_{kind} (
    name INTEGER, thing INTEGER, text TEXT, PRIMARY KEY (name, thing)
) WITHOUT ROWID;
INSERT INTO names_{kind} (key, squeezed)
SELECT key, min(squeezed) FROM staging.named JOIN things ON things.number = thing
WHERE named.kind = '{kind}' GROUP BY key
ORDER BY length(key) - length(min(squeezed)), max(statements + used) DESC, key;
CREATE UNIQUE INDEX key_{kind} ON names_{kind} (key);
INSERT OR IGNORE INTO bearers_{kind}
SELECT names_{kind}.number, thing, nullif(text, label)
FROM staging.named JOIN names_{kind} USING (key) JOIN things ON things.number = thing
WHERE named.kind = '{kind}' ORDER BY names_{kind}.number, thing, text IS NOT label, text;
DROP INDEX key_{kind};
CREATE INDEX squeezed_{kind} ON names_{kind} (squeezed)
"""

WORDS = """
CREATE VIRTUAL TABLE words_{kind} USING fts5 (
    name, about, content='', columnsize=0, prefix='2 3',
    tokenize="unicode61 remove_diacritics 0 tokenchars '+#'"
)
"""
ALL_NAMES = "SELECT number, key FROM names_{kind} ORDER BY number"
ADD_WORDS = "INSERT INTO words_{kind} (rowid, name, about) VALUES (?, ?, ?)"
SAID_OF_BEARERS = """
SELECT description, types, years FROM bearers_{kind} JOIN things ON number = thing
WHERE name = ? LIMIT ?
"""

ENDS_OF_BEARERS = """
SELECT subjects, objects FROM bearers_property JOIN ends USING (thing) WHERE name = ? LIMIT ?
"""

SPELLINGS = """
CREATE TABLE spellings_{kind} (
    number INTEGER PRIMARY KEY, word TEXT NOT NULL, names INTEGER NOT NULL
);
CREATE VIRTUAL TABLE temp.found_{kind} USING fts5vocab (main, words_{kind}, col);
INSERT INTO spellings_{kind} (word, names)
SELECT term, doc FROM temp.found_{kind} WHERE col = 'name' ORDER BY term;
DROP TABLE temp.found_{kind};
CREATE UNIQUE INDEX word_{kind} ON spellings_{kind} (word);
CREATE TABLE staging.codes_{kind} (code INTEGER, word INTEGER)
"""
ALL_SPELLINGS = "SELECT number, word FROM spellings_{kind}"
ADD_CODE = "INSERT INTO staging.codes_{kind} VALUES (?, ?)"
TYPOS = """
CREATE TABLE typos_{kind} (code INTEGER, word INTEGER, PRIMARY KEY (code, word)) WITHOUT ROWID;
INSERT OR IGNORE INTO typos_{kind} SELECT code, word FROM staging.codes_{kind} ORDER BY code, word
"""

COUNTS = """
SELECT (SELECT count(*) FROM things WHERE kind = 'item' AND (statements OR label IS NOT NULL)),
    (SELECT count(*) FROM things WHERE kind = 'property'),
    (SELECT count(*) FROM names_item),
    (SELECT count(*) FROM (SELECT 1 FROM bearers_item GROUP BY name HAVING count(*) > 1))
"""


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
        self._run(SETTINGS)
        self._connection.execute("BEGIN")
        self._run(THINGS)

    def add(self, thing: Thing) -> None:
        kind: SearchKind = "property" if is_property_id(thing.id) else "item"
        label, description = thing.label, thing.description[:_MAX_TEXT]
        row = (thing.id, kind, label and label[:_MAX_TEXT], description, "\n".join(thing.kinds))
        years = " ".join(thing.dates)
        added = self._connection.execute(ADD_THING, (*row, years, thing.statements))
        assert added.lastrowid is not None
        self._name(added.lastrowid, kind, thing.names())
        self._members.update(set(thing.types))
        self._stage_members(more_than=_CLASSES_AT_ONCE)

    def _stage_members(self, more_than: int = 0) -> None:
        if len(self._members) > more_than:
            rows = sorted(self._members.items())
            self._connection.executemany("INSERT INTO staging.members VALUES (?, ?)", rows)
            self._members.clear()

    def add_used(self, used: Iterable[tuple[str, int]]) -> None:
        self._connection.executemany("INSERT INTO staging.used VALUES (?, ?)", used)

    def finish(self, usage: dict[str, int], sampled: Mapping[str, Sequence[Sampled]]) -> NameCounts:
        """Make the tables that are searched. `usage` and `sampled`: of each property."""
        self._run(ADD_USED)
        self._add_predicates(usage)
        self._stage_members()
        self._run(CLASSES)
        self._run(ENDS)
        rows = list(end_rows(self._connection, sampled))
        self._connection.executemany(ADD_ENDS, rows)
        for kind in KINDS:
            self._run(NAMES.format(kind=kind))
            self._run(WORDS.format(kind=kind))
            names = self._connection.execute(ALL_NAMES.format(kind=kind))
            self._connection.executemany(
                ADD_WORDS.format(kind=kind),
                ((number, key, self._said(kind, number)) for number, key in names),
            )
            self._run(SPELLINGS.format(kind=kind))
            words = self._connection.execute(ALL_SPELLINGS.format(kind=kind))
            codes = ((code, number) for number, word in words for code in deletion_codes(word))
            self._connection.executemany(ADD_CODE.format(kind=kind), codes)
            self._run(TYPOS.format(kind=kind))
        self._run("ANALYZE main;\nCOMMIT;\nDETACH staging")
        return NameCounts(*self._connection.execute(COUNTS).fetchone())

    def close(self) -> None:
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
            added = self._connection.execute(ADD_PREDICATE, (identifier, uses))
            (number,) = added.fetchone()
            named = self._connection.execute(
                "UPDATE staging.named SET kind = 'property' WHERE thing = ?", (number,)
            ).rowcount
            if not named and not is_property_id(identifier):
                self._name(number, "property", [local_name(identifier)])

    def _said(self, kind: SearchKind, name: int) -> str:
        """Folded words of what is said of a name's bearers: descriptions, types, years, ends."""
        rows = self._connection.execute(SAID_OF_BEARERS.format(kind=kind), (name, _MAX_SAID))
        words: dict[str, None] = {}
        for description, types, years in rows:
            words |= dict.fromkeys([*fold(description).words, *years.split()])
            for identifier in types.splitlines():
                query = "SELECT label FROM things WHERE id = ?"
                for (label,) in self._connection.execute(query, (identifier,)).fetchall():
                    words |= dict.fromkeys(fold(label or "").words)
        if kind == "property":
            for ends in self._connection.execute(ENDS_OF_BEARERS, (name, _MAX_SAID)):
                words |= dict.fromkeys(" ".join(ends).split())
        return " ".join(words)
