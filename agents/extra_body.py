"""Fields of a user's own for the bodies of requests: `top_k`, `chat_template_kwargs`, `provider`.

They are sent as they are, at the top level of every request's body.
"""

import json
import math
import re
from collections.abc import Collection, Mapping
from typing import Any

from branchwise.base.secrets import looks_secret
from branchwise.base.setting import refused

MAX_BYTES = 4096
"""Bytes of the whole as JSON."""
_MAX_DEPTH = 20
_SETTINGS: Mapping[str, str] = {
    "model": "model",
    "tools": "tools",
    "max_completion_tokens": "max_tokens",
    "max_output_tokens": "max_tokens",
    "response_format": "structured",
}
"""Fields that requests have from settings that are not sent as they are, and which."""
_OURS = frozenset(
    {"messages", "stream_options", "tool_choice", "functions", "function_call", "n"}
    | {"input", "conversation", "previous_response_id"}
)
_CREDENTIAL = re.compile(
    r"authori[sz]ation|bearer|cookie|credential|passw|secret|(api|access|private)[-_]?key"
    r"|^(api[-_]?)?keys?$|(^|(auth|access|refresh|session|api|id|hf)[-_]?)token$",
    re.IGNORECASE,
)


def checked_body(given: Any, sent: Mapping[str, str]) -> dict[str, Any]:
    """The fields with sorted keys, at every level; None is none of them. `sent`: by fields that
    requests have from settings, which.

    Raises PydanticCustomError for anything but a JSON object of at most `MAX_BYTES`, for fields
    that requests have anyway, and for what may be a credential.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise refused("is not a JSON object", 'write {"top_k": 20}')
    checked: dict[str, Any] = _checked(given, ())
    settings = {**_SETTINGS, **sent}
    for name in checked:
        if name in settings:
            raise refused("is not for extra_body", f"it is the setting {settings[name]}", name)
        if name in _OURS:
            raise refused("is not for extra_body", "leave it out: requests have their own", name)
    if (size := len(json.dumps(checked).encode())) > MAX_BYTES:
        raise refused(f"has {size:,} bytes", f"at most {MAX_BYTES:,} are sent along")
    return checked


def named_in(message: str, extra: Collection[str]) -> list[str]:
    """The fields that an error speaks of."""
    return [name for name in extra if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", message)]


def _checked(value: Any, place: tuple[str, ...]) -> Any:
    if len(place) > _MAX_DEPTH:
        raise refused("is nested too deeply", "write it flatter", place[0])
    if isinstance(value, Mapping):
        for key in value:
            _check_key(key, place)
        return {key: _checked(value[key], (*place, key)) for key in sorted(value)}
    if isinstance(value, list | tuple):
        return [_checked(one, (*place, str(n))) for n, one in enumerate(value)]
    if isinstance(value, str):
        _check_text(value, place)
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise refused("is too large a number", "write it as a text", *place)
    elif isinstance(value, float) and not math.isfinite(value):
        raise refused("is not a finite number", "JSON has none", *place)
    elif value is not None and not isinstance(value, int | float):
        raise refused(f"is a {type(value).__name__}", "write what JSON has", *place)
    return value


def _check_key(key: Any, place: tuple[str, ...]) -> None:
    if not isinstance(key, str) or not key:
        raise refused("has a key that is not a name", "write names as keys", *place)
    _check_text(key, place)
    if _CREDENTIAL.search(key):
        remedy = "keys are for --key HOST=VARIABLE; a run keeps these fields as they are"
        raise refused("looks like a credential", remedy, *place, key[:60])


def _check_text(text: str, place: tuple[str, ...]) -> None:
    # Never repeated: it may be the secret.
    if looks_secret(text):
        remedy = "keys are for --key HOST=VARIABLE; a run keeps these fields as they are"
        raise refused("looks like a credential", remedy, *place)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise refused("contains half a character", "write whole ones", *place) from None
