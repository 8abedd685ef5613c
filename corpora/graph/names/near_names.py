"""Names that are only like a text: misspelt in it, or named somewhere in it.

A word in common is no likeness. Most of a name's telling words have to be in the text, written so
or nearly so, and most of the text's in the name; but a question or a phrase may name a thing whole.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from branchwise.corpora.graph.names.name_keys import fold, telling
from branchwise.corpora.graph.names.words import Name, NameWords, Spelling, one_of_each

_LOOKED_AT = 60  # names that a spelling is looked for among
_LETTERS_AN_EDIT = 5  # of a text, of which all edits together are forgiven
_RARE_WORDS = 4  # of a text that is no name, so many are looked up
_NAMES_A_WORD = 100
_RARE = 20  # names that have a word that says much
_ASKED = "who whom whose what which where when why how did does do is are was were"
_ASKING = frozenset(_ASKED.split())


def is_question(text: str) -> bool:
    """Whether a text asks something, so that much of it is no name."""
    words = fold(text).words
    return len(words) > 2 and (words[0] in _ASKING or text.rstrip().endswith(("?", "？")))


def respelt(names: NameWords, words: Sequence[str], limit: int) -> list[Name]:
    """Names that are written much like all of the words, and have few others."""
    choices = []
    for word in words:
        choices.append(_possible(names, word))
        if not choices[-1]:
            return []  # before the others are looked up
    if not choices:
        return []
    found = names.matching(one_of_each([s.word for s in group] for group in choices), _LOOKED_AT)
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


def overlapping(
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
    """Whether so much of a name is in a text that it may be meant."""
    said = set(telling(name.words))
    of_name = {word: found for word, found in meant.items() if not said.isdisjoint(found.forms)}
    rest = set(words) - said  # a year beside a name is no other name
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
