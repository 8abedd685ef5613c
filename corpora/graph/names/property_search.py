"""Which properties a phrase may mean: "starred in", "who directed", "birthPlace"."""

from collections.abc import Iterable, Sequence

from branchwise.corpora.graph.names.folding import MAX_CHARACTERS, fold
from branchwise.corpora.graph.names.words import Name, NameWords, phrase
from branchwise.corpora.graph.vocabulary import split_words

_STOP_LIST = """
a an the of in on at by for to from with and or is are was were be been has have had did do does
who whom whose which what where when how that this it its he she they
"""
_STOPS = frozenset(_STOP_LIST.split())
_LOOKED_AT = 300
_STEM_PREFIX = 5  # letters of a stem after which another word may begin with it: direct, director
_LEAST_SCORE = 0.3


def meant_properties(names: NameWords, text: str, limit: int) -> list[Name]:
    """At most `limit` names of properties, likeliest first.

    Words are compared by their stems. The score is the Dice coefficient of text and name, with a
    word that begins with the other's stem counted nine tenths.
    """
    whole = fold(split_words(text[:MAX_CHARACTERS]))
    found = dict.fromkeys(names.same(whole))
    words = _telling(whole.words)
    known = names.names_with(words)
    groups = [[word] if word in known else _spelt(names, word) for word in words]
    found |= dict.fromkeys(_nearest(names, groups))
    return list(found)[:limit]


def _spelt(names: NameWords, word: str) -> list[str]:
    """A word that no name has, and words that are written much like it."""
    return [word, *(spelling.word for spelling in names.spellings(word))]


def _telling(words: Iterable[str]) -> list[str]:
    """The words that say something, or all where none does."""
    words = list(words)
    return [word for word in words if word not in _STOPS] or words


def _nearest(names: NameWords, groups: Sequence[Sequence[str]]) -> list[Name]:
    """Names with one of the words of at least one group, best first."""
    stems = [_stems(group) for group in groups]
    terms = {phrase([word]) for group in groups for word in group}
    terms |= {f"{phrase([stem])} *" for group in stems for stem in group if len(stem) > 2}
    if not terms:
        return []
    found = names.matching(f"name : ({' OR '.join(sorted(terms))})", _LOOKED_AT)
    scores = {name: _score(stems, _stems(_telling(name.words))) for name in found}
    near = [name for name in found if scores[name] >= _LEAST_SCORE]
    return sorted(near, key=lambda name: (-scores[name], name.number))


def _score(groups: Sequence[Sequence[str]], words: Sequence[str]) -> float:
    shared = sum(
        max((_alike(stem, word) for stem in group for word in words), default=0.0)
        for group in groups
    )
    return 2 * shared / (len(groups) + len(words))


def _alike(left: str, right: str) -> float:
    if left == right:
        return 1.0
    short, long = sorted((left, right), key=len)
    return 0.9 if len(short) >= _STEM_PREFIX and long.startswith(short) else 0.0


def _stems(words: Iterable[str]) -> list[str]:
    """Stems by Snowball's English stemmer, one object a call: they are not safe between threads."""
    import Stemmer

    return list(Stemmer.Stemmer("english").stemWords(list(words)))
