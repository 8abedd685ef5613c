"""What sets the names of a question apart: the words that not all of its gold names share."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property

from branchwise.base.normalise import MAX_CHARACTERS, normalise
from branchwise.eval.branch_names.closed_classes import COUNTRIES, ROMAN_LETTERS
from branchwise.eval.branch_names.kinds import Kinds, kinds_of
from branchwise.eval.branch_names.words import BranchWords, name_words, singular
from branchwise.eval.qualifiers import ComparedName, read_name

_YEAR = re.compile(r"1\d{3}|20\d{2}")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")

Weights = Mapping[str, float]
"""ln(n / df) of each word of the gold names. A word of none of them weighs nothing."""


@dataclass(frozen=True)
class TellingName:
    """A name of a question.

    `words`: all of it that not every gold name has, the second of a kind marked. Words of no gold
    name stay: they weigh nothing, but may contradict. `shared`: its words that every gold name has.
    """

    text: str
    key: str
    words: frozenset[str]
    shared: frozenset[str]

    @cached_property
    def compared(self) -> ComparedName:
        """As names of answers are compared."""
        return read_name(self.text)

    @cached_property
    def years(self) -> frozenset[str]:
        return frozenset(word for word in self._plain if _YEAR.fullmatch(word))

    @cached_property
    def numbers(self) -> frozenset[str]:
        """Figures that are no years."""
        return frozenset(word for word in self._plain if _NUMBER.fullmatch(word)) - self.years

    @cached_property
    def countries(self) -> frozenset[str]:
        return COUNTRIES.intersection(self._plain)

    @cached_property
    def kinds(self) -> Kinds:
        """Of the whole name: where all gold names are films, a novel is none of them."""
        return kinds_of(self._plain | self.shared)

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
    """Read the names of a question.

    What is left out or folded stays where gold names differ in nothing else: articles ("Heat",
    "The Heat"), function words ("When did it start?", "Why did it start?"), plurals ("Alien",
    "Aliens").
    """
    gold, predicted = _bounded(gold), _bounded(predicted)
    articles = len({normalise(name) for name in gold}) < len(gold)
    columns = [name_words(name, articles=articles) for name in gold]
    rows = [name_words(name, articles=articles) for name in predicted]
    whole = articles or _are_told_by_function_words(columns)
    forms = _forms(columns, whole)
    bags = [_bag(forms, name, whole) for name in columns]
    frequency = Counter(word for bag in bags for word in bag)
    weights = {word: math.log(len(gold) / n) for word, n in frequency.items()}
    shared = frozenset(word for word, n in frequency.items() if n == len(gold))

    def told(text: str, name: BranchWords, bag: frozenset[str]) -> TellingName:
        return TellingName(text, name.key, bag - shared, bag & shared)

    return TellingNames(
        [told(*parts) for parts in zip(gold, columns, bags, strict=True)],
        [
            told(text, name, _bag(forms, name, whole))
            for text, name in zip(predicted, rows, strict=True)
        ],
        weights,
    )


def _bounded(names: Sequence[str]) -> list[str]:
    return [name[:MAX_CHARACTERS] for name in names]


def _are_told_by_function_words(gold: Sequence[BranchWords]) -> bool:
    """Whether names without function words are fewer, or one has nothing left."""
    if not all(name.content for name in gold):
        return True
    contents = {tuple(sorted(name.content)) for name in gold}
    return len(contents) < len({tuple(sorted(name.all)) for name in gold})


def _forms(gold: Sequence[BranchWords], whole: bool) -> Mapping[str, str]:
    """Words that are not in the form that `singular` would give them."""
    forms: dict[str, str] = {}
    kept: dict[str, str] = {}
    for word in {word for name in gold for word in (name.all if whole else name.content)}:
        other = forms.setdefault(singular(word), word)
        if other != word:
            kept |= {word: word, other: other}
    if any(name.has_roman for name in gold):
        kept |= {letter: str(n) for letter, n in ROMAN_LETTERS.items()}
    return kept


def _bag(forms: Mapping[str, str], name: BranchWords, whole: bool) -> frozenset[str]:
    """A word that comes again is another one: "1984 (1984 film)" has a year, "1984 (play)" none."""
    words = [forms.get(w) or singular(w) for w in (name.all if whole else name.content)]
    bag = frozenset(words)
    return bag if len(bag) == len(words) else frozenset(_numbered(words))


def _numbered(words: Iterable[str]) -> Iterator[str]:
    seen: Counter[str] = Counter()
    for word in words:
        seen[word] += 1
        yield word if seen[word] == 1 else f"{word} {seen[word]}"
