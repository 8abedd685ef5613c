"""A tool call with what it brought, and what evidence extraction left of it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from branchwise.trace.records import listed, mapping
from branchwise.ui.traces import parts
from branchwise.ui.traces.blocks import Block
from branchwise.ui.traces.marks import spans_in
from branchwise.ui.traces.parts import MAX_FACT, MAX_TITLE, Looked
from branchwise.ui.traces.tables import MAX_COLUMNS, matches_table, rows_laid_out, rows_table

_READ = "as the agent read it"
RENDERED = "rendered"
"""In a tool's artifact: the lines of its own renderer (tools/plugins/rendering.py)."""


def call_blocks(call: Any, title: str) -> Iterator[Block]:
    """A call's name and arguments: a SPARQL query, and texts of several lines, each on its own."""
    record = mapping(call)
    name, args, id = record.get("name"), record.get("args"), record.get("id")
    head = f"{title} {parts.line(name, MAX_FACT)}"
    head += f" · {parts.line(id, MAX_FACT)}" if id else ""
    if not isinstance(args, Mapping):
        yield from parts.text(args if isinstance(args, str) else parts.pretty(args), head)
    else:
        apart = {key: value for key, value in args.items() if _stands_apart(name, key, value)}
        others = {key: value for key, value in args.items() if key not in apart}
        if others or not apart:
            yield parts.as_json(others, head)
            head = ""
        for key, value in apart.items():
            own = " ".join(filter(None, [head, f"· {key}" if head else key]))
            is_query = key == "query" and "sparql" in str(name).lower()
            yield from [parts.sparql(value, own)] if is_query else parts.text(value, own)
            head = ""
    yield from parts.overlong(name=name, id=id)
    yield from parts.rest(record, ("id", "name", "args"))


def _stands_apart(name: Any, key: str, value: Any) -> bool:
    query = key == "query" and "sparql" in str(name).lower()
    return isinstance(value, str) and (query or "\n" in value)


def tool_blocks(
    data: Mapping[str, Any], looked: Looked, extraction: Mapping[str, Any] | None
) -> Iterator[Block]:
    """Arguments, then the error or all that came; extracted spans are marked in the passages."""
    of = data.get("of")
    yield from call_blocks(data["call"], f"call {of + 1}" if isinstance(of, int) else "call")
    yield from parts.note(*parts.cost(data))
    if data.get("error"):
        failure = data.get("failure")
        yield from parts.text(data["error"], f"error: {failure or 'failed'}", kind="error")
        yield from parts.overlong(failure=failure)
        yield from parts.text(data.get("content"), _READ, folded=True)
    else:
        yield from _rendered(data, looked)
        yield from _brought(data, mapping(data.get("artifact")), looked, extraction)
    known = ("call", "of", "seconds", "replayed", "error", "failure", "content", "artifact")
    yield from parts.rest(data, known)
    shown = ("passages", "rows", "matches", RENDERED)
    yield from parts.rest(mapping(data.get("artifact")), shown)


def _rendered(data: Mapping[str, Any], looked: Looked) -> Iterator[Block]:
    """What the tool's own renderer showed of the call when it was made."""
    lines = mapping(data.get("artifact")).get(RENDERED)
    if isinstance(lines, list):
        title = f"as {parts.line(mapping(data['call']).get('name'), MAX_FACT)} shows it"
        yield from parts.text("\n".join(map(str, lines)), title, looked=looked)
    elif lines is not None:
        yield parts.as_json(lines, RENDERED)


def _brought(
    data: Mapping[str, Any],
    artifact: Mapping[str, Any],
    looked: Looked,
    extraction: Mapping[str, Any] | None,
) -> Iterator[Block]:
    content = data.get("content")
    if not artifact.keys() & {"passages", "rows", "matches"}:
        yield from parts.text(content, "result", looked=looked)
        return
    records = listed(mapping(extraction).get("passages"))
    passages = listed(artifact.get("passages"))
    for number, passage in enumerate(passages):
        yield from _passage(passage, looked, record_of(records, number, passage))
    if rows := mapping(artifact.get("rows")):
        yield from _rows(rows, content, looked)
    if matches := listed(artifact.get("matches")):
        yield matches_table(matches, looked)
        yield parts.as_json(matches, "as recorded", folded=True)
    empty = not (passages or matches or mapping(artifact.get("rows")).get("rows"))
    yield from parts.text(content, _READ, looked=looked, folded=not empty)


def _passage(
    passage: Mapping[str, Any], looked: Looked, record: Mapping[str, Any] | None
) -> Iterator[Block]:
    spans = mapping(record).get("spans")
    texts = [str(span) for span in spans] if isinstance(spans, list) else []
    marks = spans_in(str(passage.get("text") or ""), texts) if texts else ()
    score = passage.get("score")
    notes = (
        [f"{score:.4g}" if isinstance(score, float) else str(score)] if score is not None else []
    )
    if record is not None:
        notes.append(extracted(record))
    yield parts.passage(passage, looked, notes=notes, marks=marks)
    yield from parts.overlong(MAX_TITLE, id=passage.get("id"), title=passage.get("title"))
    yield from parts.rest(passage, ("id", "title", "text", "score"))


def extracted(record: Mapping[str, Any]) -> str:
    """What evidence extraction left of a passage, in few words."""
    how, spans = record.get("how"), record.get("spans")
    if how == "failed":
        return "extraction failed, shown whole"
    count = len(spans) if isinstance(spans, list) else 0
    whole = " (whole)" if record.get("whole") else ""
    return f"{count} span{'' if count == 1 else 's'}{whole}" if count else "nothing extracted"


def record_of(
    records: Sequence[Mapping[str, Any]], number: int, passage: Mapping[str, Any]
) -> Mapping[str, Any] | None:
    """What was extracted of a passage: by its place, in other orders by its id."""
    if number < len(records) and records[number].get("id") == passage.get("id"):
        return records[number]
    return next((r for r in records if r.get("id") == passage.get("id")), None)


def _rows(rows: Mapping[str, Any], content: Any, looked: Looked) -> Iterator[Block]:
    listed_rows = rows.get("rows") or []
    facts = [f"{len(listed_rows)} row{'' if len(listed_rows) == 1 else 's'}"]
    if rows.get("complete") is False:
        facts.append("there are more")
    if rows.get("boolean") is not None:
        facts = ["yes" if rows["boolean"] else "no"]
    if (laid_out := rows_laid_out(rows)) < len(listed_rows):
        facts.append(f"the first {laid_out} are laid out")
    if len(rows.get("variables") or ()) > MAX_COLUMNS:
        facts.append(f"the first {MAX_COLUMNS} columns are laid out")
    yield from parts.note(*facts)
    if listed_rows:
        yield rows_table(rows, looked)
    yield parts.as_json(rows, "as recorded", folded=True)
