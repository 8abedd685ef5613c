"""What one step of a trace shows, as pieces of text with marks: no terminal, page or pipe is known.

The app, `trace --print` and the Markdown export each lay the same blocks out in their own way.
"""

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
    """A piece of a step's detail.

    `text` has lines separated by "\\n" and else only printable characters (`harmless`). `title`
    stands above it, on one line. `folded`: only the title is shown until somebody opens it.
    `passage` and `row` say what the block shows, for whoever looks for a place of an answer
    (`eval.errors.trail.Place`).
    """

    kind: BlockKind
    text: str
    title: str = ""
    marks: tuple[Mark, ...] = ()
    folded: bool = False
    passage: str | None = None
    row: int | None = None


def harmless(text: str) -> str:
    """Text from outside, of the same length, without what could steer a terminal or hide.

    Line ends stay, tabs become spaces, everything else that is not printable (escapes, controls,
    directions, zero-width characters) becomes U+FFFD. The same length: offsets stay what they are.
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c == "\n" else " " if c in "\t\r" else "\N{REPLACEMENT CHARACTER}"
        for c in text
    )
