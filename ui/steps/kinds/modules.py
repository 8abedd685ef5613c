"""What modules and plug-ins' nodes did: query expansion, evidence extraction, checks, changes."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from branchwise.base.text import counted, one_line
from branchwise.report.terminal.blocks import Block
from branchwise.report.terminal.marks import spans_in
from branchwise.report.terminal.step_text import begun, count, few, indented, short
from branchwise.trace.artifacts import ShownPassage
from branchwise.trace.events import Checked, Expansion, Extraction, Node
from branchwise.trace.parts import (
    ChangedMessage,
    Dropped,
    Extracted,
    ExtractionRequest,
    TitleSearch,
    Update,
)
from branchwise.ui.steps import parts
from branchwise.ui.steps.kinds.tool import READ, at_index, extracted
from branchwise.ui.steps.parts import Looked
from branchwise.ui.steps.words import Around, EventWords, says

AS_IT_STANDS = "the question is asked as it stands"
ANSWER_STANDS = "the answer stands"


def _call_cost(calls: Sequence[Expansion | Extracted | ExtractionRequest | Checked]) -> list[str]:
    """Tokens where servers count them, seconds together, and whether all are replays."""
    read = sum(call.usage.input for call in calls)
    written = sum(call.usage.output for call in calls)
    notes = [f"{read} tokens in, {written} out"] if read or written else []
    notes.append(f"{sum(call.seconds for call in calls):.2f} s")
    return [*notes, "replayed"] if calls and all(call.replayed for call in calls) else notes


def _dropped_line(dropped: Iterable[Dropped]) -> Iterator[str]:
    """How many lines were dropped for each reason, in the order in which the reasons came."""
    if counts := Counter(reply.why for reply in dropped):
        reasons = ", ".join(f"{number} {why}" for why, number in counts.items())
        yield indented(short(f"dropped: {reasons}"))


@says(Expansion)
class ExpansionWords(EventWords[Expansion]):
    """What was looked for first, the readings or why there are none, and what was dropped."""

    def label(self, body: Expansion) -> str:
        if body.how == "failed":
            return f"expand failed: {body.error}"
        return f"expand {count(len(body.readings), 'reading')}"

    def lines(self, body: Expansion, most: int) -> Iterator[str]:
        readings = f"{len(body.readings)} readings" if body.readings else ""
        facts = [readings or f"no readings: {AS_IT_STANDS}", *_call_cost([body])]
        if body.how == "failed":
            facts = [f"failed: {short(body.error)}; {AS_IT_STANDS}"]
        yield begun("expand", ", ".join(facts))
        yield from (indented(short(f"looks for {_search(made)}")) for made in body.looked)
        if body.reasoning:
            yield indented(f"thinks: {short(body.reasoning)}")
        yield from (indented(f"- {short(reading)}") for reading in body.readings)
        yield from _dropped_line(body.dropped)

    def blocks(self, body: Expansion, around: Around) -> Iterator[Block]:
        looked = around.looked
        yield from parts.note(*parts.cost(body, body.usage), f"how: {body.how}")
        yield from parts.text(body.question, "question")
        for made in body.looked:
            yield from _search_blocks(made, looked)
        yield from parts.text("\n".join(body.readings), "readings")
        yield from parts.dropped_blocks(body.dropped, looked)
        yield from parts.text(body.error, "error", kind="error")
        yield from parts.text(body.reasoning, "reasoning", looked=looked, folded=True)
        yield from parts.text(body.text, "the reply as it came", folded=True)
        yield from parts.rest(body.more)


@says(Checked)
class CheckedWords(EventWords[Checked]):
    """What a reviewer says is missing, or that nothing is; what the agent is told of it."""

    def label(self, body: Checked) -> str:
        if body.failed:
            return f"check failed: {body.error}"
        if body.content and not body.missing:
            return "check: sent back"
        return f"check {count(len(body.missing), 'thing')} missing" if body.missing else "complete"

    def lines(self, body: Checked, most: int) -> Iterator[str]:
        missing = f"{count(len(body.missing), 'thing')} missing" if body.missing else ""
        facts = [missing or f"nothing is missing: {ANSWER_STANDS}", *_call_cost([body])]
        if body.failed:
            facts = [f"failed: {short(body.error)}; {ANSWER_STANDS}"]
        yield begun("check", ", ".join(facts))
        if body.reasoning:
            yield indented(f"thinks: {short(body.reasoning)}")
        yield from (indented(f"- {short(thing)}") for thing in body.missing)
        yield from _dropped_line(body.dropped)

    def blocks(self, body: Checked, around: Around) -> Iterator[Block]:
        looked = around.looked
        yield from parts.note(*parts.cost(body, body.usage), f"how: {body.how}")
        yield from parts.text("\n".join(body.missing), "missing", looked=looked)
        yield from parts.dropped_blocks(body.dropped, looked)
        yield from parts.text(body.error, "error", kind="error")
        yield from parts.text(body.content, "what the agent is told", looked=looked)
        yield from parts.text(body.reasoning, "reasoning", looked=looked, folded=True)
        yield from parts.text(body.text, "the reply as it came", folded=True)
        yield from parts.rest(body.more)


def _search(search: TitleSearch) -> str:
    """What was searched for, and how much of what came bears a name in the question."""
    args = search.args
    query = args.get("query") or args.get("text") or args
    if search.error is not None:
        return f"{query!r}: {search.tool} failed: {search.error}"
    return f"{query!r}: {search.tool} {count(len(search.found), 'title')} of {search.hits}"


def _search_blocks(search: TitleSearch, looked: Looked) -> Iterator[Block]:
    title = f"searched {_search(search)}"
    if search.error is not None:
        yield from parts.text(search.error, title, kind="error")
    else:
        lines = [" — ".join(filter(None, [hit.title, hit.about])) for hit in search.found]
        titles = "\n".join(lines) or "nothing that bears a name of the question"
        yield from parts.text(titles, title, looked=looked)
    yield from parts.note(*parts.cost(search))
    yield from parts.rest(search.more)


@says(Extraction)
class ExtractionWords(EventWords[Extraction]):
    """Of each passage the spans that were copied out of it: their counts, then the spans."""

    def label(self, body: Extraction) -> str:
        how = Counter(passage.how for passage in body.passages)
        failures = f", {how['failed']} failed" if how["failed"] else ""
        return f"extract {_spans(body)}, {how['spans']} of {len(body.passages)}{failures}"

    def lines(self, body: Extraction, most: int) -> Iterator[str]:
        passages, calls = body.passages, body.model_calls
        how = Counter(passage.how for passage in passages)
        facts = [f"{_spans(body)} from {how['spans']} of {count(len(passages), 'passage')}"]
        facts += [count(len(calls), "request")] if body.requests else []
        facts += _call_cost(calls) if calls else []
        # Extractions follow all tool results of the turn, in the order of its calls.
        which = f"call {body.of + 1}: " if body.of else ""
        yield begun("extract", f"{which}{', '.join(facts)}")
        if how["none"]:
            yield indented(f"nothing in {count(how['none'], 'passage')}")
        if reused := sum(passage.reused for passage in passages):
            yield indented(f"read before: {count(reused, 'passage')}")
        yield from _dropped_line(dropped for passage in passages for dropped in passage.dropped)
        if failed := [passage for passage in passages if passage.how == "failed"]:
            shown = "shown whole" if len(failed) == 1 else "all shown whole"
            calls_failed = f"{count(len(failed), 'call')} failed"
            yield indented(f"{calls_failed}, {shown}: {short(failed[0].error)}")
        lines = [short(f"[{p.id}] {' … '.join(p.spans)}") for p in passages if p.spans]
        yield from map(indented, few(lines, most, "more"))

    def blocks(self, body: Extraction, around: Around) -> Iterator[Block]:
        looked, call = around.looked, body.call
        yield from parts.note(f"of call {body.of + 1}", call.tool, call.id or "")
        yield from parts.overlong(name=call.name, id=call.id)
        read = next((made.result.found for made in around.calls if made.extraction is body), None)
        passages = read.passages if read else []
        for request in body.requests:
            of = count(request.passages, "passage")
            used = f"a request for {of}, of use for {request.used}"
            yield from parts.note(used, *_call_cost([request]))
            yield from parts.text(request.error, "request failed", kind="error")
            yield from parts.text(request.reasoning, "reasoning", folded=True)
            yield from parts.rest(request.more)
        for index, record in enumerate(body.passages):
            yield from _extracted_blocks(record, at_index(record.id, index, passages), looked)
        yield from parts.text(body.content, READ, looked=looked, folded=True)
        yield from parts.rest(body.more)
        yield from parts.rest(call.more)

    def brought(self, body: Extraction) -> Iterable[str]:
        return [span for passage in body.passages for span in passage.spans]


def _spans(body: Extraction) -> str:
    return count(sum(len(passage.spans) for passage in body.passages), "span")


def _extracted_blocks(
    record: Extracted, passage: ShownPassage | None, looked: Looked
) -> Iterator[Block]:
    # On one line, as the extractor read it: spans stand in it word for word.
    text = one_line(passage.text) if passage else "\n".join(record.spans)
    shown = ShownPassage({"id": record.id, "title": passage.title if passage else "", "text": text})
    facts = [extracted(record)]
    facts += parts.cost(record, record.usage) if record.asked_alone else []
    marks, folded = spans_in(text, record.spans), not record.spans
    yield parts.passage(shown, looked, notes=facts, marks=marks, folded=folded)
    yield from parts.overlong(parts.MAX_TITLE, id=record.id)
    yield from parts.dropped_blocks(record.dropped, looked)
    yield from parts.text(record.error, "extraction failed", kind="error")
    yield from parts.text(record.reasoning, "reasoning", folded=True)
    yield from parts.rest(record.more)


@says(Node)
class NodeWords(EventWords[Node]):
    """A plug-in's node: name, and what it changed or why nothing, what it asked."""

    def label(self, body: Node) -> str:
        if body.error:
            return f"node failed: {body.error}"
        return f"node {body.name}: {_changes(body.slot, body.update)}"

    def lines(self, body: Node, most: int) -> Iterator[str]:
        facts = [body.slot, f"{body.seconds:.2f} s", *(["replayed"] if body.replayed else [])]
        changes = f"failed: {short(body.error)}" if body.error else _changes(body.slot, body.update)
        yield begun("node", f"{body.name}: {changes} ({', '.join(facts)})")
        yield from (indented(f"asked: {short(asked.message)}") for asked in body.asked)

    def blocks(self, body: Node, around: Around) -> Iterator[Block]:
        looked, update = around.looked, body.update
        yield from parts.note(body.name, f"slot: {body.slot}", *parts.cost(body))
        yield from parts.overlong(name=body.name)
        yield from parts.text(body.error, "error", kind="error")
        if update.is_empty and not body.error:
            yield from parts.note("it changed nothing")
        for message in update.pending or ():
            if message.of is not None:
                yield from _result(message, message.of, around)
            else:
                yield from parts.text(message.content, str(message.type), looked=looked)
                yield from parts.rest(message.more)
        yield from parts.text("\n".join(update.readings or ()), "readings")
        for message in update.messages or ():
            yield from parts.written(message.content, "read as the answer", looked)
            yield from parts.rest(message.more)
        for asked in body.asked:
            yield from parts.note("asked the model", *parts.cost(asked, asked.usage))
            yield from parts.text(asked.system, "system prompt", folded=True)
            yield from parts.text(asked.message, "message", looked=looked)
            yield from parts.text(asked.content, "reply", looked=looked)
            yield from parts.text(asked.error, "error", kind="error")
            thought = {} if asked.reasoning is None else {"reasoning": asked.reasoning}
            yield from parts.rest({**thought, **asked.more})
        yield from parts.rest(body.more)
        yield from parts.rest(update.more, "also changed")

    def brought(self, body: Node) -> Iterable[str] | None:
        """The tool results as it left them: the agent read these texts."""
        return None if body.error else [message.content for message in body.update.results]


def _changes(slot: str, update: Update) -> str:
    results, pending = update.results, update.pending or ()
    changes = []
    for message in results:
        passages, is_list = message.found.passages, message.found.lists_passages
        left = count(len(passages), "passage") if is_list else "rewritten"
        changes.append(f"call {(message.of or 0) + 1}: {left}")
    if slot == "after_answer" and pending:
        changes.append("sent back")
    elif len(results) < len(pending):
        changes.append(count(len(pending), "opening message"))
    if update.readings is not None:
        changes.append(count(len(update.readings), "reading"))
    if update.messages is not None:
        changes.append("another answer")
    return "; ".join(changes) or "no change"


def _result(message: ChangedMessage, of: int, around: Around) -> Iterator[Block]:
    """A tool result: its passages in their order, those that are gone, the text."""
    looked, listed_passages = around.looked, message.found
    passages = listed_passages.passages
    left = {passage.id for passage in passages}
    given = [c for c in around.calls if any(change.message is message for change in c.changes)]
    before = given[0].result.found.passages if given else ()
    gone = [passage for passage in before if passage.id not in left]
    listed = counted(len(passages), "passage") if listed_passages.lists_passages else ""
    yield from parts.note(f"call {of + 1}", listed, f"{len(gone)} left out")
    for passage in passages:
        yield from parts.passage_blocks(passage, looked)
    for passage in gone:
        yield parts.passage(passage, looked, notes=["left out"], folded=True)
    yield from parts.text(message.content, READ, looked=looked, folded=bool(passages))
    yield from parts.rest(listed_passages.without("passages"))
    yield from parts.rest(message.more)
