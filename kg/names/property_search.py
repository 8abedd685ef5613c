"""Which properties a phrase may mean ("starred in", "plays in league"), and who bears a name."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import mul
from typing import NamedTuple

from branchwise.kg.answers import Match, SearchKind
from branchwise.kg.names.forms import MAX_CHARACTERS, STOPS, fold, other_forms, root, stem
from branchwise.kg.names.harvest import PropertyEnds
from branchwise.kg.names.item_search import Meant, Name, NameWords, covers, phrase
from branchwise.kg.vocabulary import is_wikidata_id, local_name, split_words

_LOOKED_AT = 150  # names with a word, of which the shortest and most used are taken
_STEM_PREFIX = 5  # letters of a stem after which another word may begin with it: direct, director
_LEAST_SCORE = 0.3
_FORM = 0.9  # of a word that has the same root, or begins with the other's stem
_RESPELT = 0.5  # of a word that is only written much like it: King is hardly kind
_OTHER_NAME = 0.6  # of a word that only another name of the property has: "league" of "plays in"
_SAID = 0.5  # of a word that a property has, in a name or at an end
_ASKING, _LIGHT = 0.4, 0.2  # of words of questions, and of words such as "in"
_ASKED = frozenset({"who", "whom", "whose", "when", "where", "many", "much"})
_SMALL = STOPS | {"as", "into", "onto", "out", "there", "their", "them", "him", "her", "his", "you"}
_SAME = 2.0  # of a name that is the text: above all others
_MISSED, _UNASKED = 0.6, 0.4  # of words that only the text has, and that only the name has


class MeantProperty(NamedTuple):
    """A property and a name of it, by their numbers. `near`: it is only like the text."""

    property: int
    name: int
    near: bool


class _Word(NamedTuple):
    """A word of the text; where no name has it, also those it may be a misspelling of."""

    text: str
    forms: tuple[str, ...]

    @property
    def weight(self) -> float:
        return _weight(self.text)

    @property
    def tells(self) -> bool:
        """Whether it says what is meant, rather than how it is asked for."""
        return self.weight == 1


class _Scored(NamedTuple):
    near: bool
    score: float
    name: Name


def meant_properties(names: NameWords, text: str, limit: int) -> list[MeantProperty]:
    """At most `limit` properties, likeliest first, each under its best name.

    The score of a name is its Tversky index with the text: w(shared) / (w(shared) + .6 w(only in
    the text) + .4 w(only in the name)). Shared words count less if only their roots are the same,
    or if one is misspelt. A word that the name lacks is shared in part, if another name of the
    property has it or if it says what the property leads from or to: "plays in league", "country
    of award". A property is near unless all telling words are in its names or at its ends.
    """
    whole = fold(split_words(text[:MAX_CHARACTERS]))
    same = set(names.same(whole))
    words = _words(names, whole.words)
    candidates = dict.fromkeys([*same, *_candidates(names, words)])
    alike = {name: [_best(word, name.words) for word in words] for name in candidates}
    borne = names.borne(candidates)
    ends = names.ends(borne)
    best: dict[int, _Scored] = {}
    for number, called in borne.items():
        own = {name: alike[name] for name in called}
        scored = _best_name(words, own, ends.get(number), same)
        if scored.score >= _LEAST_SCORE:
            best[number] = scored
    likely = sorted(best, key=lambda number: (*_order(best[number]), -number), reverse=True)
    return [MeantProperty(n, best[n].name.number, best[n].near) for n in likely[:limit]]


def _order(scored: _Scored) -> tuple[bool, float, int]:
    return (not scored.near, scored.score, -scored.name.number)


def _words(names: NameWords, words: Sequence[str]) -> list[_Word]:
    words = [word for word in words if len(word) > 1] or list(words)
    known = names.names_with(words)
    return [
        _Word(word, (word,))
        if word in known or word in _SMALL
        else _Word(word, (word, *(spelling.word for spelling in names.spellings(word))))
        for word in words
    ]


def _candidates(names: NameWords, words: Sequence[_Word]) -> Iterator[Name]:
    for word in [word for word in words if word.tells] or words:
        yield from names.matching(f"name : ({_one_of(word)})", _LOOKED_AT)
    heavy = [word for word in words if word.weight > _LIGHT]
    if len(heavy) > 1:
        every = " AND ".join(f"({_one_of(word)})" for word in heavy)
        yield from names.matching(f"about : ({every})", _LOOKED_AT)


def _one_of(word: _Word) -> str:
    """An FTS5 expression for a word in any form."""
    forms = {form for text in word.forms for form in (text, *other_forms(text))}
    beginnings = {root(form) for form in word.forms}
    terms = {phrase([form]) for form in forms}
    terms |= {f"{phrase([beginning])} *" for beginning in beginnings if len(beginning) > 2}
    return " OR ".join(sorted(terms))


def _best_name(
    words: Sequence[_Word],
    called: Mapping[Name, Sequence[float]],
    ends: PropertyEnds | None,
    same: set[Name],
) -> _Scored:
    """The name of a property that says the text best. `called`: how much each says each word."""
    sides = [ends.subjects, ends.values] if ends else []
    elsewhere = []
    for word, in_names in zip(words, zip(*called.values(), strict=True), strict=True):
        # How much a word says of one of the ends, which is taken from those that are left.
        weights = [side.get(stem(word.text), 0.0) for side in sides]
        at_end = max(weights, default=0.0)
        if at_end and word.tells:
            del sides[weights.index(at_end)]
        elsewhere.append(max(at_end, _OTHER_NAME * max(in_names)))
    scored = (
        _Scored(near=False, score=_SAME, name=name)
        if name in same
        else _scored(words, name, own, elsewhere)
        for name, own in called.items()
    )
    return max(scored, key=_order)


def _scored(
    words: Sequence[_Word], name: Name, own: Sequence[float], elsewhere: Sequence[float]
) -> _Scored:
    parts = [mine or other for mine, other in zip(own, elsewhere, strict=True)]
    weights = [word.weight for word in words]
    shared = sum(map(mul, weights, parts))
    missed = sum(weights) - shared
    unasked = max(0.0, sum(map(_weight, name.words)) - sum(map(mul, weights, own)))
    telling = [word.text for word in words if word.tells]
    clear = (part > _SAID for word, part in zip(words, parts, strict=True) if word.tells)
    sure = max(own) > _SAID and all(clear)
    total = shared + _MISSED * missed + _UNASKED * unasked
    return _Scored(not (sure or covers(name, telling)), shared / total if total else 0.0, name)


def _best(word: _Word, others: Sequence[str]) -> float:
    if not word.tells:
        return float(word.text in others)
    return max(
        (
            _alike(form, other) * (_RESPELT if index else 1)
            for index, form in enumerate(word.forms)
            for other in others
        ),
        default=0.0,
    )


def _alike(left: str, right: str) -> float:
    left_stem, right_stem = stem(left), stem(right)
    if left_stem == right_stem:
        return 1.0
    short, long = sorted((left_stem, right_stem), key=len)
    if root(left) == root(right) or (len(short) >= _STEM_PREFIX and long.startswith(short)):
        return _FORM
    return 0.0


def _weight(word: str) -> float:
    if word in _ASKED:
        return _ASKING
    return _LIGHT if word in _SMALL or len(word) == 1 else 1.0


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
        own = self.id if is_wikidata_id(self.id) else local_name(self.id)
        return self.label or self.text or own


def thing(connection: sqlite3.Connection, identifier: str) -> list[Match]:
    return _shown(connection, [_Bearer(*row) for row in connection.execute(_THING, (identifier,))])


def most_used(connection: sqlite3.Connection, limit: int) -> list[Match]:
    return _shown(connection, [_Bearer(*row) for row in connection.execute(_MOST_USED, (limit,))])


def properties(connection: sqlite3.Connection, meant: Sequence[MeantProperty]) -> list[Match]:
    pairs = [
        (_Bearer(*row), known.near)
        for known in meant
        for row in connection.execute(_NAMED, (known.name, known.property))
    ]
    matches = _shown(connection, [bearer for bearer, _ in pairs])
    return [match._replace(near=near) for match, (_, near) in zip(matches, pairs, strict=True)]


def bearers(
    connection: sqlite3.Connection, kind: SearchKind, meant: Sequence[Meant]
) -> list[Match]:
    """Bearers of the names, most statements first; all near, if no hint's words apply."""
    borne: dict[Meant, list[_Bearer]] = {}
    for name in meant:
        most = _TOLD_APART if name.hint else MAX_BEARERS
        rows = connection.execute(_BEARERS.format(kind=kind), (name.name.number, most))
        borne[name] = [_Bearer(*row) for row in rows]
    told_apart = True
    if any(name.hint for name in meant):
        chosen = _told_apart(connection, borne)
        told_apart, borne = bool(chosen), chosen or borne
    first: dict[str, _Bearer] = {}
    near: set[str] = set()
    for name, own in borne.items():
        for bearer in own[:MAX_BEARERS]:
            if bearer.id not in first and (name.near or not told_apart):
                near.add(bearer.id)
            first.setdefault(bearer.id, bearer)
    matches = _shown(connection, list(first.values()))
    return [match._replace(near=match.id in near) for match in matches]


def with_members(connection: sqlite3.Connection, matches: Sequence[Match]) -> list[Match]:
    ids = json.dumps([match.id for match in matches])
    members = dict(connection.execute(_MEMBERS, (ids,)).fetchall())
    return [match._replace(members=members.get(match.id, 0)) for match in matches]


def labels_of(connection: sqlite3.Connection, identifiers: Iterable[str]) -> dict[str, str]:
    """Number or IRI -> label, of those that have one, in one query."""
    rows = connection.execute(
        "SELECT id, label FROM things WHERE label IS NOT NULL"
        " AND id IN (SELECT value FROM json_each(?))",
        (json.dumps(sorted(identifiers)),),
    )
    return dict(rows.fetchall())


def _told_apart(
    connection: sqlite3.Connection, borne: dict[Meant, list[_Bearer]]
) -> dict[Meant, list[_Bearer]]:
    """Of each name, the bearers to which most words of the hint apply; none if no word applies."""
    every = [bearer for own in borne.values() for bearer in own]
    labels = labels_of(connection, {kind for bearer in every for kind in bearer.kinds})
    chosen: dict[Meant, list[_Bearer]] = {}
    for meant, own in borne.items():
        counts = []
        for bearer in own:
            kinds = " ".join(labels.get(kind, "") for kind in bearer.kinds)
            texts = (bearer.description, kinds, bearer.years, bearer.called)
            counts.append(len(meant.hint & {word for text in texts for word in fold(text).words}))
        if most := max(counts, default=0):
            chosen[meant] = [b for b, count in zip(own, counts, strict=True) if count == most]
    return chosen


def _shown(connection: sqlite3.Connection, bearers: Sequence[_Bearer]) -> list[Match]:
    labels = labels_of(connection, {kind for bearer in bearers for kind in bearer.kinds})
    return [
        Match(
            id=bearer.id,
            label=bearer.called,
            description=bearer.description,
            name=bearer.text or bearer.called,
            types=tuple(labels[kind] for kind in bearer.kinds if kind in labels),
            statements=bearer.statements,
        )
        for bearer in bearers
    ]
