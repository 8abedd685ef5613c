"""Text that may be drawn: of a width on which all terminals agree.

`harmless` took out what steers a terminal or hides. What is left and printable may still be
measured differently by terminals, by tmux and by us, and one cell too many breaks a line's frame:
variation selectors, skin tones, flags, marks without a letter, vowel signs with a cell of their
own. Each is dropped where nothing is lost by it, else replaced.
"""

import re
import unicodedata

MAX_MARKS = 4
"""Combining marks that are drawn above one character: tmux keeps no more bytes of a cell."""

_REPLACED = "\N{REPLACEMENT CHARACTER}"
_FIRST_FLAG, _LAST_FLAG = 0x1F1E6, 0x1F1FF
_DROPPED = frozenset(
    [
        *(0x34F, 0x17B4, 0x17B5, 0x180F, 0x20E3),
        *range(0x180B, 0x180E),
        *range(0xFE00, 0xFE10),
        *range(0xE0100, 0xE01F0),
        *range(0x1F3FB, 0x1F400),
    ]
)
"""Nothing to be seen by themselves: joiners, variation selectors, keycaps, skin tones."""
_DISPUTED = frozenset(range(0x3248, 0x3250))
"""Numbers in squares: one cell by Unicode's table, two by glibc's, which tmux asks."""


class _Forms(dict[int, str]):
    """What stands for each character, found out when it is first met."""

    def __missing__(self, code: int) -> str:
        form = self[code] = _form(code)
        return form


class _Widths(dict[int, str]):
    """The cells of each character's form: "0", "1" or "2"."""

    def __missing__(self, code: int) -> str:
        from rich.cells import cell_len

        width = self[code] = str(cell_len(_FORMS[code]))
        return width


def _form(code: int) -> str:
    from rich.cells import get_character_cell_size

    character = chr(code)
    if code in _DROPPED:
        return ""
    if _FIRST_FLAG <= code <= _LAST_FLAG:
        return chr(ord("A") + code - _FIRST_FLAG)
    if character in "\n\t":
        return " "
    if not character.isprintable() or code in _DISPUTED:
        return _REPLACED
    cells = get_character_cell_size(character)
    wide = unicodedata.east_asian_width(character) in "WF"
    if cells == 0:
        if unicodedata.category(character) not in ("Mn", "Me"):
            return _REPLACED
        return "" if wide else character
    return character if (cells == 2) is wide else _REPLACED


_FORMS = _Forms()
_WIDTHS = _Widths()
_TOO_MANY_MARKS = re.compile(f"(?<=0{{{MAX_MARKS}}})0+")


def widths(text: str) -> str | None:
    """A digit for each character, its cells when drawn: 0, 1 or 2; None where all are 1."""
    if text.isascii():
        return None
    digits = text.translate(_WIDTHS)
    return digits if "0" in digits or "2" in digits else None


def drawn(text: str) -> str:
    """A piece of one line as it is drawn: marks without a character, or too many, are left out."""
    if text.isascii() and text.isprintable():
        return text
    form = text.translate(_FORMS)
    if form.isascii():
        return form
    digits = form.translate(_WIDTHS)
    if "0" not in digits:
        return form
    alone = len(digits) - len(digits.lstrip("0"))
    return _without_excess(form, digits)[min(alone, MAX_MARKS) :]


def _without_excess(form: str, digits: str) -> str:
    excess = [match.span() for match in _TOO_MANY_MARKS.finditer(digits)]
    for start, end in reversed(excess):
        form = form[:start] + form[end:]
    return form


def cells(text: str) -> int:
    """Cells that `drawn(text)` takes."""
    digits = widths(text)
    return len(text) if digits is None else digits.count("1") + 2 * digits.count("2")


def fitted(text: str, width: int) -> str:
    """`text` drawn in exactly `width` cells: cut with an ellipsis, or padded with spaces."""
    line = drawn(text)
    size = cells(line)
    if size <= width:
        return line + " " * (width - size)
    if width < 1:
        return ""
    end = cut(0, len(line), width - 1, widths(line))
    return drawn(line[:end]) + "…" + " " * (width - 1 - cells(line[:end]))


def cut(start: int, end: int, width: int, digits: str | None) -> int:
    """Where the piece of a text from `start` ends that takes at most `width` cells.

    `digits` are the text's `widths`. Marks stay with the character before them.
    """
    if digits is None:
        return min(end, start + width)
    stop = min(end, start + width)
    piece = digits[start:stop]
    size = piece.count("1") + 2 * piece.count("2")
    while size > width:
        stop -= 1
        size -= int(digits[stop])
    while stop < end and size + int(digits[stop]) <= width:
        size += int(digits[stop])
        stop += 1
    return stop
