"""Query expansion: the readings of the question."""

from collections.abc import Iterator

from branchwise.trace.events import Expansion
from branchwise.ui.steps import parts
from branchwise.ui.steps.blocks import Block
from branchwise.ui.steps.modules import call_cost, reasons
from branchwise.ui.steps.text import begun, count, indented, short
from branchwise.ui.steps.words import Around, EventWords, says

AS_IT_STANDS = "the question is asked as it stands"


@says(Expansion)
class ExpansionWords(EventWords[Expansion]):
    """The readings, or why there are none, and what was dropped."""

    def label(self, body: Expansion) -> str:
        if body.how == "failed":
            return f"expand failed: {body.error}"
        return f"expand {count(len(body.readings), 'reading')}"

    def lines(self, body: Expansion, most: int) -> Iterator[str]:
        if body.how == "failed":
            said = f"failed: {short(body.error)}; {AS_IT_STANDS}"
        else:
            found = f"{len(body.readings)} readings" if body.readings else ""
            said = ", ".join([found or f"no readings: {AS_IT_STANDS}", *call_cost([body])])
        yield begun("expand", said)
        if body.reasoning:
            yield indented(f"thinks: {short(body.reasoning)}")
        yield from (indented(f"- {short(reading)}") for reading in body.readings)
        if body.dropped:
            yield indented(short(f"dropped: {reasons(body.dropped)}"))

    def blocks(self, body: Expansion, around: Around) -> Iterator[Block]:
        looked = around.looked
        yield from parts.note(*parts.cost(body, body.usage), f"how: {body.how}")
        yield from parts.text(body.question, "question")
        yield from parts.text("\n".join(body.readings), "readings")
        yield from parts.dropped_blocks(body.dropped, looked)
        yield from parts.text(body.error, "error", kind="error")
        yield from parts.text(body.reasoning, "reasoning", looked=looked, folded=True)
        yield from parts.text(body.text, "the reply as it came", folded=True)
        yield from parts.rest(body.more)
