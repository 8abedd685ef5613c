"""Names on demand: a number gives a name, two numbers never the same.

A kind's indices are spread over its patterns by an affine bijection, and within a pattern over its
words by another one: nothing is stored per name, and every seed gives other names.
"""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from math import gcd, prod

from branchwise.corpora.errors import InputError
from branchwise.corpora.worlds.word_lists import NAME, SLOT, KindPatterns, word_lists

Render = Callable[[int], str]
_ALIASES_PER_NAME = 16


class Names:
    """Distinct names of several kinds, made on demand from word lists.

    `counts`: how many names of each kind are needed. A name's number is `offsets[kind]` + index,
    with index in [0, counts[kind]); numbers outside are not checked. Names differ even without
    case, accents, punctuation and articles. Raises InputError for an unknown kind, and for more
    names than a kind has.
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
        kind = self._kinds[bisect_right(self._starts, number) - 1]
        place = (number * kind.stride + kind.shift) % kind.count
        return kind.renders[bisect_right(kind.bounds, place)](place)

    def adjective(self, number: int) -> str:
        """What is of the country: "Velmara" -> "Velmaran". The name where a kind has none."""
        name, endings = self.name(number), self._kind(number).endings
        return name + next((added for end, added in endings if name.endswith(end)), "")

    def is_female(self, number: int) -> bool:
        """Whether the given name is a woman's."""
        kind = self._kind(number)
        return kind.female[bisect_right(kind.bounds, kind.place(number))]

    def surname(self, number: int) -> str:
        """The last word of the name."""
        return self.name(number).rpartition(" ")[2]

    def alias(self, number: int, salt: int) -> str:
        """Another name of the bearer that fits the kind and is no name of any number.

        Salts from 0 up give different aliases, and no other number has them, until those of the
        kind are used up: at 4 (club) to over 1,000 (person) salts, or in the largest worlds at 3
        (work, band); then they come again.
        """
        return self._kind(number).alias(number, salt, self.name(number))


class _Spread:
    """Patterns with quotas: the `count` places [0, count) rendered as different texts."""

    def __init__(self, patterns: Mapping[str, int], count: int, seed: str) -> None:
        lists = word_lists().lists
        slots = [_slots(pattern) for pattern in patterns]
        sizes = [_sizes(names, lists) for names in slots]
        capacities = [prod(each) for each in sizes]
        quotas = _quotas(count, list(patterns.values()), capacities)
        self.count = count
        self.stride = _stride(count, f"{seed} stride")
        self.bounds: list[int] = []
        self.renders: list[Render] = []
        start = 0
        for pattern, names, quota in zip(patterns, slots, quotas, strict=True):
            words = [lists[name] for name in names]
            key = f"{seed} {pattern}"
            self.renders.append(_renderer(_template(pattern), words, start, key))
            start += quota
            self.bounds.append(start)

    def text(self, place: int) -> str:
        return self.renders[bisect_right(self.bounds, place)](place)


class _Kind(_Spread):
    """The names of one kind, and their aliases."""

    def __init__(self, kind: str, count: int, start: int, seed: int) -> None:
        declared = word_lists().kinds.get(kind)
        if declared is None:
            raise InputError(f"there are no names of the kind {kind!r}")
        capacity = _capacity(declared.patterns)
        if count > capacity:
            raise InputError(f"{count:,} names of the kind {kind!r} are more than its {capacity:,}")
        super().__init__(declared.patterns, count, f"{seed} {kind}")
        self.start = start
        self.shift = _draw(f"{seed} {kind} shift", count) - start * self.stride
        self.female = ["{female}" in pattern for pattern in declared.patterns]
        self.endings = sorted(declared.adjectives.items(), key=lambda e: -len(e[0]))
        self._aliases = _alias_spread(declared, count, f"{seed} {kind} alias")
        self._embeds = NAME in next(iter(declared.aliases))

    def place(self, number: int) -> int:
        return (number * self.stride + self.shift) % self.count

    def alias(self, number: int, salt: int, name: str) -> str:
        spread = self._aliases
        if self._embeds:
            return spread.text((number * spread.stride + salt) % spread.count).replace(NAME, name)
        index = number - self.start + salt * self.count
        return spread.text(index * spread.stride % spread.count)


def _alias_spread(declared: KindPatterns, count: int, seed: str) -> _Spread:
    """Aliases that embed the name need be different for one bearer only; others for all."""
    capacity = _capacity(declared.aliases)
    embeds = NAME in next(iter(declared.aliases))
    wanted = capacity if embeds else min(capacity, count * _ALIASES_PER_NAME)
    return _Spread(declared.aliases, wanted, seed)


def _slots(pattern: str) -> list[str]:
    return [article + name for article, name in SLOT.findall(pattern) if name != "name"]


def _template(pattern: str) -> str:
    return SLOT.sub(lambda found: NAME if found[0] == NAME else "%s", pattern)


def _sizes(names: Sequence[str], lists: Mapping[str, tuple[str, ...]]) -> list[int]:
    """How many words each slot may hold: a list's second slot never repeats the first's word."""
    return [len(lists[name]) - (name in names[:i]) for i, name in enumerate(names)]


def _capacity(patterns: Mapping[str, int]) -> int:
    lists = word_lists().lists
    return sum(prod(_sizes(_slots(pattern), lists)) for pattern in patterns)


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


def _renderer(template: str, words: list[tuple[str, ...]], start: int, seed: str) -> Render:
    """From the places [start, start + capacity) to texts, one to one."""
    sizes = [len(each) - any(each is other for other in words[:i]) for i, each in enumerate(words)]
    capacity = prod(sizes)
    stride = _coprime(capacity, _draw(f"{seed} stride", capacity))
    shift = _draw(f"{seed} shift", capacity) - start * stride
    if len(words) in _FAST and len(set(words)) == len(words):
        return _FAST[len(words)](template, words, stride, shift)

    def render(place: int) -> str:
        rest = (place * stride + shift) % capacity
        digits: list[int] = []
        for i, size in enumerate(sizes):
            rest, digit = divmod(rest, size)
            if size < len(words[i]):
                digit += digit >= digits[words.index(words[i])]
            digits.append(digit)
        return template % tuple([each[digit] for each, digit in zip(words, digits, strict=True)])

    return render


def _pair(template: str, words: list[tuple[str, ...]], stride: int, shift: int) -> Render:
    """The same for two different lists, which most names are made of: in half the time."""
    first, second = words
    size, capacity = len(second), len(first) * len(second)

    def render(place: int) -> str:
        high, low = divmod((place * stride + shift) % capacity, size)
        return template % (first[high], second[low])

    return render


def _triple(template: str, words: list[tuple[str, ...]], stride: int, shift: int) -> Render:
    """The same for three."""
    first, second, third = words
    middle, size = len(second), len(third)
    capacity = len(first) * middle * size

    def render(place: int) -> str:
        rest, low = divmod((place * stride + shift) % capacity, size)
        return template % (first[rest // middle], second[rest % middle], third[low])

    return render


_FAST = {2: _pair, 3: _triple}


def _stride(count: int, seed: str) -> int:
    """A number near the golden section of `count` and coprime to it: neighbours fall far apart."""
    return _coprime(count, count * 618 // 1000 - _draw(seed, count // 16 + 1))


def _coprime(count: int, least: int) -> int:
    while gcd(least, count) != 1:
        least += 1
    return least


def _draw(seed: str, below: int) -> int:
    """A number in [0, below) that follows from the seed on every machine."""
    return int.from_bytes(blake2b(seed.encode(), digest_size=16).digest(), "big") % below
