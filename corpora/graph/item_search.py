"""Which names of items a text may mean.

The same name comes before names that begin with the text or have all its words; only where there
is none of these are descriptions, beginnings of words, other spellings and single words tried.
"""

import math
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from branchwise.corpora.graph.folding import MAX_CHARACTERS, Folded, fold
from branchwise.corpora.graph.name_words import (
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
_NAMES_A_WORD = 200
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
    return list({one.name.number: one for one in reversed(list(meant))}.values())[::-1]


def _filled(names: NameWords, same: Sequence[Name], text: Folded, limit: int) -> list[Name]:
    """The same names, those that begin with them, and those that have all of their words."""
    found = dict.fromkeys(same)
    if text.words and len(found) < limit:
        if len(text.squeezed) > 1:
            found |= dict.fromkeys(names.matching(beginning(text.words), limit))
        if len(found) < limit:
            found |= dict.fromkeys(names.matching(every(text.words), limit))
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
    """Names that share words with a text, as a whole question; rare words weigh more.

    The score is the share of the text's weight that a name has, times the share of the name's
    words that the text has.
    """
    known = names.names_with(words)
    spelt = {word: [word] for word in words if word in known}
    for word in words:
        if word not in known and (near := names.spellings(word)):
            spelt[word] = [spelling.word for spelling in near]
            known |= {spelling.word: spelling.names for spelling in near}
    weights = {
        word: 1 / math.log(2 + sum(known[other] for other in spelt.get(word, ()))) for word in words
    }
    if not spelt:
        return []
    rare = sorted(spelt, key=lambda word: -weights[word])[:_RARE_WORDS]
    found = {
        name for word in rare for name in names.matching(one_of_each([spelt[word]]), _NAMES_A_WORD)
    }
    total = sum(weights.values())
    means = {other: word for word, others in spelt.items() for other in others}
    scores = {}
    for name in found:
        shared = [means[word] for word in name.words if word in means]
        scores[name] = sum(weights[w] for w in set(shared)) / total * len(shared) / len(name.words)
    least = max([2 * _LEAST_OVERLAP, *scores.values()]) / 2
    best = [name for name in found if scores[name] >= least]
    return sorted(best, key=lambda name: (-scores[name], name.number))[:limit]
