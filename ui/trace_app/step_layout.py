"""The blocks of a step laid out at a width: which piece of which block stands on which line."""

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from branchwise.report.terminal.blocks import Block
from branchwise.ui.trace_app.cells import cells
from branchwise.ui.trace_app.wrapping import wrapped

MAX_SHOWN = 100_000
"""Characters of a block that are laid out; the line behind them says how many more there are."""
MAX_LINES = 5_000
"""Lines of a block that are laid out."""
MAX_TABLE_WIDTH = 4_000
"""Cells of a table's line that can be scrolled to."""

LineRole = Literal["title", "text", "more", "gap"]


@dataclass(frozen=True, slots=True)
class Line:
    """Characters [start, end) of a block's text, `indent` cells from the left."""

    block: int
    role: LineRole
    start: int = 0
    end: int = 0
    indent: int = 0


@dataclass(frozen=True)
class StepLayout:
    """Lines from top to bottom; `width` is what the widest needs, at least what was asked for."""

    lines: Sequence[Line]
    width: int

    def first(self, block: int) -> int:
        """The first line of a block: its title, or its text where it has none."""
        return next((y for y, line in enumerate(self.lines) if _is_of(line, block)), 0)

    def line_of(self, block: int, offset: int) -> int:
        """The line that shows a character of a block's text; the block's last where it is cut."""
        found = self.first(block)
        for y in range(found, len(self.lines)):
            line = self.lines[y]
            if line.block != block or (line.role == "text" and line.start > offset):
                break
            found = y
        return found


def _is_of(line: Line, block: int) -> bool:
    return line.block == block and line.role != "gap"


def lay_out(blocks: Sequence[Block], width: int, folded: Set[int] = frozenset()) -> StepLayout:
    """All lines of `blocks`; of those whose numbers are in `folded` only the title."""
    lines: list[Line] = []
    widest = width
    for number, block in enumerate(blocks):
        if lines and block.title:
            lines.append(Line(number, "gap"))
        if block.title:
            lines.append(Line(number, "title"))
        if number in folded and block.title:
            continue
        for line in _text_lines(number, block, width):
            lines.append(line)
            if block.kind == "table":
                size = line.indent + cells(block.text[line.start : line.end])
                widest = max(widest, min(size, MAX_TABLE_WIDTH))
    return StepLayout(lines, widest)


def indent_of(block: Block) -> int:
    """Cells that a block's text stands to the right of its title."""
    return 2 if block.title and block.kind != "heading" else 0


def _text_lines(number: int, block: Block, width: int) -> Iterator[Line]:
    if not block.text:
        return
    indent = indent_of(block)
    end = 0
    for start, end, extra in islice(_pieces(block, width - indent), MAX_LINES):
        yield Line(number, "text", start, end, indent + extra)
    if block.text[end:].strip():
        yield Line(number, "more", end, len(block.text), indent)


def _pieces(block: Block, width: int) -> Iterator[tuple[int, int, int]]:
    if block.kind != "table":
        hanging = block.kind in ("json", "sparql")
        yield from wrapped(block.text, width, hanging=hanging, end=MAX_SHOWN)
        return
    start = 0
    for row in block.text[:MAX_SHOWN].split("\n"):
        yield start, start + len(row), 0
        start += len(row) + 1
