"""What a tool may return: text or a JSON value, and an artifact for the trace; or a ToolError."""

import dataclasses
import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import orjson
from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_jsonable_python

from branchwise.base.plugins.sources import WrongResult, fault_line
from branchwise.base.text import storable
from branchwise.tools.artifacts import ToolArtifact


class ToolError(Exception):
    """Shown to the model verbatim, line breaks included: say what is wrong and what to do.

    Anything else that a tool raises is shown on one line, with the exception's name.
    """


MAX_RESULT_CHARS = 200_000
"""A tool's text enters every later request of the item; beyond this it is cut, with a note."""
MAX_ARTIFACT_BYTES = 4 * 2**20
WHAT_TO_RETURN = "return a str, a ToolResult, or a dict, list, number or model that JSON can hold"


@dataclasses.dataclass(frozen=True)
class ToolResult:
    """A tool's text for the model, and an artifact that only the trace keeps.

    `artifact`: keys of `ToolArtifact` (`passages`, `rows`, `matches`) have the shape documented
    there, and count as evidence; any other key holds what JSON can, at most 4 MiB together.
    """

    text: str
    artifact: Mapping[str, Any] = dataclasses.field(default_factory=dict)


def read_result(value: Any) -> tuple[str, dict[str, Any]]:
    """Text and artifact of a tool's result, both bounded and free of lone surrogates. Raises
    WrongResult for what cannot be shown to a model, and for an artifact that cannot be kept."""
    if isinstance(value, ToolResult):
        return read_result(value.text)[0], read_artifact(value.artifact)
    if value is None:
        raise WrongResult(f"it returned None; {WHAT_TO_RETURN}")
    what = f"a value of type {type(value).__name__}"
    plain = str.__str__(value) if isinstance(value, str) else _plain(value, what)
    text = plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)
    return bounded(text), {}


def bounded(text: str) -> str:
    """The text, cut with a note beyond `MAX_RESULT_CHARS`, without lone surrogates."""
    shown = storable(text)  # before the cut: half a key must not remain either
    if len(shown) <= MAX_RESULT_CHARS:
        return shown
    return f"{shown[:MAX_RESULT_CHARS]}\n[cut: {len(text)} characters]"


def _plain(value: Any, what: str) -> Any:
    try:
        return to_jsonable_python(value)
    except Exception as error:  # noqa: BLE001 - serializers of anyone's models
        why = f"that JSON cannot hold ({fault_line(error)[:200]})"
        raise WrongResult(f"it returned {what} {why}; {WHAT_TO_RETURN}") from None


_KNOWN = TypeAdapter(ToolArtifact)


def read_artifact(value: Any) -> dict[str, Any]:
    """An artifact as the trace keeps it. Raises WrongResult, naming the place that is wrong."""
    if not isinstance(value, Mapping):
        raise WrongResult(f"its artifact is a {type(value).__name__}; give a dict")
    plain = _plain(dict(value), "an artifact")
    known = {key: plain[key] for key in ToolArtifact.__annotations__ if key in plain}
    try:
        checked = _KNOWN.validate_python(known, strict=False)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise WrongResult(f"its artifact is wrong at {where}: {first['msg']}") from None
    kept = _whole_within({**plain, **checked})
    try:
        size = len(orjson.dumps(kept))
    except TypeError as error:
        raise WrongResult(f"its artifact holds what JSON cannot ({error})") from None
    if size > MAX_ARTIFACT_BYTES:
        most = f"{MAX_ARTIFACT_BYTES} may be kept"
        raise WrongResult(f"its artifact is too large: {size} bytes, {most}")
    return dict(kept)


def kept_artifact(value: Any, key: str) -> dict[str, Any]:
    """What another's tool returns beside its text, as far as JSON can hold it and it is not too
    large; whole under `key` where a part of it has the name, but not the shape, of one of ours."""
    for artifact in () if value is None else (value, {key: value}):
        with suppress(WrongResult):
            return read_artifact(artifact)
    return {}


def _whole_within(value: Any) -> Any:
    """The same with whole characters everywhere; its depth is what pydantic serialised."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {_whole_within(key): _whole_within(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_whole_within(inner) for inner in value]
    return value
