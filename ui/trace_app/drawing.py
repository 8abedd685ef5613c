"""Text that may be drawn: of a width on which all terminals agree, wrapped, with its marks.

Printable text may be measured differently by terminals, by tmux and by us, and one cell too many
breaks a line's frame: variation selectors, skin tones, flags, marks without a letter, vowel signs
with a cell of their own. Each is dropped where nothing is lost by it, else replaced.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from rich.cells import cell_len, get_character_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.app import App
from textual.color import Color, ColorParseError

from branchwise.base.text import REPLACEMENT
from branchwise.report.terminal.blocks import CharacterForms, Mark, MarkKind

MAX_MARKS = 4
"""Combining marks that are drawn above one character: tmux keeps no more bytes of a cell."""
MIN_WIDTH = 4
"""Narrower lines cannot be wrapped sensibly; wider ones are cropped when drawn."""
_TOO_MANY_MARKS = re.compile(f"(?<=0{{{MAX_MARKS}}})0+")
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


def _form(code: int) -> str:
    character = chr(code)
    if code in _DROPPED:
        return ""
    if _FIRST_FLAG <= code <= _LAST_FLAG:
        return chr(ord("A") + code - _FIRST_FLAG)
    if character in "\n\t":
        return " "
    if not character.isprintable() or code in _DISPUTED:
        return REPLACEMENT
    size = get_character_cell_size(character)
    wide = unicodedata.east_asian_width(character) in "WF"
    if size == 0:
        if unicodedata.category(character) not in ("Mn", "Me"):
            return REPLACEMENT
        return "" if wide else character
    return character if (size == 2) is wide else REPLACEMENT


_FORMS = CharacterForms(_form)
_WIDTHS = CharacterForms(lambda code: str(cell_len(_FORMS[code])))
"""The cells of each character's form: "0", "1" or "2"."""


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
    digits = "" if form.isascii() else form.translate(_WIDTHS)
    if "0" not in digits:
        return form
    for excess in reversed([*_TOO_MANY_MARKS.finditer(digits)]):
        form = form[: excess.start()] + form[excess.end() :]
    alone = len(digits) - len(digits.lstrip("0"))
    return form[min(alone, MAX_MARKS) :]


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
    """Where the piece of a text from `start` ends that takes at most `width` cells; marks stay
    with the character before them. `digits`: the text's `widths`."""
    stop = min(end, start + width)
    if digits is None:
        return stop
    piece = digits[start:stop]
    size = piece.count("1") + 2 * piece.count("2")
    while size > width:
        stop -= 1
        size -= int(digits[stop])
    while stop < end and size + int(digits[stop]) <= width:
        size += int(digits[stop])
        stop += 1
    return stop


def wrapped(
    text: str, width: int, *, hanging: bool = False, end: int | None = None
) -> Iterator[tuple[int, int, int]]:
    """(start, end, indent) of each line of `text[:end]`, with its indent at most `width` cells,
    broken at spaces where it can be. `hanging`: what continues a line is indented (JSON, code)."""
    width = max(MIN_WIDTH, width)
    stop = len(text) if end is None else min(end, len(text))
    digits = widths(text[:stop])
    start = 0
    while start <= stop:
        newline = text.find("\n", start, stop)
        line_end = stop if newline < 0 else newline
        yield from _line(text, start, line_end, width, digits, hanging)
        start = line_end + 1


def _line(
    text: str, start: int, end: int, width: int, digits: str | None, hanging: bool
) -> Iterator[tuple[int, int, int]]:
    first = text[start : min(end, start + width)]
    hang = min(len(first) - len(first.lstrip(" ")) + 2, width // 2) if hanging else 0
    indent = 0
    while (stop := cut(start, end, width - indent, digits)) < end:
        space = text.rfind(" ", start, stop + 1)
        if space > start and text[start:space].strip(" "):
            yield start, space, indent
            start = space + 1
        else:
            yield start, stop, indent
            start = stop
        indent = hang
    yield start, end, indent


_MARKS: dict[MarkKind, tuple[str, str]] = {
    "key": ("text-primary", ""),
    "string": ("text-success", ""),
    "number": ("text-warning", ""),
    "word": ("text-accent", "bold"),
    "comment": ("", "dim italic"),
    "dim": ("", "dim"),
    "strong": ("", "bold"),
    "span": ("text-accent", "italic"),
    "wrong": ("text-error", "bold strike"),
    "gold": ("text-success", "bold underline"),
}
"""Kind of mark: a variable of the theme, and a text style, so that none is told by its colour
alone. Where marks overlap their styles are added up; of two colours the later kind's is seen."""


class Runs(NamedTuple):
    """A text cut where its marks change: the kinds that hold from each start to the next one."""

    starts: Sequence[int]
    kinds: Sequence[tuple[MarkKind, ...]]


def runs_of(marks: Sequence[Mark]) -> Runs:
    """Overlapping marks as consecutive runs."""
    changes: dict[int, list[tuple[int, MarkKind]]] = {0: []}
    for mark in marks:
        if mark.end > mark.start:
            changes.setdefault(mark.start, []).append((1, mark.kind))
            changes.setdefault(mark.end, []).append((-1, mark.kind))
    open_now = dict.fromkeys(_MARKS, 0)
    starts = sorted(changes)
    kinds: list[tuple[MarkKind, ...]] = []
    for start in starts:
        for step, kind in changes[start]:
            open_now[kind] += step
        kinds.append(tuple(kind for kind, count in open_now.items() if count))
    return Runs(starts, kinds)


def segments(
    text: str, start: int, end: int, runs: Runs, base: Style, styles: Mapping[MarkKind, Style]
) -> Iterator[Segment]:
    """`text[start:end]` as it is drawn; a mark never parts a character from its accents."""
    digits = widths(text[start:end])
    n = bisect_right(runs.starts, start) - 1
    first = start
    while first < end:
        last = min(runs.starts[n + 1] if n + 1 < len(runs.starts) else end, end)
        while digits is not None and last < end and digits[last - start] == "0":
            last += 1
        if last > first:
            style = base
            for kind in runs.kinds[n]:
                style += styles[kind]
            yield Segment(drawn(text[first:last]), style)
            first = last
        n += 1


def mark_styles(app: App[None]) -> Mapping[MarkKind, Style]:
    """Partial styles (no background) of the marks, in the app's theme."""
    variables = app.theme_variables
    return _styles(tuple(variables.get(name, "") for name, _ in _MARKS.values()))


@lru_cache(maxsize=8)
def _styles(values: tuple[str, ...]) -> Mapping[MarkKind, Style]:
    styles = {}
    for (kind, (_, text_style)), value in zip(_MARKS.items(), values, strict=True):
        styles[kind] = Style.parse(text_style)
        try:
            colour = Color.parse(value)
        except ColorParseError:
            continue
        if colour.a == 1:  # else the theme leaves it to the background (`auto 60%`)
            styles[kind] += Style(color=colour.rich_color)
    return styles
