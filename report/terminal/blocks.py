"""What one step of a trace shows, as pieces of text with marks, independent of any output.

The app, `trace --print` and the Markdown export each lay the same blocks out in their own way.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

BlockKind = Literal["heading", "text", "json", "sparql", "table", "passage", "error", "note"]
MarkKind = Literal[
    "gold", "wrong", "span", "key", "string", "number", "word", "comment", "dim", "strong"
]
"""`gold`: a gold answer is named here; `wrong`: a predicted text that is wrong; `span`: what
evidence extraction copied out; the others colour JSON and SPARQL."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Characters [start, end) of a block's text; marks of one block may overlap."""

    start: int
    end: int
    kind: MarkKind


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of a step's detail: `text` in lines of printable characters (`harmless`) under a
    `title`; `folded`: only that is shown at first. `passage`, and of a table `row`, the number
    of its first row, which stands on the third line, tell where an answer is (`EvidencePlace`)."""

    kind: BlockKind
    text: str
    title: str = ""
    marks: tuple[Mark, ...] = ()
    folded: bool = False
    passage: str | None = None
    row: int | None = None
    title_marks: tuple[Mark, ...] = ()


def harmless(text: str) -> str:
    """Text from outside, of the same length, without what could steer a terminal or hide: line
    ends stay, other white space becomes a space, everything else that is not printable U+FFFD."""
    return text if text.isprintable() else text.translate(_SHOWN)


class CharacterForms(dict[int, str]):
    """What stands for each character (`str.translate`), worked out when it is first met."""

    def __init__(self, form: Callable[[int], str]) -> None:
        super().__init__()
        self._form = form

    def __missing__(self, code: int) -> str:
        form = self[code] = self._form(code)
        return form


def _shown(code: int) -> str:
    character = chr(code)
    if character.isprintable() or character == "\n":
        return character
    return " " if character.isspace() else "\N{REPLACEMENT CHARACTER}"


_SHOWN = CharacterForms(_shown)
