"""Which properties a phrase may mean: "starred in", "who directed", "birthPlace"."""

from collections.abc import Iterable, Sequence

from branchwise.corpora.graph.names.name_keys import MAX_CHARACTERS, fold, telling
from branchwise.corpora.graph.names.words import Meant, Name, NameWords, covers, phrase
from branchwise.corpora.graph.vocabulary import split_words

_LOOKED_AT = 300
_STEM_PREFIX = 5  # letters of a stem after which another word may begin with it: direct, director
_LEAST_SCORE = 0.3
_RESPELT = 0.5  # of a word that is only written much like it: King is hardly kind


def meant_properties(names: NameWords, text: str, limit: int) -> list[Meant]:
    """At most `limit` names of properties, likeliest first.

    Words are compared by their stems. The score is the Dice coefficient of text and name, with a
    word that begins with the other's stem counted nine tenths, and a misspelt one half.
    """
    whole = fold(split_words(text[:MAX_CHARACTERS]))
    same = names.same(whole)
    found = dict.fromkeys(same)
    words = telling(whole.words)
    known = names.names_with(words)
    groups = [[word] if word in known else _spelt(names, word) for word in words]
    found |= dict.fromkeys(_nearest(names, groups))
    sure = {name for name in found if name in same or covers(name, words)}
    ordered = sorted(found, key=lambda name: name not in sure)
    return [Meant(name, near=name not in sure) for name in ordered][:limit]


def _spelt(names: NameWords, word: str) -> list[str]:
    """A word that no name has, and words that are written much like it."""
    return [word, *(spelling.word for spelling in names.spellings(word))]


def _nearest(names: NameWords, groups: Sequence[Sequence[str]]) -> list[Name]:
    """Names with one of the words of at least one group, best first."""
    stems = [_stems(group) for group in groups]
    terms = {phrase([word]) for group in groups for word in group}
    terms |= {f"{phrase([stem])} *" for group in stems for stem in group if len(stem) > 2}
    if not terms:
        return []
    found = names.matching(f"name : ({' OR '.join(sorted(terms))})", _LOOKED_AT)
    scores = {name: _score(stems, _stems(telling(name.words))) for name in found}
    near = [name for name in found if scores[name] >= _LEAST_SCORE]
    return sorted(near, key=lambda name: (-scores[name], name.number))


def _score(groups: Sequence[Sequence[str]], words: Sequence[str]) -> float:
    shared = sum(
        max(
            (
                _alike(stem, word) * (_RESPELT if place else 1)
                for place, stem in enumerate(group)
                for word in words
            ),
            default=0.0,
        )
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
