"""Wraps a text into lines given as offsets: nothing is copied, and offsets stay valid."""

from collections.abc import Iterator

from branchwise.ui.trace_app.cells import cut, widths

MIN_WIDTH = 4
"""Narrower lines cannot be wrapped sensibly; wider ones are cropped when drawn."""


def wrapped(
    text: str, width: int, *, hanging: bool = False, end: int | None = None
) -> Iterator[tuple[int, int, int]]:
    """(start, end, indent) of each line of `text[:end]`; with its indent at most `width` cells.

    Lines are broken at spaces, a word that is longer than a line where the line ends. `hanging`:
    what continues a line stands below its first word (JSON, code).
    """
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
    indent = 0
    hang = _hang(text, start, end, width) if hanging else 0
    while True:
        stop = cut(start, end, width - indent, digits)
        if stop >= end:
            yield start, end, indent
            return
        space = text.rfind(" ", start, stop + 1)
        if space > start and text[start:space].strip(" "):
            yield start, space, indent
            start = space + 1
        else:
            yield start, stop, indent
            start = stop
        indent = hang


def _hang(text: str, start: int, end: int, width: int) -> int:
    line = text[start : min(end, start + width)]
    return min(len(line) - len(line.lstrip(" ")) + 2, width // 2)
