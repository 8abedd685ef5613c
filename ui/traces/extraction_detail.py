"""Evidence extraction: of each passage the spans that were copied out of it, in its text."""

from collections.abc import Iterator, Mapping
from typing import Any

from branchwise.trace.records import listed, mapping
from branchwise.ui.traces import parts
from branchwise.ui.traces.blocks import Block
from branchwise.ui.traces.marks import spans_in
from branchwise.ui.traces.parts import Looked
from branchwise.ui.traces.tool_detail import extracted, record_of

_OF_PASSAGE = ("id", "spans", "dropped", "how", "whole", "reasoning", "error", "usage")
_KNOWN = ("call", "of", "passages", "content")


def extraction_blocks(
    data: Mapping[str, Any], looked: Looked, result: Mapping[str, Any] | None
) -> Iterator[Block]:
    """Each passage with its spans marked, and what was dropped; `result` is what was read."""
    call, of = mapping(data.get("call")), data.get("of")
    number = f"call {of + 1}" if isinstance(of, int) else "call"
    name, id = call.get("name"), call.get("id") or ""
    yield from parts.note(f"of {number}", str(name), str(id))
    yield from parts.overlong(name=name, id=id)
    passages = listed(mapping(mapping(result).get("artifact")).get("passages"))
    for place, record in enumerate(data["passages"]):
        own = record_of(passages, place, record)
        yield from _passage(record, own, looked)
    yield from parts.text(data.get("content"), "as the agent read it", looked=looked, folded=True)
    yield from parts.rest(data, _KNOWN)
    yield from parts.rest(call, ("id", "name", "args"))


def _passage(
    record: Mapping[str, Any], passage: Mapping[str, Any] | None, looked: Looked
) -> Iterator[Block]:
    spans = [str(span) for span in record["spans"]]
    shown = passage if passage is not None else {"text": "\n".join(spans)}
    text = str(shown.get("text") or "")
    # On one line, as the extractor read it: spans stand in it word for word.
    given = {**shown, "id": record["id"], "text": " ".join(text.split()) if passage else text}
    marks = spans_in(given["text"], spans)
    facts = [extracted(record), *parts.cost(record)]
    yield parts.passage(given, looked, notes=facts, marks=marks, folded=not spans)
    yield from parts.overlong(parts.MAX_TITLE, id=record["id"])
    yield from parts.dropped_blocks(record["dropped"], looked)
    yield from parts.text(record.get("error"), "extraction failed", kind="error")
    yield from parts.text(record.get("reasoning"), "reasoning", folded=True)
    yield from parts.rest(record, (*_OF_PASSAGE, "seconds", "replayed"))
