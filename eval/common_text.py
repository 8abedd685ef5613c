"""How long the text is that two texts share: in one piece, or with gaps."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal

from branchwise.corpora.normalise import MAX_CHARACTERS

CommonText = Literal["substring", "subsequence"]
"""A shared piece / shared characters in the same order, whatever stands between them."""


def longest_substring(one: str, other: str) -> int:
    """Characters of the longest text that is in both, in one piece."""
    best = 0
    for start in range(len(one)):
        while start + best < len(one) and one[start : start + best + 1] in other:
            best += 1
    return best


def longest_subsequence(one: str, other: str) -> int:
    """Characters of the longest text that both become by leaving characters out.

    Bit-parallel (Hyyrö 2004): a zero bit of `ends` is a character of `one` that ends a longer one.
    """
    places: dict[str, int] = {}
    for place, character in enumerate(one):
        places[character] = places.get(character, 0) | 1 << place
    everything = (1 << len(one)) - 1
    ends = everything
    for character in other:
        met = ends & places.get(character, 0)
        ends = (ends + met | ends - met) & everything
    return len(one) - ends.bit_count()


_LENGTHS: Mapping[CommonText, Callable[[str, str], int]] = MappingProxyType(
    {"substring": longest_substring, "subsequence": longest_subsequence}
)


def compared(text: str) -> str:
    """As much of a text as is compared: it comes from outside."""
    return text[:MAX_CHARACTERS]


def common_length(one: str, other: str, common: CommonText = "substring") -> int:
    """Characters that two texts share; of each, no more than `compared` counts."""
    return _LENGTHS[common](compared(one), compared(other))
