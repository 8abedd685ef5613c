"""A step of a trace in words: for `ask` as it happens, for the trace's tree, and in full.

Passages and model output are data: each line is plain text without control characters, for a
console that does not interpret markup. A step that is not understood, of a newer version or of a
plug-in, is shown as it was recorded.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from branchwise.base.text import printable
from branchwise.report.terminal.blocks import Block
from branchwise.report.terminal.step_text import SHOWN_RESULTS, short
from branchwise.trace.events import Event, Unknown
from branchwise.ui.steps import parts
from branchwise.ui.steps.words import Around, words_of

MAX_LABEL = 160
EDITED = "edited: a text that was written for this run stands in the place of the step's own"


def label(event: Event) -> str:
    """One line of at most 160 printable characters, the essential first.

    A step that a fork edited says so first.
    """
    body = event.body
    said = words_of(body).label(body) if _is_understood(event) else _as_recorded(event)
    return short(printable(f"edited {said}" if body.edited else said, " "), MAX_LABEL)


def describe(event: Event, *, passages: int = SHOWN_RESULTS) -> list[str]:
    """The lines that say what a step did; of a search or query, the first `passages` results.

    One that a fork edited says so.
    """
    body = event.body
    if _is_understood(event):
        first, *more = words_of(body).lines(body, passages)
    else:
        first, more = _as_recorded(event), []
    return [printable(line, " ") for line in (f"{first} (edited)" if body.edited else first, *more)]


def blocks(event: Event, around: Around) -> list[Block]:
    """Everything that the trace has of a step, its heading first."""
    body = event.body
    head = parts.heading(f"step {event.seq}: {event.kind} · {label(event)}")
    notes = parts.note(EDITED) if body.edited else ()
    if _is_understood(event):
        return [head, *notes, *words_of(body).blocks(body, around)]
    return [head, *notes, parts.as_json(_record(event))]


def brought(event: Event) -> Iterable[str] | None:
    """The texts in which a step brought answers; None where it is of a kind that brings none."""
    return words_of(event.body).brought(event.body)


def _is_understood(event: Event) -> bool:
    return not (isinstance(event.body, Unknown) or event.body.problems)


def _as_recorded(event: Event) -> str:
    return f"{event.kind}: {short(_record(event))}"


def _record(event: Event) -> Mapping[str, Any]:
    return event.data if event.body.problems else event.body.more
