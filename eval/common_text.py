"""What two texts share: words (token F1), or characters in one piece or with gaps."""

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache

from branchwise.base.normalise import MAX_CHARACTERS, tokens


def token_counts(text: str) -> Counter[str]:
    return Counter(tokens(text))


def counts_f1(predicted: Counter[str], gold: Counter[str]) -> float:
    """Harmonic mean of token precision and recall over multisets, 0 to 1.

    F1 = 2 |P and G| / (|P| + |G|), as SQuAD's (Rajpurkar et al. 2016, section 6.1), with P, G the
    tokens of `base.normalise`, not SQuAD's: hyphens separate words, quantities have one form, and
    scripts without spaces are split into characters. 0 where either text has no token.
    """
    if not predicted or not gold:
        return 0.0
    return 2 * (predicted & gold).total() / (predicted.total() + gold.total())


def longest_substring(text: str, other: str) -> int:
    """Characters of the longest text that is in both, in one piece."""
    start = 0
    # A window over `text`, as long as the longest so far: each step makes it longer or moves it.
    for end in range(1, len(text) + 1):
        if text[start:end] not in other:
            start += 1
    return len(text) - start


def longest_subsequence(text: str, other: str) -> int:
    """Characters of the longest text that both become by leaving characters out. Bit-parallel
    (Hyyrö 2004): a zero bit of `ends` is a character of `text` that ends a longer one."""
    ends = everything = (1 << len(text)) - 1
    # Bits above are carries, which nothing below depends on.
    for at in filter(None, map(_places(text).get, other)):
        met = ends & at
        ends = ends + met | ends - met
    return len(text) - (ends & everything).bit_count()


@lru_cache(maxsize=16)
def _places(text: str) -> Mapping[str, int]:
    """By character, a bit for each place; a text is compared with many others in a row."""
    places: dict[str, int] = {}
    for place, character in enumerate(text):
        places[character] = places.get(character, 0) | 1 << place
    return places


def compared(text: str) -> str:
    """As much of a text as is compared: it comes from outside."""
    return text[:MAX_CHARACTERS]
