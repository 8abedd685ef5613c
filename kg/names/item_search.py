"""Which names of items a text may mean: exact, by words, by words that are misspelt.

The same name comes before names that begin with the text or have all its words. Only without any
of these are descriptions, beginnings of words, other spellings and single words tried; what they
find is marked as near.

One common word is not a similarity. Most of a name's telling words have to be in the text, written
so or nearly so, and most of the text's in the name; but a question may name a thing whole.
"""

import json
import math
import re
import sqlite3
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from branchwise.kg.answers import SearchKind
from branchwise.kg.names.forms import (
    MAX_CHARACTERS,
    NameKey,
    begin_alike,
    deletion_codes,
    distance,
    edits_forgiven,
    fold,
    telling,
)
from branchwise.kg.names.harvest import PropertyEnds, ends_of

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
        return self.key.split()


class Meant(NamedTuple):
    """A name that a text may mean, and words that tell its bearers apart. `near`: it is a guess."""

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
        query, listed = _NAMES_WITH.format(kind=self._kind), json.dumps(list(words))
        return dict(self._connection.execute(query, (listed,)).fetchall())

    def borne(self, names: Iterable[Name]) -> dict[int, list[Name]]:
        """Numbers of the things that bear these names -> those of the names that each bears."""
        known = {name.number: name for name in names}
        rows = self._connection.execute(_BORNE.format(kind=self._kind), (json.dumps(list(known)),))
        borne: dict[int, list[Name]] = {}
        for bearer, name in rows:
            borne.setdefault(bearer, []).append(known[name])
        return borne

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
    return '"' + " ".join(words).replace('"', '""') + '"'


def every(words: Iterable[str], column: str = "name") -> str:
    return f"{column} : ({' AND '.join(phrase([word]) for word in words)})"


def one_of_each(choices: Iterable[Iterable[str]]) -> str:
    groups = (f"({' OR '.join(phrase([word]) for word in group)})" for group in choices)
    return f"name : ({' AND '.join(groups)})"


_SPELLINGS_AMONG = 60  # names that a spelling is looked for among
_LETTERS_AN_EDIT = 5  # of a text, of which all edits together are forgiven
_RARE_WORDS = 4  # of a text that is not a name, so many are looked up
_NAMES_A_WORD = 100
_RARE = 20  # names that have a word that says much
_ASKED = "who whom whose what which where when why how did does do is are was were"
_ASKING = frozenset(_ASKED.split())


def _respelt(names: NameWords, words: Sequence[str], limit: int) -> list[Name]:
    choices: list[dict[str, int]] = []
    for word in words:
        # A word that names have, and words that are written much like it.
        edits = dict.fromkeys(names.names_with([word]), 0)
        choices.append(edits | {s.word: s.edits for s in names.spellings(word) if s.word != word})
        if not choices[-1]:
            return []  # before the others are looked up
    if not choices:
        return []
    most = max(1, sum(map(len, words)) // _LETTERS_AN_EDIT)
    written = {word for group in choices for word in group}
    apart: dict[Name, int] = {}
    for name in names.matching(one_of_each(choices), _SPELLINGS_AMONG):
        own = set(name.words)
        if all(not group.keys().isdisjoint(own) for group in choices):
            edits_of_name = sum(min(group[w] for w in own if w in group) for group in choices)
            if edits_of_name <= most and _is_most(written, name.words):
                apart[name] = edits_of_name
    return sorted(apart, key=lambda name: (apart[name], name.number))[:limit]


def _overlapping(
    names: NameWords, words: Sequence[str], limit: int, *, asked: bool = False
) -> list[Name]:
    """Names that share most words with a text, or that it holds; rare words weigh more, in text and
    name. `asked`: a question's other words do not count."""
    words = telling(words)
    meant = _known_or_near(names, words)
    if not meant:
        return []
    rare = sorted(meant, key=lambda word: -meant[word].weight)[:_RARE_WORDS]
    queries = [one_of_each([meant[word].forms]) for word in rare]
    candidates = {name for query in queries for name in names.matching(query, _NAMES_A_WORD)}
    total = sum(word.weight for word in meant.values())
    weights = {form: word.weight for word in meant.values() for form in word.forms}

    def score(name: Name) -> float:
        shared = [weights[word] for word in name.words if word in weights]
        return sum(shared) / total * len(shared) / len(name.words)

    scores = {n: score(n) for n in candidates if _is_named(n, words, meant, asked=asked)}
    least = max(scores.values(), default=0.0) / 2
    best = [name for name in scores if scores[name] >= least]
    return sorted(best, key=lambda name: (-scores[name], name.number))[:limit]


class _Word(NamedTuple):
    forms: list[str]
    weight: float
    names: int  # that have it as it is


def _is_most(written: set[str], words: Sequence[str]) -> bool:
    """Whether at least two thirds of the telling words are among those written."""
    own = telling(words)
    return 3 * sum(word in written for word in own) >= 2 * len(own)


def _is_named(name: Name, words: Sequence[str], meant: dict[str, _Word], *, asked: bool) -> bool:
    own = set(telling(name.words))
    of_name = {word: known for word, known in meant.items() if not own.isdisjoint(known.forms)}
    rest = set(words) - own  # a year beside a name does not make another name
    if own <= set(words) and (asked or len(own) > 1 or all(map(str.isdecimal, rest))):
        return True
    forms = {form for word in of_name.values() for form in word.forms}
    rare = any(0 < word.names <= _RARE for word in of_name.values())
    if len(of_name) < 2 or not rare or not _is_most(forms, name.words):
        return False
    return asked or 3 * len(of_name) >= 2 * len(set(words))


def _known_or_near(names: NameWords, words: Sequence[str]) -> dict[str, _Word]:
    counts = names.names_with(words)
    shared = [(word, counts[word]) for word in words if word in counts]
    known = {word: _Word([word], 1 / math.log(2 + n), n) for word, n in shared}
    unknown = sorted((word for word in words if word not in counts), key=len, reverse=True)
    for word in unknown[:_RARE_WORDS]:
        if near := names.spellings(word):
            weight = 0.5 / math.log(2 + sum(spelling.names for spelling in near))
            known[word] = _Word([spelling.word for spelling in near], weight, 0)
    return known


_DISAMBIGUATED = re.compile(r"(.*\S)\s*[(\uff08]([^()\uff08\uff09]*)[)\uff09]", re.DOTALL)
_LOOKED_AT = 60  # names that have the words, of which the best are taken


def meant_items(names: NameWords, text: str, limit: int) -> list[Meant]:
    """At most `limit` names of items that a text may mean, likeliest first."""
    text = text[:MAX_CHARACTERS].strip()
    whole, parted = fold(text), _DISAMBIGUATED.fullmatch(text)
    base = fold(parted[1]) if parted else whole
    hint = frozenset(telling(fold(parted[2]).words)) if parted else frozenset[str]()
    if same := names.same(whole):
        return _distinct(Meant(name) for name in _filled(names, same, whole, limit))
    if same := _filled(names, names.same(base), base, limit):
        return _distinct(Meant(name, hint) for name in same)
    meant = []
    for name in _described(names, whole, limit):
        # It is near unless the text has all of the name.
        own, words = set(name.words), set(whole.words)
        meant.append(Meant(name, hint or frozenset(telling(words - own)), near=not own <= words))
    if meant:
        return _distinct(meant)
    # Names that have a word beginning with each: one letter would begin too many words.
    begins = (f"{phrase([word])}{' *' * (len(word) > 1)}" for word in base.words)
    asks = (whole.words[:1] and whole.words[0] in _ASKING) or text.endswith(("?", "？"))
    asked = bool(len(whole.words) > 2 and asks)
    guesses = (
        names.matching(f"name : ({' AND '.join(begins)})", limit)
        or _respelt(names, base.words, limit)
        or _overlapping(names, whole.words, limit, asked=asked)
    )
    return _distinct(Meant(name, hint, near=not covers(name, base.words)) for name in guesses)


def _distinct(meant: Iterable[Meant]) -> list[Meant]:
    first: dict[int, Meant] = {}
    for candidate in meant:
        first.setdefault(candidate.name.number, candidate)
    return list(first.values())


def _filled(names: NameWords, same: Sequence[Name], text: NameKey, limit: int) -> list[Name]:
    """The same names; those that begin with the words, or have them all; the last may be cut."""
    filled = dict.fromkeys(same)
    if not text.words:
        return list(filled)
    begins = f"name : ^ {phrase(text.words)}"
    # A single letter would begin too many words.
    cut = f"{begins} *" if len(text.words[-1]) > 1 else begins
    for query in (begins, every(text.words), cut):
        if len(filled) < limit:
            filled |= dict.fromkeys(names.matching(query, limit))
    return list(filled)[:limit]


def _described(names: NameWords, text: NameKey, limit: int) -> list[Name]:
    """Names that have all words together with their bearers' descriptions, most of them first."""
    if len(text.words) < 2:
        return []
    wanted = set(text.words)
    ranks: dict[Name, tuple[int, int]] = {}
    for name in names.matching(every(text.words, "{name about}"), _LOOKED_AT):
        words = telling(name.words)
        shared = len(wanted.intersection(words))
        if 2 * shared >= len(words):
            ranks[name] = (len(name.words) - 2 * shared, name.number)
    return sorted(ranks, key=lambda name: ranks[name])[:limit]
