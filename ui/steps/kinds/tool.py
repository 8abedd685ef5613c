"""Tool calls: as the model made them, what they brought, what evidence extraction left of it."""

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from branchwise.base.text import counted, cut, one_line
from branchwise.report.terminal.blocks import Block
from branchwise.report.terminal.marks import spans_in
from branchwise.report.terminal.step_text import begun, count, few, indented, short
from branchwise.trace.artifacts import RENDERED, ShownPassage, pieces
from branchwise.trace.events import Tool
from branchwise.trace.parts import Call, Extracted
from branchwise.ui.steps import parts
from branchwise.ui.steps.parts import MAX_FACT, Looked
from branchwise.ui.steps.words import Around, EventWords, says

READ = "as the agent read it"
MAX_QUERY_LINES = 12
_QUERY = "query"
_QUERY_WIDTH = 66
_BEGINNING = 80
"""Characters of a passage without a title that stand in its place."""
"""So that a query, indented twice, fits on a terminal of 80 columns, also in the demo."""
_MAX_WORD = 400


def call_lines(call: Call) -> Iterator[str]:
    """A call with its arguments; a SPARQL query stands whole, on lines of its own."""
    if not _has_query(call):
        yield indented(f"calls {call.tool}({arguments(call.args)})")
        return
    others = {key: value for key, value in call.args.items() if key != _QUERY}
    yield indented(f"calls {call.tool}" + (f"({arguments(others)})" if others else ""))
    lines = []
    for line in call.args[_QUERY].strip().splitlines():
        line = line.expandtabs(2).rstrip()
        margin = line[: len(line) - len(line.lstrip())][: _QUERY_WIDTH // 2]
        # Pieces that a terminal does not cut; words, and IRIs, stay whole.
        lines += textwrap.wrap(
            line.lstrip(),
            _QUERY_WIDTH,
            initial_indent=margin,
            subsequent_indent=f"{margin}  ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    shown = [line if len(line) <= _MAX_WORD else f"{line[:_MAX_WORD]}…" for line in lines]
    yield from (indented(f"  {line}") for line in few(shown, MAX_QUERY_LINES))


def arguments(args: Any) -> str:
    if not isinstance(args, Mapping):
        return short(args)
    return ", ".join(
        f"{key}={short(value, 80)!r}" if isinstance(value, str) else f"{key}={short(value, 80)}"
        for key, value in args.items()
    )


def call_blocks(call: Call, title: str) -> Iterator[Block]:
    """A call's name and arguments; texts of several lines stand each on its own, too."""
    head = f"{title} {parts.line(call.name, MAX_FACT)}"
    head += f" · {parts.line(call.id, MAX_FACT)}" if call.id else ""
    args = call.args
    if not isinstance(args, Mapping):
        yield from parts.text(args if isinstance(args, str) else parts.pretty(args), head)
    else:
        query = _QUERY if _has_query(call) else None
        apart = {k: v for k, v in args.items() if k == query or (isinstance(v, str) and "\n" in v)}
        others = {key: value for key, value in args.items() if key not in apart}
        if others or not apart:
            yield parts.as_json(others, head)
            head = ""
        for key, value in apart.items():
            own = f"{head} · {key}" if head else key
            yield from [parts.sparql(value, own)] if key == query else parts.text(value, own)
            head = ""
    yield from parts.overlong(name=call.name, id=call.id)
    yield from parts.rest(call.more)


def _has_query(call: Call) -> bool:
    is_sparql = isinstance(call.args, Mapping) and "sparql" in call.tool.lower()
    return is_sparql and isinstance(call.args.get(_QUERY), str)


@says(Tool)
class ToolWords(EventWords[Tool]):
    def label(self, body: Tool) -> str:
        if body.error:
            return f"{body.call.tool} failed: {body.error}"
        args = body.call.args
        values = args.values() if isinstance(args, Mapping) else [args]
        texts = [f'"{short(value)}"' for value in values if isinstance(value, str)]
        return " ".join(filter(None, [body.call.tool, _size(body), *texts[:1]]))

    def lines(self, body: Tool, most: int) -> Iterator[str]:
        name, result = f"{body.call.tool}:", body.found
        if body.error:
            first, *more = body.error.splitlines() or [""]
            yield begun("tool", f"{name} {first}")
            yield from map(indented, few(more, MAX_QUERY_LINES))
        elif result.rows is not None:
            first, *more = body.content.splitlines() or [""]
            yield begun("tool", f"{name} {short(first)}")
            yield from (indented(short(line)) for line in few(more, most))
        elif result.matches is not None:
            of = f"{count(len(result.matches), 'match', 'matches')} for "
            of = "" if body.content.startswith("nothing is called") else of
            yield begun("tool", f"{name} {of}{arguments(body.call.args)}")
            lines = body.content.splitlines()
            headed = bool(lines) and lines[0].endswith(":")
            yield from (indented(short(line)) for line in few(lines, most + headed))
        elif passages := result.passages:
            of = f"{counted(len(passages), 'passage')} for {arguments(body.call.args)}"
            yield begun("tool", f"{name} {of}")
            yield from map(indented, few([*map(_title, passages)], most, "more"))
        else:
            yield begun("tool", f"{name} {short(body.content)}")

    def blocks(self, body: Tool, around: Around) -> Iterator[Block]:
        """Arguments, then the error or all that came; extracted spans are marked in passages."""
        looked, rendered = around.looked, body.found.rendered
        yield from call_blocks(body.call, f"call {body.of + 1}")
        yield from parts.note(*parts.cost(body))
        if body.error:
            why = body.failure or "failed"
            yield from parts.text(body.error, f"error: {why}", kind="error")
            yield from parts.overlong(failure=body.failure)
            yield from parts.text(body.shown, READ, folded=True)
        else:
            # What the tool's own renderer showed of the call when it was made.
            if isinstance(rendered, list):
                title = f"as {parts.line(body.call.tool, MAX_FACT)} shows it"
                yield from parts.text("\n".join(map(str, rendered)), title, looked=looked)
            elif rendered is not None:
                yield parts.as_json(rendered, RENDERED)
            yield from _result(body, around)
        asked = [question.record() for question in body.asked]
        yield from parts.rest({**({"asked": asked} if asked else {}), **body.more})
        yield from parts.rest(body.found.more)

    def brought(self, body: Tool) -> Iterable[str] | None:
        if body.error:
            return None
        return (text for piece in pieces(body.found, body.content) for text in piece.wording)


def _size(body: Tool) -> str:
    """How much it brought; nothing of a text."""
    result, rows = body.found, body.found.rows
    if rows is not None:
        if rows.boolean is None:
            return count(len(rows), "row")
        return "yes" if rows.boolean else "no"
    if result.is_text:
        return ""
    return str(len(result.passages if result.matches is None else result.matches))


def _title(passage: ShownPassage) -> str:
    score = f"{passage.score:.3f}  " if isinstance(passage.score, int | float) else ""
    name = passage.title or cut(one_line(passage.text), _BEGINNING)
    return f"{score}[{passage.id}] {name}"


def _result(body: Tool, around: Around) -> Iterator[Block]:
    result, looked = body.found, around.looked
    if result.is_text:
        yield from parts.text(body.shown, "result", looked=looked)
        return
    extraction = next((call.extraction for call in around.calls if call.result is body), None)
    records = extraction.passages if extraction else ()
    for index, passage in enumerate(result.passages):
        yield from _passage(passage, at_index(passage.id, index, records), looked)
    if result.rows is not None:
        yield from parts.rows_blocks(result.rows, looked)
    if result.matches:
        yield from parts.matches_blocks(result.matches, looked)
    if result.repeats:
        titles = [parts.line(f"[{again.id}] {again.title}", MAX_FACT) for again in result.repeats]
        yield from parts.text("\n".join(titles), "shown before, by title only", looked=looked)
    is_empty = not (result.passages or result.rows or result.matches)
    yield from parts.text(body.shown, READ, looked=looked, folded=not is_empty)


def _passage(passage: ShownPassage, record: Extracted | None, looked: Looked) -> Iterator[Block]:
    score = passage.score
    notes = [] if score is None else [f"{score:.4g}" if isinstance(score, float) else str(score)]
    notes += [extracted(record)] if record else []
    notes += [f"passage {passage.part}"] if passage.part else []
    marks = spans_in(passage.text, record.spans) if record else ()
    yield from parts.passage_blocks(passage, looked, notes=notes, marks=marks)


def extracted(record: Extracted) -> str:
    """What evidence extraction left of a passage, in few words."""
    if record.how == "failed":
        return "extraction failed, shown whole"
    whole = " (whole)" if record.whole else ""
    kept = f"{count(len(record.spans), 'span')}{whole}" if record.spans else "nothing extracted"
    return f"{kept}, read before" if record.reused else kept


class _WithId(Protocol):
    @property
    def id(self) -> str: ...


T = TypeVar("T", bound=_WithId)


def at_index(id: str, index: int, listed: Sequence[T]) -> T | None:
    """What belongs to a passage, or the passage itself: at its index, in other orders by its id."""
    return next((own for own in [*listed[index : index + 1], *listed] if own.id == id), None)
