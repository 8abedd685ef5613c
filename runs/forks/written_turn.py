"""A model turn as an editable text: plain, or JSON if it calls tools.

`{"text": "...", "tool_calls": [{"name": "local_retriever", "args": {"query": "..."}}]}`; arguments
that are not a JSON object are a text, as the model wrote them. Without calls, either key may be
missing.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from branchwise.agents.response_bodies import MAX_CALLS, make_call
from branchwise.base.errors import InputError
from branchwise.trace.events import Model
from branchwise.trace.parts import Call

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
    """The recorded turn with another reply; calls keep the ids of the calls that they replace.

    Raises InputError for malformed JSON with tool calls.
    """
    text, calls = _read_form(written) if _is_form(written) else (written, [])
    made = [_made(call, id) for call, id in zip(calls, _ids(turn, len(calls)), strict=True)]
    valid = tuple(_call(call) for call in made if "error" not in call)
    invalid = tuple(_call(call) for call in made if "error" in call)
    said = turn.changed(text=text, tool_calls=valid, invalid_tool_calls=invalid)
    return turn if said == turn else said.changed(finish="tool_calls" if made else "stop")


def _is_form(text: str) -> bool:
    """Whether a text is meant as JSON with a reply, even if it is broken.

    An answer is a JSON object as well: only the keys, or the beginning of a broken one, tell.
    """
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


def _made(call: Mapping[str, Any], id: str) -> Mapping[str, Any]:
    made = make_call(call["name"] or "", call.get("args", {}), id)
    return made if call["name"] else {**made, "name": call["name"]}


def _call(call: Mapping[str, Any]) -> Call:
    return Call(call["id"], call["name"], call["args"])


def _ids(turn: Model, count: int) -> list[str]:
    """The ids that the turn's calls had, then new ones."""
    ids = [str(call.id) for call in turn.calls][:count]
    free = (id for n in range(2 * count + len(ids)) if (id := f"edited_{n}") not in ids)
    return [*ids, *(next(free) for _ in range(count - len(ids)))]
