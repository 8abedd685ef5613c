"""Patterns of words, and quotas of each: a place gives a text, two places never the same.

Neighbouring places fall into different patterns by an affine bijection, and within a pattern into
different words by another one, so that nothing is stored per text and every seed gives others.
"""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from math import gcd, prod

from branchwise.worlds.word_lists import NAME, SLOT, word_lists

Renderer = Callable[[int], str]
_PARTS = (8192, 6710, 5497)  # of 10,000


class PatternSpread:
    """Patterns with quotas: the `count` places [0, count) rendered as different texts."""

    def __init__(self, patterns: Mapping[str, int], count: int, seed: str) -> None:
        capacities = [prod(_sizes(pattern)) for pattern in patterns]
        quotas = _quotas(count, list(patterns.values()), capacities)
        self.count = count
        self.stride = _stride(count, f"{seed} stride")
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
    """How many texts the patterns give together."""
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
    """From the places [start, start + capacity) to texts, one to one."""
    template = SLOT.sub(lambda found: NAME if found[0] == NAME else "%s", pattern)
    names, sizes = _slots(pattern), _sizes(pattern)
    words = [word_lists().lists[name] for name in names]
    capacity = prod(sizes)
    stride = _coprime(capacity, _digits_stride(sizes, f"{seed} stride"))
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
    """A number near 0.41 `count` and coprime to it: neighbours fall far apart."""
    return _coprime(count, count * 414 // 1000 - draw_below(seed, count // 64 + 1))


def _digits_stride(sizes: Sequence[int], seed: str) -> int:
    """The step from a text to the next, so that any run of texts has all words about as often.

    The parts of each slot's size are those of an additive recurrence that fills a cube evenly:
    powers of 1/x where x ** 4 = x + 1 (R3 in Roberts 2018).
    """
    stride = 0
    for i, size in enumerate(sizes):
        part = size * _PARTS[i % 3] // 10_000 - draw_below(f"{seed} {i}", size // 64 + 1)
        stride = stride * size + part
    return stride


def _coprime(count: int, least: int) -> int:
    while gcd(least, count) != 1:
        least += 1
    return least


def draw_below(seed: str, below: int) -> int:
    """A number in [0, below) that follows from the seed on every machine."""
    return int.from_bytes(blake2b(seed.encode(), digest_size=16).digest(), "big") % below
