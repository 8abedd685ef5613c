"""Changes to a text that remember where everything was."""

from collections.abc import Iterable
from typing import NamedTuple


class Edit(NamedTuple):
    """Put `text` in place of the characters `start` to `end`."""

    start: int
    end: int
    text: str = ""


class TextPosition(NamedTuple):
    """A place in a text; lines and columns count from 1."""

    line: int
    column: int


class Edits:
    """Edits of one text, in any order. An edit inside a removed part goes with it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._edits: list[Edit] = []

    def replace(self, start: int, end: int, text: str = "") -> None:
        """Put `text` in place of the characters `start` to `end`."""
        self._edits.append(Edit(start, end, text))

    def insert(self, at: int, text: str) -> None:
        """Put `text` before the character `at`, after what was put there before."""
        self._edits.append(Edit(at, at, text))

    def _pieces(self) -> list[tuple[int, str]]:
        """Pieces of the new text, each with where it begins in the old one."""
        pieces: list[tuple[int, str]] = []
        at = 0
        for start, end, text in sorted(self._edits, key=lambda e: (e.start, e.end > e.start)):
            if start < at:
                continue
            pieces += [(at, self.text[at:start]), (start, text)]
            at = end
        return [*pieces, (at, self.text[at:])]

    def apply(self) -> str:
        """The new text."""
        return "".join(piece for _, piece in self._pieces())

    def count(self) -> int:
        """How many edits there are so far."""
        return len(self._edits)

    def within(
        self, start: int, end: int, first: int | None = None, others: Iterable[Edit] = ()
    ) -> str:
        """What has become of the characters `start` to `end`, so far or by the `first` edits.

        `others` are made as well, there and nowhere else; edits inside of what they replace go.
        """
        part = Edits(self.text[start:end])
        for edit in (*others, *self._edits[:first]):
            if start <= edit.start and edit.end <= end:
                part.replace(edit.start - start, edit.end - start, edit.text)
        return part.apply()

    def origin(self, offset: int) -> int:
        """Where the character at `offset` of the new text was in the old text, or what is next."""
        at = 0
        for start, piece in self._pieces():
            if offset < at + len(piece):
                same = self.text.startswith(piece, start)
                return start + (offset - at if same else 0)
            at += len(piece)
        return len(self.text)


def place(text: str, offset: int) -> TextPosition:
    """The line and column of a character."""
    before = text[:offset]
    return TextPosition(before.count("\n") + 1, offset - before.rfind("\n"))


def offset_of(text: str, at: TextPosition) -> int:
    """The character at a line and column; the end of the text where it is shorter."""
    start = 0
    for _ in range(at.line - 1):
        start = text.find("\n", start) + 1
    return min(start + at.column - 1, len(text))
