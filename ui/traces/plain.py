"""A trace, a step, or an item's answers as lines of plain text: for pipes and for the clipboard."""

from collections.abc import Iterable, Iterator, Sequence

from branchwise.corpora.questions import Branch
from branchwise.trace.events import Event
from branchwise.ui.steps.blocks import Block, harmless
from branchwise.ui.steps.describe import describe
from branchwise.ui.steps.text import SHOWN_RESULTS, branch_lines

MAX_NAMES = 5
"""Gold answers that a passage's title names."""


def plain_lines(blocks: Iterable[Block]) -> Iterator[str]:
    """Everything that blocks hold, folded ones too; a block's text stands below its title.

    A passage's title says which gold answers it names, since nothing is marked here.
    """
    for block in blocks:
        margin = "  " if block.title else ""
        if block.title:
            yield f"{block.title}{_names(block) if block.kind == 'passage' else ''}:"
        yield from (f"{margin}{line}".rstrip() for line in block.text.split("\n"))


def _names(block: Block) -> str:
    """The gold answers marked in a block, each once, the first few."""
    found = [
        *(block.title[mark.start : mark.end] for mark in block.title_marks if mark.kind == "gold"),
        *(block.text[mark.start : mark.end] for mark in block.marks if mark.kind == "gold"),
    ]
    named: dict[str, str] = {}
    for text in found:
        name = " ".join(text.split())
        named.setdefault(name.casefold(), name)
    names = [*named.values()]
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return f" · names {', '.join(names[:MAX_NAMES])}{more}" if names else ""


def trace_lines(events: Sequence[Event], passages: int = SHOWN_RESULTS) -> Iterator[str]:
    """Every step as `ask` prints it, under its number; of a result the first `passages`."""
    width = max((len(str(event.seq)) for event in events), default=1)
    for event in events:
        first, *rest = describe(event, passages=passages)
        yield f"{event.seq:>{width}}  {first}"
        yield from (f"{'':>{width}}  {line}" for line in rest)


def gold_lines(branches: Sequence[Branch]) -> Iterator[str]:
    """The gold answers by branch; nothing where there are none."""
    gold = {branch.name: [answer.text for answer in branch.answers] for branch in branches}
    if gold:
        yield "gold"
        yield from (harmless(line).replace("\n", " ") for line in branch_lines(gold))
