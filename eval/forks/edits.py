"""A step's own text, to be edited: what it is, and the step with another one in its place."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from branchwise.agents.bodies import whole_characters
from branchwise.corpora.errors import InputError
from branchwise.eval.forks.written_turn import read_turn, written_turn
from branchwise.graphs.readings import MAX_CHARS, MAX_READINGS
from branchwise.graphs.tool_node import bounded
from branchwise.trace.events import Event

Data = Mapping[str, Any]
EDITABLE = "the question, an expansion, a model turn, a tool result, an extraction, a budget note"
_MAX_BYTES = 20_000_000


def editable(event: Event) -> str | None:
    """A step's text as a file to edit; None where it cannot be edited.

    `event` has its contents (`RunReader.events`). The question is the user's message; of a model
    turn it is the reply, with calls as JSON (`written_turn`); of a tool call or an extraction what
    the agent was shown of it; of an expansion the readings, one a line; of a budget note its text.
    """
    text = _text(event)
    return None if text is None else text + "\n" * (not text.endswith("\n"))


def edited(event: Event, text: str) -> Event:
    """The step with `text` in the place of its own; itself where nothing changed.

    One line end more than the step's own text has is the file's. A step that was edited says so
    (`edited`). Raises InputError for a text that the step cannot have.
    """
    own = _text(event)
    if own is None:
        raise InputError(
            f"step {event.seq} ({event.kind}) has no text that could be edited",
            remedy=f"leave out the edit, or choose another step: {EDITABLE}",
        )
    text = whole_characters(text)
    if not own.endswith("\n"):
        text = text.removesuffix("\n")
    if text == own:
        return event
    try:
        data = _EDITS[event.kind](event.data, text)
    except InputError as error:
        where = f"the text for step {event.seq}"
        raise InputError(error.what, where=where, remedy=error.remedy) from None
    return (
        event
        if data == event.data
        else Event(event.seq, event.kind, event.at, {**data, "edited": True})
    )


def read_edit(path: Path) -> str:
    """The text of a file, every character as it is. Raises InputError."""
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
    data = event.data
    match event.kind:
        case "start" | "tool" | "extraction":
            return str(data["content"])
        case "expansion":
            return "\n".join(data["readings"])
        case "budget":
            return str(data["text"])
        case "model" if data.get("role") != "repair":
            return written_turn(data)
    return None


def _start(data: Data, text: str) -> Data:
    if not text.strip():
        raise InputError("the user's message is empty", remedy="write what the agent is asked")
    return {**data, "content": text}


def _expansion(data: Data, text: str) -> Data:
    lines = [" ".join(line.split()) for line in text.splitlines()]
    readings = list(dict.fromkeys(line for line in lines if line))
    if len(readings) > MAX_READINGS or any(len(reading) > MAX_CHARS for reading in readings):
        raise InputError(
            f"there are at most {MAX_READINGS} readings of at most {MAX_CHARS} characters",
            remedy="write one reading a line",
        )
    how = "readings" if readings else "none"
    return {**data, "readings": readings, "dropped": [], "how": how}


def _tool(data: Data, text: str) -> Data:
    # The passages and rows behind it are no longer what the agent was shown.
    return {**data, "content": bounded(text), "artifact": {}, "error": None, "failure": None}


def _extraction(data: Data, text: str) -> Data:
    return {**data, "content": bounded(text)}


def _budget(data: Data, text: str) -> Data:
    return {**data, "text": text}


_EDITS: Mapping[str, Callable[[Data, str], Data]] = {
    "start": _start,
    "expansion": _expansion,
    "model": read_turn,
    "tool": _tool,
    "extraction": _extraction,
    "budget": _budget,
}
