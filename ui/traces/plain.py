"""A trace, a step, or an item's answers as lines of plain text: for pipes and for the clipboard."""

from collections.abc import Iterable, Iterator, Sequence

from branchwise.corpora.questions import Branch
from branchwise.eval.store import Event
from branchwise.ui.steps import branch_lines, describe
from branchwise.ui.tool_steps import SHOWN_RESULTS
from branchwise.ui.traces.blocks import Block, harmless


def plain_lines(blocks: Iterable[Block]) -> Iterator[str]:
    """Everything that blocks hold, folded ones too; a block's text stands below its title."""
    for block in blocks:
        margin = "  " if block.title else ""
        if block.title:
            yield f"{block.title}:"
        yield from (f"{margin}{line}".rstrip() for line in block.text.split("\n"))


def trace_lines(events: Sequence[Event], passages: int = SHOWN_RESULTS) -> Iterator[str]:
    """Every step as `ask` prints it, under its number; of a result the first `passages`."""
    width = max((len(str(event.seq)) for event in events), default=1)
    for event in events:
        first, *rest = describe(event.kind, event.data, passages=passages) or [event.kind]
        yield f"{event.seq:>{width}}  {first}"
        yield from (f"{'':>{width}}  {line}" for line in rest)


def gold_lines(branches: Sequence[Branch]) -> Iterator[str]:
    """The gold answers by branch; nothing where there are none."""
    gold = {branch.name: [answer.text for answer in branch.answers] for branch in branches}
    if gold:
        yield "gold"
        yield from (harmless(line).replace("\n", " ") for line in branch_lines(gold))
