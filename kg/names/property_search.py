"""Which properties a phrase may mean: "starred in", "who directed", "plays in league"."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from branchwise.kg.names.ends import PropertyEnds
from branchwise.kg.names.name_keys import MAX_CHARACTERS, STOPS, fold
from branchwise.kg.names.word_forms import other_forms, root, stem
from branchwise.kg.names.words import Name, NameWords, covers, phrase
from branchwise.kg.vocabulary import split_words

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


class PropertyFound(NamedTuple):
    """A property by its number in the tables, and the number of the name that was found.

    `near`: the property is only like the text.
    """

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


class _Found(NamedTuple):
    near: bool
    score: float
    name: Name


def meant_properties(names: NameWords, text: str, limit: int) -> list[PropertyFound]:
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
    found = {
        number: _best_name(words, {name: alike[name] for name in called}, ends.get(number), same)
        for number, called in borne.items()
    }
    likely = sorted(
        (number for number in found if found[number].score >= _LEAST_SCORE),
        key=lambda number: (*_order(found[number]), -number),
        reverse=True,
    )
    return [PropertyFound(n, found[n].name.number, found[n].near) for n in likely[:limit]]


def _order(found: _Found) -> tuple[bool, float, int]:
    return (not found.near, found.score, -found.name.number)


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
    """Names with a telling word of the text, and those of properties about all of its words."""
    for word in [word for word in words if word.tells] or words:
        yield from names.matching(f"name : ({_one_of(word)})", _LOOKED_AT)
    said = [word for word in words if word.weight > _LIGHT]
    if len(said) > 1:
        every = " AND ".join(f"({_one_of(word)})" for word in said)
        yield from names.matching(f"about : ({every})", _LOOKED_AT)


def _one_of(word: _Word) -> str:
    """An FTS5 expression for a word in any form."""
    forms = {form for one in word.forms for form in (one, *other_forms(one))}
    beginnings = {root(one) for one in word.forms}
    terms = {phrase([form]) for form in forms}
    terms |= {f"{phrase([one])} *" for one in beginnings if len(one) > 2}
    return " OR ".join(sorted(terms))


def _best_name(
    words: Sequence[_Word],
    called: Mapping[Name, Sequence[float]],
    ends: PropertyEnds | None,
    same: set[Name],
) -> _Found:
    """The name of a property that says the text best. `called`: how much each says each word."""
    sides = [ends.subjects, ends.values] if ends else []
    at_ends = [_at_an_end(word, sides) for word in words]
    in_names = [_OTHER_NAME * max(said) for said in zip(*called.values(), strict=True)]
    elsewhere = list(map(max, at_ends, in_names))
    found = (
        _Found(near=False, score=_SAME, name=name)
        if name in same
        else _scored(words, name, own, elsewhere)
        for name, own in called.items()
    )
    return max(found, key=_order)


def _scored(
    words: Sequence[_Word], name: Name, own: Sequence[float], elsewhere: Sequence[float]
) -> _Found:
    said = [mine or other for mine, other in zip(own, elsewhere, strict=True)]
    weights = [word.weight for word in words]
    shared = _product(weights, said)
    missed = sum(weights) - shared
    unasked = max(0.0, sum(map(_weight, name.words)) - _product(weights, own))
    telling = [word.text for word in words if word.tells]
    sure = max(own) > _SAID and all(
        part > _SAID for word, part in zip(words, said, strict=True) if word.tells
    )
    total = shared + _MISSED * missed + _UNASKED * unasked
    return _Found(not (sure or covers(name, telling)), shared / total if total else 0.0, name)


def _product(left: Sequence[float], right: Sequence[float]) -> float:
    return sum(one * other for one, other in zip(left, right, strict=True))


def _at_an_end(word: _Word, sides: list[Mapping[str, float]]) -> float:
    """How much a word says of one of the sides, which is taken from those that are left."""
    said = [side.get(stem(word.text), 0.0) for side in sides]
    most = max(said, default=0.0)
    if most and word.tells:
        del sides[said.index(most)]
    return most


def _best(word: _Word, others: Sequence[str]) -> float:
    if not word.tells:
        return float(word.text in others)
    return max(
        (
            _alike(form, other) * (_RESPELT if place else 1)
            for place, form in enumerate(word.forms)
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
