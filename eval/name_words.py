"""What sets the branch names of a question apart: the words that not all of its gold names share.

Words that mean the same have one form: "Who was the fourth chairman?" and "the 4th chairman" have
the same words that tell anything. A name may also say what kind of thing it means: a work, or a
person of some occupation.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from branchwise.base.normalise import MAX_CHARACTERS, normalise, tokens
from branchwise.eval import word_lists as lists

_ORDINAL = re.compile(r"0*(\d+)(?:st|nd|rd|th)")
_RANGE_OF_YEARS = re.compile(r"\b(1\d|20)(\d\d[-–/])(\d\d)(?![\d-])")
_DEMONSTRATIVE = re.compile(r"\b(?:the|this|that)\b", re.IGNORECASE)
_FORMS = {
    **{
        w: str(n)
        for table in (lists.NUMBER_WORDS, lists.TENS, lists.ROMAN_NUMERALS)
        for w, n in table.items()
    },
    **lists.SAME_WORDS,
}
_YEAR = re.compile(r"1\d{3}|20\d{2}")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")

Weights = Mapping[str, float]
"""ln(n / df) of each word of the gold names. A word of none of them weighs nothing."""


class BranchWords(NamedTuple):
    """A name's key (`normalise`), and its words in order: `content` without function words, and
    `all`. `has_roman`: whether a word is a Roman numeral of several letters."""

    key: str
    content: tuple[str, ...]
    all: tuple[str, ...]
    has_roman: bool


@lru_cache(maxsize=16_384)
def name_words(text: str, *, articles: bool = False) -> BranchWords:
    """The words of a name: numbers ("fourth", "4th", "IV", "twenty-first") as figures, both years
    of a range "1971-75", and one form of a closed class for all. "one" after "the" ("the 1994 one")
    is not a number."""
    years = _RANGE_OF_YEARS.sub(r"\1\2\1\3", text)
    plain = tokens(years, articles=articles)
    if plain and plain[-1] == "one" and _DEMONSTRATIVE.search(text):
        plain.pop()
    words = _joined(plain)
    content = tuple(word for word in words if word not in lists.FUNCTION_WORDS_OF_KEYS)
    has_roman = not lists.ROMAN_NUMERALS.keys().isdisjoint(plain)
    return BranchWords(normalise(text, articles=articles), content, tuple(words), has_roman)


def _joined(plain: list[str]) -> list[str]:
    """The words in one form, two that are one joined."""
    words: list[str] = []
    last = ""
    for word in plain:
        if pair := lists.PAIRS.get((last, word)):
            words[-1] = pair
        elif last in lists.TENS and (unit := lists.NUMBER_WORDS.get(word, 10)) < 10:
            words[-1] = str(lists.TENS[last] + unit)
        else:
            if last == "from" and word[0].isdecimal():
                words[-1] = lists.SINCE
            ordinal = _ORDINAL.fullmatch(word)
            words.append(ordinal[1] if ordinal else _FORMS.get(word, word))
        last = word
    return words


def singular(word: str) -> str:
    """An English plural without its ending (the S stemmer of Harman 1991), other words as is.

    >>> [singular(word) for word in ("finals", "ceremonies", "glass", "1950s")]
    ['final', 'ceremony', 'glass', '1950s']
    """
    if len(word) < 4 or word[-1] != "s" or word[-2] in "us" or word[-2].isdecimal():
        return word
    if word.endswith("ies"):
        return word if word.endswith(("eies", "aies")) else word[:-3] + "y"
    return word if word.endswith(("aes", "ees", "oes")) else word[:-1]


_NO_KINDS = frozenset(["play", "season"])
"""Words of `WORK_KINDS` that questions use otherwise: as a verb, of a year."""


class Kinds(NamedTuple):
    """Numbers of the groups in `WORK_KINDS` and in `OCCUPATIONS` that a name has words of."""

    works: frozenset[int]
    occupations: frozenset[int]

    def contradict(self, other: "Kinds") -> bool:
        """Whether both say what kind of thing they mean, and it cannot be the same. Works are
        compared only if neither names a person: a "film director" is no film."""
        if self.occupations and other.occupations:
            return self.occupations.isdisjoint(other.occupations)
        if self.occupations or other.occupations:
            return False
        return bool(self.works and other.works and self.works.isdisjoint(other.works))


def _groups(sets: Sequence[AbstractSet[str]]) -> dict[str, frozenset[int]]:
    """Singular word to the numbers of the groups that have it."""
    groups: dict[str, frozenset[int]] = {}
    for number, group in enumerate(sets):
        for word in {singular(word) for word in group} - _NO_KINDS:
            groups[word] = groups.get(word, frozenset()) | {number}
    return groups


_WORKS, _OCCUPATIONS = _groups(lists.WORK_KINDS), _groups(lists.OCCUPATIONS)
_NONE: frozenset[int] = frozenset()


@dataclass(frozen=True)
class TellingName:
    """`words`: all of it that not every gold name has, the second of a kind marked. Words of no
    gold name weigh nothing, but may contradict. `shared`: its words that every gold name has."""

    text: str
    key: str
    words: frozenset[str]
    shared: frozenset[str]

    @cached_property
    def years(self) -> frozenset[str]:
        return frozenset(word for word in self._plain if _YEAR.fullmatch(word))

    @cached_property
    def numbers(self) -> frozenset[str]:
        """Figures other than years."""
        return frozenset(word for word in self._plain if _NUMBER.fullmatch(word)) - self.years

    @cached_property
    def countries(self) -> frozenset[str]:
        return lists.COUNTRIES.intersection(self._plain)

    @cached_property
    def kinds(self) -> Kinds:
        """Of the whole name: where all gold names are films, a novel is none of them."""
        words = self._plain | self.shared
        works = _NONE.union(*(_WORKS.get(word, _NONE) for word in words))
        return Kinds(works, _NONE.union(*(_OCCUPATIONS.get(word, _NONE) for word in words)))

    @cached_property
    def _plain(self) -> frozenset[str]:
        return frozenset(word.partition(" ")[0] for word in self.words)


@dataclass(frozen=True)
class TellingNames:
    """The names of a question: `gold` and `predicted` in the order in which they were given."""

    gold: Sequence[TellingName]
    predicted: Sequence[TellingName]
    weights: Weights

    def weight(self, words: AbstractSet[str]) -> float:
        """Exactly rounded: the order of a set must not decide between two equal weights."""
        return math.fsum(self.weights.get(word, 0.0) for word in words)


def telling_names(gold: Sequence[str], predicted: Sequence[str]) -> TellingNames:
    """Read the names of a question. What is left out or folded stays where gold names differ in
    nothing else: articles ("Heat", "The Heat"), function words ("When did it start?", "Why did it
    start?"), plurals ("Alien", "Aliens")."""
    gold, predicted = ([name[:MAX_CHARACTERS] for name in names] for names in (gold, predicted))
    articles = len({normalise(name) for name in gold}) < len(gold)
    columns = [name_words(name, articles=articles) for name in gold]
    rows = [name_words(name, articles=articles) for name in predicted]
    # Where names without function words are fewer, or one has nothing left.
    contents = {tuple(sorted(name.content)) for name in columns}
    fewer = () in contents or len(contents) < len({tuple(sorted(name.all)) for name in columns})
    whole = articles or fewer
    forms = _forms(columns, whole)
    frequency = Counter(word for name in columns for word in _bag(forms, name, whole))
    weights = {word: math.log(len(gold) / n) for word, n in frequency.items()}
    shared = frozenset(word for word, n in frequency.items() if n == len(gold))

    def telling(text: str, name: BranchWords) -> TellingName:
        bag = _bag(forms, name, whole)
        return TellingName(text, name.key, bag - shared, bag & shared)

    return TellingNames(
        list(map(telling, gold, columns)), list(map(telling, predicted, rows)), weights
    )


def _forms(gold: Sequence[BranchWords], whole: bool) -> Mapping[str, str]:
    """Words that are not in the form that `singular` would give them."""
    forms: dict[str, str] = {}
    kept: dict[str, str] = {}
    for word in {word for name in gold for word in (name.all if whole else name.content)}:
        other = forms.setdefault(singular(word), word)
        if other != word:
            kept |= {word: word, other: other}
    if any(name.has_roman for name in gold):
        kept |= {letter: str(n) for letter, n in lists.ROMAN_LETTERS.items()}
    return kept


def _bag(forms: Mapping[str, str], name: BranchWords, whole: bool) -> frozenset[str]:
    """A word that comes again is another one: "1984 (1984 film)" has a year, "1984 (play)" none."""
    seen: Counter[str] = Counter()
    bag = []
    for word in name.all if whole else name.content:
        form = forms.get(word) or singular(word)
        seen[form] += 1
        bag.append(form if seen[form] == 1 else f"{form} {seen[form]}")
    return frozenset(bag)
