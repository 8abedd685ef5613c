"""Which names of items a text may mean.

The same name comes before names that begin with the text or have all its words; only where there
is none of these are descriptions, beginnings of words, other spellings and single words tried.
"""

import math
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from branchwise.corpora.graph.names.folding import MAX_CHARACTERS, Folded, fold
from branchwise.corpora.graph.names.words import (
    Name,
    NameWords,
    Spelling,
    beginning,
    every,
    every_prefix,
    one_of_each,
)

_DISAMBIGUATED = re.compile(r"(.*\S)\s*[(\uff08]([^()\uff08\uff09]*)[)\uff09]", re.DOTALL)
_HINT_STOPS = frozenset({"the", "a", "an", "of", "by", "in", "and", "from", "for"})
_LOOKED_AT = 60  # names that a spelling is looked for among
_RARE_WORDS = 4  # of a text that is no name, so many are looked up
_NAMES_A_WORD = 100
_LEAST_OVERLAP = 0.1


class Meant(NamedTuple):
    """A name, and the words that should tell its bearers apart."""

    name: Name
    hint: frozenset[str]


def meant_items(names: NameWords, text: str, limit: int) -> list[Meant]:
    """At most `limit` names of items that a text may mean, likeliest first."""
    text = text[:MAX_CHARACTERS].strip()
    whole, parted = fold(text), _DISAMBIGUATED.fullmatch(text)
    base = fold(parted[1]) if parted else whole
    hint = frozenset(fold(parted[2]).words) - _HINT_STOPS if parted else frozenset[str]()
    same = names.same(whole)
    if same:
        return _distinct([Meant(name, frozenset()) for name in _filled(names, same, whole, limit)])
    if found := _filled(names, names.same(base), base, limit):
        return _distinct([Meant(name, hint) for name in found])
    if found := _described(names, whole, limit):
        return _distinct([Meant(name, hint or _rest(whole, name)) for name in found])
    found = (
        _cut(names, base, limit)
        or respelt(names, base.words, limit)
        or overlapping(names, whole.words, limit)
    )
    return _distinct([Meant(name, hint) for name in found])


def _rest(text: Folded, name: Name) -> frozenset[str]:
    """Words of a text that its name does not have."""
    return frozenset(text.words) - set(name.words) - _HINT_STOPS


def _distinct(meant: Iterable[Meant]) -> list[Meant]:
    first: dict[int, Meant] = {}
    for one in meant:
        first.setdefault(one.name.number, one)
    return list(first.values())


def _filled(names: NameWords, same: Sequence[Name], text: Folded, limit: int) -> list[Name]:
    """The same names, those that begin with the words, that have all of them, and that begin with
    them where the last is cut."""
    found = dict.fromkeys(same)
    if not text.words:
        return list(found)
    for query in (beginning(text.words), every(text.words), beginning(text.words, cut=True)):
        if len(found) < limit:
            found |= dict.fromkeys(names.matching(query, limit))
    return list(found)[:limit]


def _described(names: NameWords, text: Folded, limit: int) -> list[Name]:
    """Names that have all the words together with their bearers' descriptions: those that have
    more of them in the name come first."""
    if len(text.words) < 2:
        return []
    found = names.matching(every(text.words, "{name about}"), _LOOKED_AT)
    wanted = set(text.words)
    shared = {name: len(wanted.intersection(name.words)) for name in found}
    found = [name for name in found if shared[name]]
    return sorted(found, key=lambda name: (len(name.words) - 2 * shared[name], name.number))[:limit]


def _cut(names: NameWords, text: Folded, limit: int) -> list[Name]:
    """Names with words that begin with those of the text."""
    return names.matching(every_prefix(text.words), limit)


def respelt(names: NameWords, words: Sequence[str], limit: int) -> list[Name]:
    """Names with all of the words, or with words that are written much like them."""
    choices = [possible(names, word) for word in words]
    if not choices or not all(choices):
        return []
    found = names.matching(one_of_each([s.word for s in group] for group in choices), _LOOKED_AT)
    edits = [{s.word: s.edits for s in group} for group in choices]

    def order(name: Name) -> tuple[int, int]:
        written = set(name.words)
        return sum(
            min(group[word] for word in written & group.keys()) for group in edits
        ), name.number

    complete = (name for name in found if all(set(name.words) & group.keys() for group in edits))
    return sorted(complete, key=order)[:limit]


def possible(names: NameWords, word: str) -> list[Spelling]:
    """A word that names have, and words that are written much like it."""
    known = names.names_with([word])
    own = [Spelling(word, 0, known[word])] if word in known else []
    return own + [spelling for spelling in names.spellings(word) if spelling.word != word]


def overlapping(names: NameWords, words: Sequence[str], limit: int) -> list[Name]:
    """Names that share words with a text, as with a whole question; rare words weigh more.

    The score is the share of the text's weight that a name has, times the share of the name's
    words that the text has. Words that no name has or nearly has weigh nothing.
    """
    meant = _known_or_near(names, words)
    if not meant:
        return []
    rare = sorted(meant, key=lambda word: -meant[word].weight)[:_RARE_WORDS]
    found = {
        name
        for word in rare
        for name in names.matching(one_of_each([meant[word].forms]), _NAMES_A_WORD)
    }
    total = sum(word.weight for word in meant.values())
    weights = {form: word.weight for word in meant.values() for form in word.forms}

    def score(name: Name) -> float:
        shared = [weights[word] for word in name.words if word in weights]
        return sum(shared) / total * len(shared) / len(name.words)

    scores = {name: score(name) for name in found}
    least = max(scores.values(), default=0.0) / 2
    best = [name for name in found if scores[name] >= max(least, _LEAST_OVERLAP)]
    return sorted(best, key=lambda name: (-scores[name], name.number))[:limit]


class _Word(NamedTuple):
    forms: list[str]
    weight: float


def _known_or_near(names: NameWords, words: Sequence[str]) -> dict[str, _Word]:
    """Words of a text that names have; of the others, the longest, as names have them."""
    counts = names.names_with(words)
    found = {
        word: _Word([word], 1 / math.log(2 + counts[word])) for word in words if word in counts
    }
    unknown = sorted((word for word in words if word not in counts), key=len, reverse=True)
    for word in unknown[:_RARE_WORDS]:
        if near := names.spellings(word):
            weight = 0.5 / math.log(2 + sum(spelling.names for spelling in near))
            found[word] = _Word([spelling.word for spelling in near], weight)
    return found
