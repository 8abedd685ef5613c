"""Names on demand: a number gives a name, two numbers never the same, nothing is stored.

`words/*.yaml` declare what names are made of. A file holds `lists` (words as they stand, parted by
blanks), `composed` words (every head with every tail) and `kinds` of names: the patterns of their
names and of their aliases, with weights. In a pattern, `{noun}` stands for a word of that list,
`{a noun}` for one with its article, and in an alias `{name}` for the name itself; it stands in all
of a kind's alias patterns or in none.

A composed word that is already another word is left out, and of any two patterns with equally many
words one position's words differ. Neighbouring numbers fall into different patterns, and within a
pattern into different words, by affine bijections that differ from seed to seed.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b
from itertools import chain
from math import gcd, prod
from pathlib import Path
from typing import Any

import yaml

from branchwise.base.errors import InputError

_FOLDER = Path(__file__).parent / "words"
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
SLOT = re.compile(r"\{(a )?(\w+)\}")
NAME = "{name}"


@dataclass(frozen=True)
class KindPatterns:
    """How names of a kind look: pattern -> weight, and for countries ending -> what is added."""

    patterns: Mapping[str, int]
    aliases: Mapping[str, int]
    adjectives: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class WordLists:
    lists: Mapping[str, tuple[str, ...]]
    kinds: Mapping[str, KindPatterns]


@cache
def word_lists() -> WordLists:
    """All that `words/*.yaml` declare, read once."""
    files = [yaml.load(p.read_bytes(), _LOADER) for p in sorted(_FOLDER.glob("*.yaml"))]  # noqa: S506
    lists = {
        name: tuple(words.split()) for f in files for name, words in f.get("lists", {}).items()
    }
    lists |= _composed([f.get("composed", {}) for f in files], lists)
    # No list has a word whose first letter misleads about its article (tested).
    lists |= {
        f"a {name}": tuple(f"An {w}" if w[0] in "AEIOU" else f"A {w}" for w in words)
        for name, words in lists.items()
    }
    declared = [f.get("kinds", {}) for f in files]
    kinds = {name: KindPatterns(**kind) for each in declared for name, kind in each.items()}
    return WordLists(lists, kinds)


def _composed(
    declared: list[Mapping[str, Any]], lists: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    """Composed lists as declared, each word the first of its key; none with a doubled seam."""
    taken = {fold(word) for words in lists.values() for word in words}
    composed: dict[str, tuple[str, ...]] = {}
    for name, groups in chain.from_iterable(each.items() for each in declared):
        words: dict[str, str] = {}
        for group in groups:
            tails = group["tails"].split()
            for head in group["heads"].split():
                for tail in tails:
                    if tail[0] != head[-1].lower():
                        words.setdefault(fold(head + tail), head + tail)
        composed[name] = tuple(word for key, word in words.items() if key not in taken)
        taken |= words.keys()
    return composed


def fold(word: str) -> str:
    """The word without case, accents and punctuation: what must differ between two words."""
    if word.isascii() and word.isalpha():
        return word.lower()
    plain = unicodedata.normalize("NFKD", word.casefold())
    return "".join(letter for letter in plain if letter.isalnum())


Renderer = Callable[[int], str]
_PARTS = (8192, 6710, 5497)  # of 10,000


class PatternSpread:
    """Patterns with quotas: the `count` places [0, count) rendered as different texts."""

    def __init__(self, patterns: Mapping[str, int], count: int, seed: str) -> None:
        capacities = [prod(_sizes(pattern)) for pattern in patterns]
        quotas = _quotas(count, list(patterns.values()), capacities)
        self.count = count
        # Near 0.41 of the count and coprime to it: neighbours fall far apart.
        apart = draw_below(f"{seed} stride", count // 64 + 1)
        self.stride = _coprime(count, count * 414 // 1000 - apart)
        self.bounds: list[int] = []
        self.renders: list[Renderer] = []
        start = 0
        for pattern, quota in zip(patterns, quotas, strict=True):
            self.renders.append(_renderer(pattern, start, f"{seed} {pattern}"))
            start += quota
            self.bounds.append(start)

    def text(self, place: int) -> str:
        """The text of this place; an alias that embeds the name has `{name}` in it."""
        return self.renders[bisect_right(self.bounds, place)](place)


def pattern_capacity(patterns: Mapping[str, int]) -> int:
    return sum(prod(_sizes(pattern)) for pattern in patterns)


def _slots(pattern: str) -> list[str]:
    return [article + name for article, name in SLOT.findall(pattern) if name != "name"]


def _sizes(pattern: str) -> list[int]:
    """How many words each slot may hold: a list's second slot never repeats the first's word."""
    names, lists = _slots(pattern), word_lists().lists
    return [len(lists[name]) - (name in names[:i]) for i, name in enumerate(names)]


def _quotas(count: int, weights: Sequence[int], capacities: Sequence[int]) -> list[int]:
    """Parts of `count` in proportion to the weights; what exceeds a capacity goes to the others."""
    quotas = [0] * len(weights)
    open_ = list(range(len(weights)))
    rest = count
    while rest:
        total = sum(weights[i] for i in open_)
        full = [i for i in open_ if rest * weights[i] // total >= capacities[i]]
        if not full:
            break
        for i in full:
            quotas[i] = capacities[i]
            rest -= capacities[i]
        open_ = [i for i in open_ if i not in full]
    done = passed = 0
    for i in open_:
        passed += weights[i]
        quotas[i] = rest * passed // sum(weights[j] for j in open_) - done
        done += quotas[i]
    return quotas


def _renderer(pattern: str, start: int, seed: str) -> Renderer:
    """From the places [start, start + capacity) to texts, one to one. Steps from a text to the next
    are those of an additive recurrence that fills a cube evenly (powers of 1/x where x ** 4 = x
    + 1, R3 in Roberts 2018): any run of texts uses all words about as often."""
    template = SLOT.sub(lambda slot: NAME if slot[0] == NAME else "%s", pattern)
    names, sizes = _slots(pattern), _sizes(pattern)
    words = [word_lists().lists[name] for name in names]
    capacity = prod(sizes)
    stride = 0
    for i, size in enumerate(sizes):
        part = size * _PARTS[i % 3] // 10_000 - draw_below(f"{seed} stride {i}", size // 64 + 1)
        stride = stride * size + part
    stride = _coprime(capacity, stride)
    shift = draw_below(f"{seed} shift", capacity) - start * stride
    if len(words) in _FAST and len(set(names)) == len(names):
        return _FAST[len(words)](template, words, stride, shift)
    first = [names.index(name) for name in names]

    def render(place: int) -> str:
        rest = (place * stride + shift) % capacity
        digits: list[int] = []
        for i, size in enumerate(sizes):
            rest, digit = divmod(rest, size)
            if first[i] < i:
                digit += digit >= digits[first[i]]
            digits.append(digit)
        return template % tuple([each[digit] for each, digit in zip(words, digits, strict=True)])

    return render


def _pair(template: str, words: list[tuple[str, ...]], stride: int, shift: int) -> Renderer:
    """The same for two different lists, which most names are made of: in half the time."""
    first, second = words
    size, capacity = len(second), len(first) * len(second)

    def render(place: int) -> str:
        high, low = divmod((place * stride + shift) % capacity, size)
        return template % (first[high], second[low])

    return render


def _triple(template: str, words: list[tuple[str, ...]], stride: int, shift: int) -> Renderer:
    first, second, third = words
    middle, size = len(second), len(third)
    capacity = len(first) * middle * size

    def render(place: int) -> str:
        rest, low = divmod((place * stride + shift) % capacity, size)
        return template % (first[rest // middle], second[rest % middle], third[low])

    return render


_FAST = {2: _pair, 3: _triple}


def _coprime(count: int, least: int) -> int:
    while gcd(least, count) != 1:
        least += 1
    return least


def draw_below(seed: str, below: int) -> int:
    """A number in [0, below) that follows from the seed on every machine."""
    return int.from_bytes(blake2b(seed.encode(), digest_size=16).digest(), "big") % below


_ALIASES_PER_NAME = 16
UNIVERSAL = "universal"
"""The kind of names that entities of every other kind may bear."""


class NameMaker:
    """Distinct names of several kinds, made on demand from word lists.

    `counts`: how many names of each kind are needed. A name's number is `offsets[kind]` + index,
    with an unchecked index in [0, counts[kind]). Names differ even without case, accents,
    punctuation and articles. Raises InputError for an unknown kind, and too many names of one.
    """

    def __init__(self, counts: Mapping[str, int], seed: int) -> None:
        self.offsets: dict[str, int] = {}
        self._kinds: list[_Kind] = []
        start = 0
        for kind, count in counts.items():
            self.offsets[kind] = start
            if count:
                self._kinds.append(_Kind(kind, count, start, seed))
            start += count
        self._starts = [kind.start for kind in self._kinds]

    def _kind(self, number: int) -> "_Kind":
        return self._kinds[bisect_right(self._starts, number) - 1]

    def name(self, number: int) -> str:
        """The name of this number."""
        # Without calls between: a world asks for millions.
        kind = self._kinds[bisect_right(self._starts, number) - 1]
        place = (number * kind.stride + kind.shift) % kind.count
        return kind.renders[bisect_right(kind.bounds, place)](place)

    def adjective(self, number: int) -> str:
        """A country's adjective, "Velmaran" of "Velmara"; the name itself if its kind has none."""
        name, endings = self.name(number), self._kind(number).endings
        return name + next((added for end, added in endings if name.endswith(end)), "")

    def is_female(self, number: int) -> bool:
        """Whether the given name is a woman's."""
        kind = self._kind(number)
        return kind.female[bisect_right(kind.bounds, kind.place(number))]

    def is_universal(self, number: int) -> bool:
        """Whether all kinds may bear it: it says nothing about its bearer."""
        return number >= self.offsets.get(UNIVERSAL, number + 1)

    def surname(self, number: int) -> str:
        """The last word; of a name that all kinds may bear the whole."""
        name = self.name(number)
        return name if self.is_universal(number) else name.rpartition(" ")[2]

    def alias(self, number: int, salt: int) -> str:
        """Another name of the bearer that fits the kind and is not the name of any number.

        Two numbers share no alias. Bearers of one number should take salts 0, 1, ...: at least 14
        differ where entities may share names (city, person, work, firm), at least 3 elsewhere.
        """
        return self._kind(number).alias(number, salt, self.name(number))


class _Kind(PatternSpread):
    def __init__(self, kind: str, count: int, start: int, seed: int) -> None:
        declared = word_lists().kinds.get(kind)
        if declared is None:
            raise InputError(f"there are no names of the kind {kind!r}")
        capacity = pattern_capacity(declared.patterns)
        if count > capacity:
            problem = f"{count:,} names of the kind {kind!r} are more than its {capacity:,}"
            raise InputError(problem, remedy="ask for fewer entities, or for more domains")
        super().__init__(declared.patterns, count, f"{seed} {kind}")
        self.start = start
        self.shift = draw_below(f"{seed} {kind} shift", count) - start * self.stride
        self.female = ["{female}" in pattern for pattern in declared.patterns]
        self.endings = sorted(declared.adjectives.items(), key=lambda e: -len(e[0]))
        # Aliases that embed the name need differ for one bearer only. Of others there are a
        # multiple of `count`, so that whatever the salt, no two bearers share one.
        self._embeds = NAME in next(iter(declared.aliases))
        capacity = pattern_capacity(declared.aliases)
        per_name = min(_ALIASES_PER_NAME, capacity // count)
        wanted = capacity if self._embeds else count * per_name
        self._aliases = PatternSpread(declared.aliases, wanted, f"{seed} {kind} alias")
        self._per_name = wanted // count or 1

    def place(self, number: int) -> int:
        return (number * self.stride + self.shift) % self.count

    def alias(self, number: int, salt: int, name: str) -> str:
        spread = self._aliases
        if self._embeds:
            return spread.text((number * spread.stride + salt) % spread.count).replace(NAME, name)
        index = number - self.start + salt % self._per_name * self.count
        return spread.text(index * spread.stride % spread.count)
