"""Text from outside as the page shows it: bounded, and unable to mislead the reader."""

import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from branchwise.base.numbers import percent
from branchwise.base.text import one_line

MAX_TEXT = 400
_REPLACED = "\N{REPLACEMENT CHARACTER}"
_CONTROL, _FORMAT, _SURROGATE, _PRIVATE, _UNASSIGNED = "Cc", "Cf", "Cs", "Co", "Cn"
_JOINERS = frozenset("\u200c\u200d\u00ad")
"""Format characters that words need: joiners of Persian and Indic scripts, and the soft hyphen."""


def shown(text: str) -> str:
    """The text with its invisible characters made visible.

    A control character becomes its picture (ESC is ␛), a direction override or another format
    character its number (⟨U+202E⟩), a half surrogate �. Line breaks and tabs are spaces. Markup is
    not escaped here: Jinja and the browser's `textContent` do that.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _visible(c) for c in text)


@lru_cache(maxsize=10_000)
def short(text: str, most: int = MAX_TEXT) -> str:
    """As shown, on one line, with an ellipsis where it is cut."""
    line = one_line(shown(text[: 4 * most]))
    return line if len(line) <= most and len(text) <= 4 * most else f"{line[: most - 1]}…"


def shares(parts: Iterable[tuple[int, str]], whole: int) -> str:
    """ "53% never retrieved, 4% under the wrong branch": what there is, largest first."""
    ranked = sorted((part for part in parts if part[0]), key=lambda part: -part[0])
    return ", ".join(f"{percent(count, whole)} {words}" for count, words in ranked)


def _visible(character: str) -> str:
    kind = unicodedata.category(character)
    if character in "\n\t\r" or kind.startswith("Z"):
        return " "
    if kind == _CONTROL:
        code = ord(character)
        return chr(0x2400 + code) if code < 0x20 else "\N{SYMBOL FOR DELETE}"
    if kind == _FORMAT:
        return character if character in _JOINERS else f"⟨U+{ord(character):04X}⟩"
    return _REPLACED if kind in (_SURROGATE, _PRIVATE, _UNASSIGNED) else character
