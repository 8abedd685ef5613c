"""How long the text is that two texts share: in one piece, or with gaps."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Literal

from branchwise.base.normalise import MAX_CHARACTERS

CommonText = Literal["substring", "subsequence"]
"""A shared piece / shared characters in the same order, whatever stands between them."""


def longest_substring(one: str, other: str) -> int:
    """Characters of the longest text that is in both, in one piece."""
    start = 0
    # A window over `one`, as long as the longest so far: each step makes it longer or moves it.
    for end in range(1, len(one) + 1):
        if one[start:end] not in other:
            start += 1
    return len(one) - start


def longest_subsequence(one: str, other: str) -> int:
    """Characters of the longest text that both become by leaving characters out.

    Bit-parallel (Hyyrö 2004): a zero bit of `ends` is a character of `one` that ends a longer one.
    """
    ends = everything = (1 << len(one)) - 1
    # Bits above are carries, which nothing below depends on.
    for at in filter(None, map(_places(one).get, other)):
        met = ends & at
        ends = ends + met | ends - met
    return len(one) - (ends & everything).bit_count()


@lru_cache(maxsize=16)
def _places(text: str) -> Mapping[str, int]:
    """By character, a bit for each place; a text is compared with many others in a row."""
    places: dict[str, int] = {}
    for place, character in enumerate(text):
        places[character] = places.get(character, 0) | 1 << place
    return places


_LENGTHS: Mapping[CommonText, Callable[[str, str], int]] = MappingProxyType(
    {"substring": longest_substring, "subsequence": longest_subsequence}
)


def compared(text: str) -> str:
    """As much of a text as is compared: it comes from outside."""
    return text[:MAX_CHARACTERS]


def common_length(one: str, other: str, common: CommonText = "substring") -> int:
    """Characters that two texts share; of each, no more than `compared` counts."""
    return _LENGTHS[common](compared(one), compared(other))
