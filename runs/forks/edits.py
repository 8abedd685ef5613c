"""The editable text of a step, the step with another text in its place, and what a fork copies."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from branchwise.agents.response_bodies import MAX_CALLS, make_call
from branchwise.base.errors import InputError
from branchwise.base.text import one_line, whole_characters
from branchwise.graphs.list_replies import MAX_CHARS, MAX_READINGS
from branchwise.tools.tool_results import bounded
from branchwise.trace.conversation import execution_of, taken_up_at
from branchwise.trace.events import (
    Body,
    BudgetSpent,
    Event,
    Expansion,
    Extraction,
    Model,
    Node,
    Start,
    Tool,
)
from branchwise.trace.parts import Call

EDITABLE = "the question, an expansion, a model turn, a tool result, an extraction, a budget note"
_MAX_BYTES = 20_000_000


def editable(event: Event) -> str | None:
    """A step's text as a file to edit: message, reply (calls as JSON), what the agent saw of a
    result, readings one a line, or note; None if it cannot be edited."""
    text = _text(event)
    return None if text is None else text + "\n" * (not text.endswith("\n"))


def edited(event: Event, text: str) -> Event:
    """The step, marked, with `text` in place of its own; itself if nothing changed. One newline
    more than in its own text belongs to the file."""
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


_KEYS = {"text", "tool_calls"}
_CALL_KEYS = {"name", "args"}
_BEGINS = re.compile(r'\s*\{\s*"(?:text|tool_calls)')
_FORM = 'write {"text": "...", "tool_calls": [{"name": "...", "args": {...}}]}'


def written_turn(turn: Model) -> str:
    """A recorded turn as text; `read_turn` of it gives the same turn."""
    calls, text = turn.calls, turn.text
    if not calls and not _is_form(text):
        return text
    listed = [{"name": call.name, "args": call.args} for call in calls]
    return json.dumps({"text": text, "tool_calls": listed}, ensure_ascii=False, indent=2)


def read_turn(turn: Model, written: str) -> Model:
    """The recorded turn with another reply; calls keep the ids of those that they replace."""
    text, calls = _read_form(written) if _is_form(written) else (written, [])
    # The ids that the turn's calls had, then new ones.
    ids = [str(call.id) for call in turn.calls][: len(calls)]
    numbered = (f"edited_{n}" for n in range(2 * len(calls) + len(ids)))
    free = [id for id in numbered if id not in ids]
    valid: list[Call] = []
    invalid: list[Call] = []
    for call, id in zip(calls, [*ids, *free], strict=False):
        made = make_call(call["name"] or "", call.get("args", {}), id)
        (invalid if "error" in made else valid).append(Call(id, call["name"], made["args"]))
    reply = turn.changed(text=text, tool_calls=tuple(valid), invalid_tool_calls=tuple(invalid))
    return turn if reply == turn else reply.changed(finish="tool_calls" if calls else "stop")


def _is_form(text: str) -> bool:
    """Whether a text is meant as JSON with a reply, even if broken: an answer is JSON, too, so only
    the keys, or the beginning of a broken one, tell."""
    if not text.lstrip().startswith("{"):
        return False
    try:
        keys = set(json.loads(text))
    except (ValueError, RecursionError):
        return '"tool_calls"' in text or bool(_BEGINS.match(text))
    return "tool_calls" in keys or keys == {"text"}


def _read_form(text: str) -> tuple[str, list[Mapping[str, Any]]]:
    try:
        form = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"the reply is not valid JSON ({error})", remedy=_FORM) from None
    said, calls = form.get("text") or "", form.get("tool_calls", [])
    if set(form) - _KEYS or not isinstance(said, str) or not isinstance(calls, list):
        raise InputError(
            "the reply does not have the form of a reply with tool calls", remedy=_FORM
        )
    if len(calls) > MAX_CALLS:
        raise InputError(f"a turn has at most {MAX_CALLS} tool calls", remedy="leave some out")
    for number, call in enumerate(calls, 1):
        if not _is_call(call):
            raise InputError(f"tool call {number} has no name and arguments", remedy=_FORM)
    return said, calls


def _is_call(call: Any) -> bool:
    if not isinstance(call, dict) or set(call) - _CALL_KEYS or "name" not in call:
        return False
    named = call["name"] is None or isinstance(call["name"], str)
    return named and isinstance(call.get("args", {}), dict | str)


def opening_of(events: Sequence[Event], place: int, edit: str | None) -> list[Event]:
    """The first events of a fork at `events[place]`; none if everything is repeated. Without an
    edit the step's own node runs again; with one, only what follows the step does."""
    if edit is None:
        return [_replayed(event) for event in events[: taken_up_at(events, place)]]
    changed = edited(events[place], edit)
    end = _behind(events, place)
    return [_replayed(event) for event in (*events[:place], changed, *events[place + 1 : end])]


def _behind(events: Sequence[Event], place: int) -> int:
    """How many events precede the next node, the other results of the step's turn included."""
    kind = type(events[place].body)
    if kind not in (Tool, Extraction):
        return place + 1
    own = execution_of(events, place)
    return 1 + max(n for n in range(own.first, own.end) if isinstance(events[n].body, kind))


def _replayed(event: Event) -> Event:
    match event.body:
        case Extraction() as body:
            read = tuple(passage.changed(replayed=True) for passage in body.passages)
            asked = tuple(request.changed(replayed=True) for request in body.requests)
            return event.with_body(body.changed(passages=read, requests=asked))
        case Expansion() as body:
            looked = tuple(search.changed(replayed=True) for search in body.looked)
            return event.with_body(body.changed(replayed=True, looked=looked))
        case Model() | Tool() | Node() as body:
            return event.with_body(body.changed(replayed=True))
    return event
