"""Misspelt words, by symmetric deletion (W. Garbe, SymSpell, 2012).

Two words within two edits of each other have a word in common that both become by deleting at
most two of their first seven letters. So a misspelt word is found by looking up its deletions,
without comparing it to every word there is.
"""

from itertools import combinations
from zlib import crc32

_PREFIX = 7
_LONG = 8  # letters of a word of which two edits are forgiven: harbor is not horror
_SHORT = 5  # letters of a word that begins as it is misspelt: Kong is not song


def edits_forgiven(word: str) -> int:
    """How many edits a word may be off: numbers and words of two letters, none."""
    if len(word) < 3 or not word.isalpha():
        return 0
    return 2 if len(word) >= _LONG else 1


def begin_alike(left: str, right: str) -> bool:
    """Whether the first letters allow that one is the other misspelt; of long words, any do."""
    if min(len(left), len(right)) > _SHORT:
        return True
    return left[0] == right[0] or left[:2] == right[1::-1]


def deletion_codes(word: str) -> set[int]:
    """Codes (CRC-32) of what the beginning of a word becomes by the deletions forgiven it.

    Two words may share a code by accident: the distance decides.
    """
    prefix = word[:_PREFIX]
    return {
        crc32("".join(kept).encode("utf-8", "surrogatepass"))
        for deleted in range(edits_forgiven(word) + 1)
        for kept in combinations(prefix, len(prefix) - deleted)
    }


def distance(left: str, right: str, most: int) -> int:
    """Insertions, deletions, replacements and swaps of neighbours (optimal string alignment)
    that lie between two words; `most + 1` where there are more than `most`.
    """
    if abs(len(left) - len(right)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, letter in enumerate(left, start=1):
        earlier, before, row = before, row, [i]
        for j, other in enumerate(right, start=1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == right[j - 2] and left[i - 2] == other:
                cost = min(cost, earlier[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return min(row[-1], most + 1)
