"""Questions to the tables of names: exact, by words, by words that are misspelt."""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from branchwise.kg.answers import SearchKind
from branchwise.kg.names.ends import PropertyEnds, ends_of
from branchwise.kg.names.name_keys import NameKey
from branchwise.kg.names.spelling import (
    begin_alike,
    deletion_codes,
    distance,
    edits_forgiven,
)

_MOST_SPELLINGS = 8
_SAME = """
SELECT number, key FROM names_{kind} WHERE squeezed = ? ORDER BY key <> ?, number LIMIT 20
"""
_MATCHING = """
SELECT number, key FROM names_{kind} WHERE number IN
    (SELECT rowid FROM words_{kind} WHERE words_{kind} MATCH ? ORDER BY rowid LIMIT ?)
ORDER BY number
"""
_NAMES_WITH = """
SELECT word, names FROM spellings_{kind} WHERE word IN (SELECT value FROM json_each(?))
"""
_BORNE = """
SELECT thing, name FROM bearers_{kind} WHERE name IN (SELECT value FROM json_each(?))
ORDER BY name, thing
"""
_SPELLINGS = """
SELECT word, names FROM spellings_{kind} WHERE number IN
    (SELECT word FROM typos_{kind} WHERE code IN (SELECT value FROM json_each(?)))
AND length(word) BETWEEN ? AND ?
"""


class Name(NamedTuple):
    """A name by its number; numbers rise with the number of words."""

    number: int
    key: str

    @property
    def words(self) -> list[str]:
        """The folded words of the name."""
        return self.key.split()


class Meant(NamedTuple):
    """A name that a text may mean, and the words that should tell its bearers apart.

    `near`: it is only like the text, so it is a guess.
    """

    name: Name
    hint: frozenset[str] = frozenset()
    near: bool = False


class Spelling(NamedTuple):
    """A word of a name that a word may stand for."""

    word: str
    edits: int
    names: int  # that have the word


class NameWords:
    """The names of one kind in an open `names.sqlite`."""

    def __init__(self, connection: sqlite3.Connection, kind: SearchKind) -> None:
        self._connection, self._kind = connection, kind

    def same(self, name: NameKey) -> list[Name]:
        """Names that are the same, those that part their words in the same way first."""
        if not name.squeezed:
            return []
        rows = self._connection.execute(_SAME.format(kind=self._kind), (name.squeezed, name.key))
        return [Name(*row) for row in rows]

    def matching(self, query: str, most: int) -> list[Name]:
        """Names that an FTS5 expression finds, likeliest first; none where it has no words."""
        if query.endswith("()"):
            return []
        rows = self._connection.execute(_MATCHING.format(kind=self._kind), (query, most))
        return [Name(*row) for row in rows]

    def names_with(self, words: Iterable[str]) -> dict[str, int]:
        """How many names have each of these words; words that none has are left out."""
        rows = self._connection.execute(
            _NAMES_WITH.format(kind=self._kind), (json.dumps(list(words)),)
        )
        return dict(rows.fetchall())

    def borne(self, names: Iterable[Name]) -> dict[int, list[Name]]:
        """Numbers of the things that bear these names -> those of the names that each bears."""
        known = {name.number: name for name in names}
        rows = self._connection.execute(_BORNE.format(kind=self._kind), (json.dumps(list(known)),))
        found: dict[int, list[Name]] = {}
        for thing, name in rows:
            found.setdefault(thing, []).append(known[name])
        return found

    def ends(self, properties: Iterable[int]) -> dict[int, PropertyEnds]:
        """What properties lead from and to, of those where it is known."""
        return ends_of(self._connection, properties)

    def spellings(self, word: str) -> list[Spelling]:
        """Words of names within the edits forgiven this word: nearest, then commonest first."""
        most = edits_forgiven(word)
        if not most:
            return []
        rows = self._connection.execute(
            _SPELLINGS.format(kind=self._kind),
            (json.dumps(sorted(deletion_codes(word))), len(word) - most, len(word) + most),
        )
        near = (
            Spelling(other, distance(word, other, most), names)
            for other, names in rows
            if begin_alike(word, other)
        )
        allowed = (s for s in near if s.edits <= min(most, edits_forgiven(s.word) or most))
        return sorted(allowed, key=lambda s: (s.edits, -s.names, s.word))[:_MOST_SPELLINGS]


def covers(name: Name, words: Sequence[str]) -> bool:
    """Whether a name has all of these words, of which the last may be cut."""
    if not words:
        return False
    *whole, last = words
    return set(whole) <= set(name.words) and any(
        word == last or (len(last) > 1 and word.startswith(last)) for word in name.words
    )


def phrase(words: Sequence[str]) -> str:
    """Words as an FTS5 phrase."""
    return '"' + " ".join(words).replace('"', '""') + '"'


def beginning(words: Sequence[str], *, cut: bool = False) -> str:
    """An FTS5 expression for names that begin with these words, of which the last may be cut."""
    # A single letter would begin too many words.
    return f"name : ^ {phrase(words)}{' *' * (cut and len(words[-1]) > 1)}"


def every(words: Iterable[str], column: str = "name") -> str:
    """An FTS5 expression for names that have all of these words."""
    return f"{column} : ({' AND '.join(phrase([word]) for word in words)})"


def every_prefix(words: Iterable[str]) -> str:
    """An FTS5 expression for names that have a word beginning with each of these.

    One letter would begin too many words: it is a word.
    """
    terms = (f"{phrase([word])}{' *' * (len(word) > 1)}" for word in words)
    return f"name : ({' AND '.join(terms)})"


def one_of_each(choices: Iterable[Iterable[str]]) -> str:
    """An FTS5 expression for names that have one of each group of words."""
    groups = (f"({' OR '.join(phrase([word]) for word in group)})" for group in choices)
    return f"name : ({' AND '.join(groups)})"
