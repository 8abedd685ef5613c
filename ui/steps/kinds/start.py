"""The question as it was put."""

from collections.abc import Iterable, Iterator

from branchwise.base.text import counted
from branchwise.report.terminal.blocks import Block
from branchwise.report.terminal.step_text import begun, indented
from branchwise.trace.events import Start
from branchwise.ui.steps import parts
from branchwise.ui.steps.words import Around, EventWords, says


@says(Start)
class StartWords(EventWords[Start]):
    """The question, with the passages that came with it."""

    def lines(self, body: Start, most: int) -> Iterator[str]:
        first, *_ = body.content.strip().split("\n", 1)
        yield begun("question", first)
        if given := body.given.passages:
            yield indented(f"with {counted(len(given), 'passage')} given")

    def blocks(self, body: Start, around: Around) -> Iterator[Block]:
        yield from parts.text(body.system, "system prompt", folded=True)
        yield from parts.text(body.content, "question", looked=around.looked)
        for passage in body.given.passages:
            yield from parts.passage_blocks(passage, around.looked)
        yield from parts.rest(body.more)
        yield from parts.rest(body.given.without("passages"))

    def brought(self, body: Start) -> Iterable[str]:
        return [passage.whole for passage in body.given.passages]
