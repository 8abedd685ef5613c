"""Where in a step's blocks an answer is to be seen."""

from collections.abc import Sequence

from branchwise.eval.errors.gold_evidence import EvidencePlace
from branchwise.report.terminal.blocks import Block

_ROWS_BEGIN = 2
"""Lines of a table above its first row: the names of its columns, and a rule."""


def find_place(
    blocks: Sequence[Block], place: EvidencePlace, forms: Sequence[str] = ()
) -> tuple[int, int | None] | None:
    """The number of the block that shows a place, and the character to be in sight, if any.

    `forms`: the texts of the answer, of which one is marked there. None where no block shows it.
    """
    if place.passage is not None:
        found = [n for n, block in enumerate(blocks) if block.passage == place.passage]
        return (found[0], mention(blocks[found[0]], forms)) if found else None
    if place.row is not None:
        return _row(blocks, place.row)
    # A tool that returns plain text: the first part that names it.
    named = [n for n, block in enumerate(blocks) if mention(block, forms) is not None]
    return (named[0], mention(blocks[named[0]], forms)) if named else None


def mention(block: Block, forms: Sequence[str] = ()) -> int | None:
    """Where a block names the answer: a mark with its text, else the first mark of any answer."""
    wanted = {form.casefold() for form in forms}
    marks = [mark for mark in block.marks if mark.kind in ("gold", "wrong")]
    for mark in marks:
        if block.text[mark.start : mark.end].casefold() in wanted:
            return mark.start
    return min((mark.start for mark in marks), default=None)


def _row(blocks: Sequence[Block], row: int) -> tuple[int, int | None] | None:
    above = [
        (block.row, n)
        for n, block in enumerate(blocks)
        if block.row is not None and block.row <= row
    ]
    if not above:
        return None
    first, number = max(above)
    offset = 0
    for _ in range(row - first + _ROWS_BEGIN):
        offset = blocks[number].text.find("\n", offset) + 1
        if not offset:
            return number, None
    return number, offset
