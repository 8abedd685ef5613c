"""Evidence extraction: of each passage the spans that were copied out of it."""

from collections import Counter
from collections.abc import Iterable, Iterator

from branchwise.base.text import one_line
from branchwise.report.terminal.blocks import Block
from branchwise.report.terminal.marks import spans_in
from branchwise.report.terminal.step_text import begun, count, few, indented, short
from branchwise.trace.artifacts import ShownPassage
from branchwise.trace.events import Extraction
from branchwise.trace.parts import Extracted, ExtractionRequest
from branchwise.ui.steps import parts
from branchwise.ui.steps.modules import at_place, call_cost, extracted, reasons
from branchwise.ui.steps.parts import Looked
from branchwise.ui.steps.words import Around, EventWords, says


@says(Extraction)
class ExtractionWords(EventWords[Extraction]):
    """Counts of spans and passages, then the spans."""

    def label(self, body: Extraction) -> str:
        how = _how(body)
        failures = f", {how['failed']} failed" if how["failed"] else ""
        spans = count(_spans(body), "span")
        return f"extract {spans}, {how['spans']} of {len(body.passages)}{failures}"

    def lines(self, body: Extraction, most: int) -> Iterator[str]:
        how, passages = _how(body), body.passages
        of = f"{how['spans']} of {count(len(passages), 'passage')}"
        kept = f"{count(_spans(body), 'span')} from {of}"
        calls = body.model_calls
        asked = [count(len(calls), "request")] if body.requests else []
        cost = call_cost(calls) if calls else []
        # Extractions follow all tool results of the turn, in the order of its calls.
        which = f"call {body.of + 1}: " if body.of else ""
        yield begun("extract", f"{which}{', '.join([kept, *asked, *cost])}")
        if how["none"]:
            yield indented(f"nothing in {count(how['none'], 'passage')}")
        if reused := sum(passage.reused for passage in passages):
            yield indented(f"read before: {count(reused, 'passage')}")
        if dropped := [dropped for passage in passages for dropped in passage.dropped]:
            yield indented(short(f"dropped: {reasons(dropped)}"))
        if failed := [passage for passage in passages if passage.how == "failed"]:
            shown = "shown whole" if len(failed) == 1 else "all shown whole"
            what = f"{count(len(failed), 'call')} failed, {shown}"
            yield indented(f"{what}: {short(failed[0].error)}")
        lines = [short(f"[{p.id}] {' … '.join(p.spans)}") for p in passages if p.spans]
        yield from map(indented, few(lines, most, "more"))

    def blocks(self, body: Extraction, around: Around) -> Iterator[Block]:
        looked, call = around.looked, body.call
        yield from parts.note(f"of call {body.of + 1}", call.tool, call.id or "")
        yield from parts.overlong(name=call.name, id=call.id)
        read = next((one.result.found for one in around.calls if one.extraction is body), None)
        passages = read.passages if read else []
        for request in body.requests:
            yield from _request(request)
        for place, record in enumerate(body.passages):
            yield from _passage(record, at_place(record.id, place, passages), looked)
        yield from parts.text(body.content, "as the agent read it", looked=looked, folded=True)
        yield from parts.rest(body.more)
        yield from parts.rest(call.more)

    def brought(self, body: Extraction) -> Iterable[str]:
        return [span for passage in body.passages for span in passage.spans]


def _request(request: ExtractionRequest) -> Iterator[Block]:
    """A request for several passages, and how many it was of use for."""
    of = count(request.passages, "passage")
    yield from parts.note(f"a request for {of}, of use for {request.used}", *call_cost([request]))
    yield from parts.text(request.error, "request failed", kind="error")
    yield from parts.text(request.reasoning, "reasoning", folded=True)
    yield from parts.rest(request.more)


def _how(body: Extraction) -> Counter[str]:
    return Counter(passage.how for passage in body.passages)


def _spans(body: Extraction) -> int:
    return sum(len(passage.spans) for passage in body.passages)


def _passage(record: Extracted, passage: ShownPassage | None, looked: Looked) -> Iterator[Block]:
    # On one line, as the extractor read it: spans stand in it word for word.
    text = one_line(passage.text) if passage else "\n".join(record.spans)
    given = {"id": record.id, "title": passage.title if passage else "", "text": text}
    cost = parts.cost(record, record.usage) if record.asked_alone else []
    facts = [extracted(record), *cost]
    marks, folded = spans_in(text, record.spans), not record.spans
    yield parts.passage(ShownPassage(given), looked, notes=facts, marks=marks, folded=folded)
    yield from parts.overlong(parts.MAX_TITLE, id=record.id)
    yield from parts.dropped_blocks(record.dropped, looked)
    yield from parts.text(record.error, "extraction failed", kind="error")
    yield from parts.text(record.reasoning, "reasoning", folded=True)
    yield from parts.rest(record.more)
