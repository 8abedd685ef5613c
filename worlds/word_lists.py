"""The words and patterns that names are made of, as `words/*.yaml` declare them.

A file holds `lists` (words as they stand, parted by blanks), `composed` words (every head with
every tail) and `kinds` of names: the patterns of their names and of their aliases, with weights.
In a pattern, `{noun}` stands for a word of that list, `{a noun}` for one with its article, and in
an alias `{name}` for the name itself; it stands in all of a kind's alias patterns or in none.

What keeps names apart: a composed word that is already another word is left out, and of any two
patterns with equally many words one position's words differ (tests/worlds/test_naming.py).
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

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
    lists = {name: tuple(words.split()) for f in files for name, words in f["lists"].items()}
    lists |= _composed([f.get("composed", {}) for f in files], lists)
    lists |= {f"a {name}": tuple(map(_with_article, words)) for name, words in lists.items()}
    declared = [f.get("kinds", {}) for f in files]
    kinds = {name: KindPatterns(**kind) for each in declared for name, kind in each.items()}
    return WordLists(lists, kinds)


def _composed(
    declared: list[Mapping[str, Any]], lists: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    """Composed lists, in the order of their declaration, each word the first of its key."""
    taken = {fold(word) for words in lists.values() for word in words}
    made = {}
    for name, groups in ((name, groups) for each in declared for name, groups in each.items()):
        words = []
        for word in _joined(groups):
            if (key := fold(word)) not in taken:
                taken.add(key)
                words.append(word)
        made[name] = tuple(words)
    return made


def _joined(groups: list[Mapping[str, str]]) -> Iterator[str]:
    """Heads with tails, without those in which the seam doubles a letter ("Marrrow")."""
    for group in groups:
        tails = group["tails"].split()
        for head in group["heads"].split():
            yield from (head + tail for tail in tails if tail[0] != head[-1].lower())


def fold(word: str) -> str:
    """The word without case, accents and punctuation: what must differ between two words."""
    if word.isascii() and word.isalpha():
        return word.lower()
    plain = unicodedata.normalize("NFKD", word.casefold())
    return "".join(letter for letter in plain if letter.isalnum())


def _with_article(word: str) -> str:
    """The lists hold no word whose first letter misleads about its article (tested)."""
    return f"An {word}" if word[0] in "AEIOU" else f"A {word}"
