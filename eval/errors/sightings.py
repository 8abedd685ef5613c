"""What the result of a tool call mentions, piece by piece, and what of it the agent saw."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from branchwise.eval.errors.node_changes import Sighting, changed
from branchwise.eval.errors.sought import Found, Sought
from branchwise.eval.errors.trace_reading import ToolCall, listed, mapping

_ROWS_SHOWN = re.compile(r"\((\d+) of them shown;")
_CUT = re.compile(r"\n\[cut: \d+ characters\]\Z")
_MAX_CUT = 60
_LABEL = "Label"


def sightings(call: ToolCall, sought: Sought) -> Iterator[Sighting]:
    """Passages, rows, matches by name, or the text of a tool that has none of them.

    Nothing for a call that failed: its text repeats what was asked. What its tool did not put out
    (rows behind those that fitted) was not retrieved. What nodes brought in is evidence, too.
    """
    pieces: Iterator[Sighting] = iter(())
    if call.error is None:
        pieces = _pieces(call, mapping(call.data.get("artifact")), sought)
    if call.changes:
        pieces = _after_nodes(call, pieces, sought)
    for sighting in pieces:
        if sighting.things:
            yield sighting if call.seen else sighting._replace(shown=frozenset())


def _pieces(call: ToolCall, artifact: Mapping[str, Any], sought: Sought) -> Iterator[Sighting]:
    content = str(call.data.get("content") or "")
    if not artifact.keys() & {"passages", "rows", "matches"}:
        yield _whole(sought.in_text(content))
        return
    yield from _passages(call, listed(artifact.get("passages")), content, sought)
    if "rows" in artifact:
        yield from _rows(mapping(artifact["rows"]), _rows_shown(content), sought)
    yield from _matches(listed(artifact.get("matches")), sought)


def _after_nodes(call: ToolCall, pieces: Iterator[Sighting], sought: Sought) -> Iterator[Sighting]:
    """What nodes left and brought, less what extraction, which read this, cut off then."""
    for piece in changed(pieces, call.changes, sought):
        if call.extraction is None or piece.step is None:
            yield piece
        else:
            text = str(call.extraction.get("content") or "")
            yield piece._replace(shown=piece.shown & sought.in_text(text))


def given_passages(start: Mapping[str, Any], sought: Sought) -> Iterator[Sighting]:
    """Passages that came with the question: they are in every request."""
    for passage in listed(mapping(start.get("artifact")).get("passages")):
        things = sought.in_passage(_text(passage, "title"), _text(passage, "text"))
        if things:
            yield _whole(things, passage=_text(passage, "id"))


def _whole(things: Found, passage: str | None = None, row: int | None = None) -> Sighting:
    return Sighting(things, things, passage, row)


def _passages(
    call: ToolCall, passages: Sequence[Mapping[str, Any]], content: str, sought: Sought
) -> Iterator[Sighting]:
    records = _extracted(call, passages) if call.extraction is not None else ()
    visible = sought.in_text(content) if _CUT.search(content[-_MAX_CUT:]) else None
    for number, passage in enumerate(passages):
        # Most of the work on a trace is here: the same passages come again and again.
        title, text = passage.get("title"), passage.get("text")
        title = title if isinstance(title, str) else ""
        things = shown = sought.in_passage(title, text if isinstance(text, str) else "")
        if not things:
            continue
        record = records[number] if records else None
        if record is not None:
            shown = _in_spans(record, title, things, sought)
        elif visible is not None:
            shown = things & visible
        yield Sighting(things, shown, _text(passage, "id"))


def _extracted(
    call: ToolCall, passages: Sequence[Mapping[str, Any]]
) -> Sequence[Mapping[str, Any] | None]:
    """What the extraction made of each passage; None for one that it left alone."""
    records = listed(mapping(call.extraction).get("passages"))
    if [r.get("id") for r in records] == [p.get("id") for p in passages]:
        return records
    by_id = {_text(record, "id"): record for record in records}
    return [by_id.get(_text(passage, "id")) for passage in passages]


def _in_spans(record: Mapping[str, Any], title: str, things: Found, sought: Sought) -> Found:
    """Of a passage with spans the agent sees the title and these, of one without nothing.

    Where the extraction failed, or a span is the whole passage, it sees all.
    """
    if record.get("how") == "failed" or record.get("whole"):
        return things
    spans = record.get("spans")
    texts = [str(span) for span in spans] if isinstance(spans, list) else []
    found = [sought.among(things, text) for text in [title, *texts]] if texts else []
    return frozenset().union(*found)


def _rows(record: Mapping[str, Any], shown: int | None, sought: Sought) -> Iterator[Sighting]:
    variables, rows = record.get("variables"), record.get("rows")
    names = [str(name) for name in variables] if isinstance(variables, list) else []
    labels = mapping(record.get("labels"))
    for number, row in enumerate(rows[:shown] if isinstance(rows, list) else ()):
        if isinstance(row, list):
            cells = [mapping(cell) for cell in row]
            yield _whole(_in_row(cells, names, labels, sought), row=number)


def _in_row(
    cells: Sequence[Mapping[str, Any]],
    names: Sequence[str],
    labels: Mapping[str, Any],
    sought: Sought,
) -> Found:
    """Literals by their text, IRIs by the id at their end and by their label.

    A literal ?xLabel beside an IRI ?x is its label.
    """
    named = dict(zip(names, cells, strict=False))
    iris = {n: _text(c, "value") for n, c in named.items() if c.get("type") == "uri"}
    found: set[int] = set()
    for name, address in iris.items():
        beside = _text(named.get(f"{name}{_LABEL}", {}), "value")
        found |= sought.named(last_part(address), [_text(labels, address), beside])
    for name, cell in named.items():
        is_label = name.endswith(_LABEL) and name.removesuffix(_LABEL) in iris
        if cell.get("type") == "literal" and not is_label:
            found |= sought.in_text(_text(cell, "value"))
    return frozenset(found)


def _matches(matches: Sequence[Mapping[str, Any]], sought: Sought) -> Iterator[Sighting]:
    for number, match in enumerate(matches):
        names = [_text(match, "label"), _text(match, "name")]
        yield _whole(sought.named(last_part(_text(match, "id")), names), row=number)


def _rows_shown(content: str) -> int | None:
    """How many rows the tool put out, where it says that these are not all.

    Rows are lines; the one that says so stands behind as many as it says, below the heading.
    """
    lines = content.split("\n")
    said = (
        number - 1
        for number, line in enumerate(lines)
        if (cut := _ROWS_SHOWN.match(line)) and cut[1] == str(number - 1)
    )
    return max(said, default=None)


def last_part(address: str) -> str:
    """The last part of an IRI: the number of an entity, for Wikidata's."""
    return address[max(address.rfind("/"), address.rfind("#")) + 1 :]


def _text(record: Mapping[str, Any], key: str) -> str:
    value = record.get(key)
    return value if isinstance(value, str) else ""
