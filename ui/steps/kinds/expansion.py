"""Query expansion: the readings of the question."""

from collections.abc import Iterator

from branchwise.report.terminal.blocks import Block
from branchwise.report.terminal.step_text import begun, count, indented, short
from branchwise.trace.events import Expansion
from branchwise.trace.parts import TitleSearch
from branchwise.ui.steps import parts
from branchwise.ui.steps.modules import call_cost, reasons
from branchwise.ui.steps.parts import Looked
from branchwise.ui.steps.words import Around, EventWords, says

AS_IT_STANDS = "the question is asked as it stands"


@says(Expansion)
class ExpansionWords(EventWords[Expansion]):
    """What was looked for first, the readings or why there are none, and what was dropped."""

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
        yield from (indented(short(f"looks for {_asked(one)}")) for one in body.looked)
        if body.reasoning:
            yield indented(f"thinks: {short(body.reasoning)}")
        yield from (indented(f"- {short(reading)}") for reading in body.readings)
        if body.dropped:
            yield indented(short(f"dropped: {reasons(body.dropped)}"))

    def blocks(self, body: Expansion, around: Around) -> Iterator[Block]:
        looked = around.looked
        yield from parts.note(*parts.cost(body, body.usage), f"how: {body.how}")
        yield from parts.text(body.question, "question")
        for one in body.looked:
            yield from _search_blocks(one, looked)
        yield from parts.text("\n".join(body.readings), "readings")
        yield from parts.dropped_blocks(body.dropped, looked)
        yield from parts.text(body.error, "error", kind="error")
        yield from parts.text(body.reasoning, "reasoning", looked=looked, folded=True)
        yield from parts.text(body.text, "the reply as it came", folded=True)
        yield from parts.rest(body.more)


def _asked(search: TitleSearch) -> str:
    """What was searched for, and how much of what came bears a name in the question."""
    args = search.args
    asked = args.get("query") or args.get("text") or args
    if search.error is not None:
        return f"{asked!r}: {search.tool} failed: {search.error}"
    return f"{asked!r}: {search.tool} {count(len(search.found), 'title')} of {search.hits}"


def _search_blocks(search: TitleSearch, looked: Looked) -> Iterator[Block]:
    """The titles that were found, a line each, or the error."""
    title = f"searched {_asked(search)}"
    if search.error is not None:
        yield from parts.text(search.error, title, kind="error")
    else:
        lines = [" — ".join(filter(None, [one.title, one.about])) for one in search.found]
        found = "\n".join(lines) or "nothing that bears a name of the question"
        yield from parts.text(found, title, looked=looked)
    yield from parts.note(*parts.cost(search))
    yield from parts.rest(search.more)
