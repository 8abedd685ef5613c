"""The editable text of a step, and the step with another text in its place."""

from pathlib import Path

from branchwise.base.errors import InputError
from branchwise.base.text import one_line, whole_characters
from branchwise.graphs.list_replies import MAX_CHARS, MAX_READINGS
from branchwise.runs.forks.written_turn import read_turn, written_turn
from branchwise.tools.tool_results import bounded
from branchwise.trace.events import (
    Body,
    BudgetSpent,
    Event,
    Expansion,
    Extraction,
    Model,
    Start,
    Tool,
)

EDITABLE = "the question, an expansion, a model turn, a tool result, an extraction, a budget note"
_MAX_BYTES = 20_000_000


def editable(event: Event) -> str | None:
    """A step's text as a file to edit; None if it cannot be edited.

    `event` has its contents (`RunReader.events`). The text of a question is the user's message; of
    a model turn, the reply, with calls as JSON (`written_turn`); of a tool call or an extraction,
    what the agent saw of it; of an expansion, the readings, one per line; of a budget note, the
    note.
    """
    text = _text(event)
    return None if text is None else text + "\n" * (not text.endswith("\n"))


def edited(event: Event, text: str) -> Event:
    """The step with `text` in place of its own; the step itself if nothing changed.

    One newline more than in the step's own text belongs to the file. An edited step is marked
    (`edited`). Raises InputError for a text that the step cannot have.
    """
    own = _text(event)
    if own is None:
        raise InputError(
            f"step {event.seq} ({event.kind}) has no editable text",
            remedy=f"leave out the edit, or choose another step: {EDITABLE}",
        )
    text = whole_characters(text)
    if not own.endswith("\n"):
        text = text.removesuffix("\n")
    if text == own:
        return event
    try:
        body = _edited(event.body, text)
    except InputError as error:
        where = f"the text for step {event.seq}"
        raise InputError(error.what, where=where, remedy=error.remedy) from None
    return event if body == event.body else event.with_body(body.changed(edited=True))


def read_edit(path: Path) -> str:
    """The text of a file, unchanged. Raises InputError."""
    try:
        with path.open("rb") as file:
            body = file.read(_MAX_BYTES + 1)
        if len(body) > _MAX_BYTES:
            raise InputError("is longer than 20 MB", where=str(path), remedy="shorten the text")
        return body.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "not UTF-8"
        raise InputError(
            f"cannot be read ({why})", where=str(path), remedy="name a text file with the edit"
        ) from error


def _text(event: Event) -> str | None:
    match event.body:
        case Start() | Tool() | Extraction() as body:
            return body.content
        case Expansion() as body:
            return "\n".join(body.readings)
        case BudgetSpent() as body:
            return body.text
        case Model(is_repair=False) as body:
            return written_turn(body)
    return None


def _edited(body: Body, text: str) -> Body:
    match body:
        case Start() if not text.strip():
            raise InputError(
                "the user's message is empty", remedy="write what the agent should be asked"
            )
        case Expansion():
            readings = _readings(text)
            how = "readings" if readings else "none"
            return body.changed(readings=readings, dropped=(), how=how)
        case Model():
            return read_turn(body, text)
        case Tool():
            # What the agent now sees did not come from these passages and rows.
            return body.changed(content=bounded(text), artifact={}, error=None, failure=None)
        case Extraction():
            return body.changed(content=bounded(text))
        case BudgetSpent():
            return body.changed(text=text)
    return body.changed(content=text)


def _readings(text: str) -> tuple[str, ...]:
    lines = [one_line(line) for line in text.splitlines()]
    readings = tuple(dict.fromkeys(line for line in lines if line))
    if len(readings) > MAX_READINGS or any(len(reading) > MAX_CHARS for reading in readings):
        raise InputError(
            f"there are at most {MAX_READINGS} readings of at most {MAX_CHARS} characters",
            remedy="write one reading per line",
        )
    return readings
