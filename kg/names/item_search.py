"""Which names of items a text may mean.

The same name comes before names that begin with the text or have all its words; only where there
is none of these are descriptions, beginnings of words, other spellings and single words tried, and
what they find is marked as near.

One common word is not a similarity. Most of a name's telling words have to be in the text, written
so or nearly so, and most of the text's in the name; but a question or a phrase may name a thing
whole.
"""

import math
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from branchwise.kg.names.name_keys import MAX_CHARACTERS, NameKey, fold, telling
from branchwise.kg.names.words import (
    Meant,
    Name,
    NameWords,
    Spelling,
    beginning,
    covers,
    every,
    every_prefix,
    one_of_each,
)

_SPELLINGS_AMONG = 60  # names that a spelling is looked for among
_LETTERS_AN_EDIT = 5  # of a text, of which all edits together are forgiven
_RARE_WORDS = 4  # of a text that is not a name, so many are looked up
_NAMES_A_WORD = 100
_RARE = 20  # names that have a word that says much
_ASKED = "who whom whose what which where when why how did does do is are was were"
_ASKING = frozenset(_ASKED.split())


def _is_question(text: str) -> bool:
    """Whether a text asks something, so that much of it is not a name."""
    words = fold(text).words
    return len(words) > 2 and (words[0] in _ASKING or text.rstrip().endswith(("?", "？")))


def _respelt(names: NameWords, words: Sequence[str], limit: int) -> list[Name]:
    """Names that are spelt much like all of the words, and have few others."""
    choices = []
    for word in words:
        choices.append(_possible(names, word))
        if not choices[-1]:
            return []  # before the others are looked up
    if not choices:
        return []
    found = names.matching(
        one_of_each([s.word for s in group] for group in choices), _SPELLINGS_AMONG
    )
    edits = [{s.word: s.edits for s in group} for group in choices]
    most = max(1, sum(map(len, words)) // _LETTERS_AN_EDIT)
    written = {word for group in edits for word in group}
    apart = {
        name: sum(min(group[word] for word in name.words if word in group) for group in edits)
        for name in found
        if all(not group.keys().isdisjoint(name.words) for group in edits)
    }
    near = (name for name in apart if apart[name] <= most and _is_most(written, name.words))
    return sorted(near, key=lambda name: (apart[name], name.number))[:limit]


def _overlapping(
    names: NameWords, words: Sequence[str], limit: int, *, asked: bool = False
) -> list[Name]:
    """Names that share most words with a text, or that it holds; rare words weigh more.

    The score is the share of the text's weight that a name has, times the share of the name's
    words that the text has. Words that no name has or nearly has weigh nothing. `asked`: the text
    is a question, whose other words do not count.
    """
    words = telling(words)
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

    scores = {name: score(name) for name in found if _is_named(name, words, meant, asked=asked)}
    least = max(scores.values(), default=0.0) / 2
    best = [name for name in scores if scores[name] >= least]
    return sorted(best, key=lambda name: (-scores[name], name.number))[:limit]


class _Word(NamedTuple):
    forms: list[str]
    weight: float
    names: int  # that have it as it is


def _is_most(written: set[str], words: Sequence[str]) -> bool:
    """Whether at least two thirds of the telling words are among those written."""
    said = telling(words)
    return 3 * sum(word in written for word in said) >= 2 * len(said)


def _is_named(name: Name, words: Sequence[str], meant: dict[str, _Word], *, asked: bool) -> bool:
    """Whether enough of a name is in a text for it to be meant."""
    said = set(telling(name.words))
    of_name = {word: found for word, found in meant.items() if not said.isdisjoint(found.forms)}
    rest = set(words) - said  # a year beside a name does not make another name
    if said <= set(words) and (asked or len(said) > 1 or all(map(str.isdecimal, rest))):
        return True
    forms = {form for word in of_name.values() for form in word.forms}
    rare = any(0 < word.names <= _RARE for word in of_name.values())
    if len(of_name) < 2 or not rare or not _is_most(forms, name.words):
        return False
    return asked or 3 * len(of_name) >= 2 * len(set(words))


def _possible(names: NameWords, word: str) -> list[Spelling]:
    """A word that names have, and words that are written much like it."""
    known = names.names_with([word])
    own = [Spelling(word, 0, known[word])] if word in known else []
    return own + [spelling for spelling in names.spellings(word) if spelling.word != word]


def _known_or_near(names: NameWords, words: Sequence[str]) -> dict[str, _Word]:
    """Words of a text that names have; of the others, the longest, as names have them."""
    counts = names.names_with(words)
    found = {
        word: _Word([word], 1 / math.log(2 + counts[word]), counts[word])
        for word in words
        if word in counts
    }
    unknown = sorted((word for word in words if word not in counts), key=len, reverse=True)
    for word in unknown[:_RARE_WORDS]:
        if near := names.spellings(word):
            weight = 0.5 / math.log(2 + sum(spelling.names for spelling in near))
            found[word] = _Word([spelling.word for spelling in near], weight, 0)
    return found


_DISAMBIGUATED = re.compile(r"(.*\S)\s*[(\uff08]([^()\uff08\uff09]*)[)\uff09]", re.DOTALL)
_LOOKED_AT = 60  # names that have the words, of which the best are taken


def meant_items(names: NameWords, text: str, limit: int) -> list[Meant]:
    """At most `limit` names of items that a text may mean, likeliest first."""
    text = text[:MAX_CHARACTERS].strip()
    whole, parted = fold(text), _DISAMBIGUATED.fullmatch(text)
    base = fold(parted[1]) if parted else whole
    hint = frozenset(telling(fold(parted[2]).words)) if parted else frozenset[str]()
    same = names.same(whole)
    if same:
        return _distinct(Meant(name) for name in _filled(names, same, whole, limit))
    if found := _filled(names, names.same(base), base, limit):
        return _distinct(Meant(name, hint) for name in found)
    if found := _described(names, whole, limit):
        return _distinct(_as_described(whole, hint, name) for name in found)
    found = (
        names.matching(every_prefix(base.words), limit)
        or _respelt(names, base.words, limit)
        or _overlapping(names, whole.words, limit, asked=_is_question(text))
    )
    return _distinct(Meant(name, hint, near=not covers(name, base.words)) for name in found)


def _as_described(text: NameKey, hint: frozenset[str], name: Name) -> Meant:
    """A name that has some of the words. It is near unless the text has all of the name."""
    rest = frozenset(telling(set(text.words) - set(name.words)))
    return Meant(name, hint or rest, near=not set(name.words) <= set(text.words))


def _distinct(meant: Iterable[Meant]) -> list[Meant]:
    first: dict[int, Meant] = {}
    for one in meant:
        first.setdefault(one.name.number, one)
    return list(first.values())


def _filled(names: NameWords, same: Sequence[Name], text: NameKey, limit: int) -> list[Name]:
    """The same names, those that begin with the words, that have all of them, and that begin with
    them where the last is cut."""
    found = dict.fromkeys(same)
    if not text.words:
        return list(found)
    for query in (beginning(text.words), every(text.words), beginning(text.words, cut=True)):
        if len(found) < limit:
            found |= dict.fromkeys(names.matching(query, limit))
    return list(found)[:limit]


def _described(names: NameWords, text: NameKey, limit: int) -> list[Name]:
    """Names that have all the words together with their bearers' descriptions: those that have
    more of them in the name come first."""
    if len(text.words) < 2:
        return []
    found = names.matching(every(text.words, "{name about}"), _LOOKED_AT)
    wanted = set(text.words)
    shared = {name: len(wanted.intersection(telling(name.words))) for name in found}
    found = [name for name in found if 2 * shared[name] >= len(telling(name.words))]
    return sorted(found, key=lambda name: (len(name.words) - 2 * shared[name], name.number))[:limit]
