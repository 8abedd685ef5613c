"""One step in full: everything that the trace has of it, as blocks."""

from collections.abc import Callable, Iterator, Mapping

from branchwise.eval.errors.labels import Label
from branchwise.trace.events import Event
from branchwise.trace.records import mapping
from branchwise.ui.step_labels import label
from branchwise.ui.steps import MALFORMED, without_edit
from branchwise.ui.traces import parts
from branchwise.ui.traces.blocks import Block
from branchwise.ui.traces.extraction_detail import extraction_blocks
from branchwise.ui.traces.model_detail import answer_blocks, expansion_blocks, model_blocks
from branchwise.ui.traces.node_detail import node_blocks
from branchwise.ui.traces.parts import MAX_FACT, MAX_TITLE, Looked
from branchwise.ui.traces.tool_detail import tool_blocks
from branchwise.ui.traces.trace import Trace
from branchwise.ui.traces.turns import extraction_of, read_by_node, result_of

EDITED = "edited: a text that was written for this run stands in the place of the step's own"


def blocks(trace: Trace, seq: int) -> list[Block]:
    """What a step shows, its heading first; nothing where the trace has no such step.

    A step of an unknown kind, or of a form that is not known, is shown as JSON.
    """
    event = trace.event(seq)
    if event is None:
        return []
    said = label(event.kind, event.data)
    head = parts.heading(f"step {event.seq}: {event.kind} · {said}")
    edited, own = without_edit(event.data)
    notes = [*parts.note(EDITED)] if edited else []
    event = Event(event.seq, event.kind, event.at, own)
    try:
        return [head, *notes, *_WRITERS.get(event.kind, _unknown)(trace, event, looked_for(trace))]
    except MALFORMED:
        return [head, *notes, parts.as_json(own)]


def looked_for(trace: Trace) -> Looked:
    """Gold answers, and wrong texts that are nobody's answer, to be marked in every text."""
    wrong = trace.errors.wrong if trace.errors else ()
    texts = dict.fromkeys(w.text for w in wrong if w.label is not Label.WRONG_BRANCH)
    return Looked(trace.names, tuple((text,) for text in texts))


def _start(trace: Trace, event: Event, looked: Looked) -> Iterator[Block]:
    data, artifact = event.data, mapping(event.data.get("artifact"))
    yield from parts.text(data.get("system"), "system prompt", folded=True)
    yield from parts.text(data["content"], "question", looked=looked)
    for passage in artifact.get("passages") or ():
        yield parts.passage(passage, looked)
        yield from parts.overlong(MAX_TITLE, id=passage.get("id"), title=passage.get("title"))
        yield from parts.rest(passage, ("id", "title", "text"))
    yield from parts.rest(data, ("system", "content", "artifact"))
    yield from parts.rest(artifact, ("passages",))


def _tool(trace: Trace, event: Event, looked: Looked) -> Iterator[Block]:
    extraction = extraction_of(trace.events, event.seq)
    yield from tool_blocks(event.data, looked, extraction.data if extraction else None)


def _extraction(trace: Trace, event: Event, looked: Looked) -> Iterator[Block]:
    result = result_of(trace.events, event.seq)
    yield from extraction_blocks(event.data, looked, result.data if result else None)


def _model(trace: Trace, event: Event, looked: Looked) -> Iterator[Block]:
    yield from model_blocks(event.data, looked)


def _expansion(trace: Trace, event: Event, looked: Looked) -> Iterator[Block]:
    yield from expansion_blocks(event.data, looked)


def _answer(trace: Trace, event: Event, looked: Looked) -> Iterator[Block]:
    yield from answer_blocks(event.data, looked, trace.errors)


def _node(trace: Trace, event: Event, looked: Looked) -> Iterator[Block]:
    yield from node_blocks(event.data, looked, read_by_node(trace.events, event.seq))


def _incident(trace: Trace, event: Event, looked: Looked) -> Iterator[Block]:
    """Budget, retry, repair, error and the like: short facts on one line, then the texts."""
    short = {k: v for k, v in event.data.items() if k not in _SAID and _is_short(v)}
    yield from parts.note(*(f"{key}: {value}" for key, value in short.items()))
    wrong = event.kind in ("error", "retry", "repair_failed")
    texts = {k: v for k, v in event.data.items() if k not in short and isinstance(v, str)}
    for key, value in texts.items():
        yield from parts.text(value, key, kind="error" if wrong else "text")
    yield from parts.rest(event.data, (*short, *texts))


def _is_short(value: object) -> bool:
    if isinstance(value, str):
        return len(value) < MAX_FACT // 2 and "\n" not in value
    return value is None or isinstance(value, int | float)


def _unknown(trace: Trace, event: Event, looked: Looked) -> Iterator[Block]:
    yield parts.as_json(event.data)


_SAID = ("message", "problem", "reason", "text")
_Writer = Callable[[Trace, Event, Looked], Iterator[Block]]
_WRITERS: Mapping[str, _Writer] = {
    "start": _start,
    "model": _model,
    "tool": _tool,
    "extraction": _extraction,
    "expansion": _expansion,
    "node": _node,
    "answer": _answer,
    **dict.fromkeys(
        (
            "budget",
            "context_trimmed",
            "error",
            "left_out",
            "repair",
            "repair_failed",
            "retry",
            "structured_off",
        ),
        _incident,
    ),
}
