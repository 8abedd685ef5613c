"""From a model's text to a prediction: strict first, then tolerant, always within bounds."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from branchwise.agents.formats import AnswerFormat, FormatError
from branchwise.agents.prediction import Prediction
from branchwise.corpora.text import whole_characters

MAX_STRICT = 1_000_000
"""Characters that are tried as one JSON document."""
MAX_TOLERANT = 200_000
"""Characters, from the end, that are searched for an object."""
MAX_REPAIRED, MAX_SIGNS = 20_000, 2_000
"""Characters, and JSON signs among them, of a broken object that json-repair is given: its time
grows with the square of the signs (11 s for 20,000 characters of nothing but them)."""
MAX_REPAIRS = 4
MAX_DEPTH = 64
MAX_CANDIDATES = 16
_FENCE = re.compile(r"```[a-zA-Z0-9_-]*[ \t]*\n?")
_SIGNS = re.compile(r"""["'{}\[\]:,\\]""")
_STRUCTURE = re.compile(r'\\.|["{}\[\]]', re.DOTALL)


@dataclass(frozen=True)
class ParsedAnswer:
    """`prediction` is None, and `problem` one line about why, exactly where `how` is `failed`."""

    prediction: Prediction | None
    how: Literal["strict", "tolerant", "failed"]
    problem: str | None = None


def parse_answer(text: str, format: AnswerFormat, fragments: Sequence[str] = ()) -> ParsedAnswer:
    """Read `text` as an answer of `format`. Never raises.

    Where the format has a form of its own, the text is read by that first. Strict: it is exactly
    in that form, or the whole text is JSON of exactly the format's shape. Tolerant: the last JSON
    object in the text that can be read as an answer (models put drafts first; one that has the
    answer's keys goes before others), then the same with
    json-repair. `fragments` are the ids of numbered passages (`AnswerFormat.read`).
    """
    problem = "the reply is empty"
    if text.strip():
        sought = "answer in the form that was asked for" if format.form else "JSON object"
        problem = f"there is no {sought} in the reply"
    try:
        if own := format.read_text(text[-MAX_TOLERANT:]):
            return ParsedAnswer(own.prediction, "strict" if own.is_exact else "tolerant")
    except FormatError as error:
        problem = str(error)
    keys = format.schema["required"] if format.schema else ()
    for found, strict in _documents(text, keys):
        data = _with_whole_characters(found)
        try:
            prediction = format.read(data, fragments)
        except FormatError as error:
            problem = str(error)
            continue
        exact = strict and format.fits(data)
        return ParsedAnswer(prediction, "strict" if exact else "tolerant")
    return ParsedAnswer(None, "failed", problem)


def _documents(text: str, keys: Sequence[str]) -> Iterator[tuple[Any, bool]]:
    """What may be the answer, best guess first; True beside the whole text.

    The last object with one of `keys`, which an answer has; other objects may only list sources.
    """
    if len(text) <= MAX_STRICT:
        whole = _load(text)
        if whole is not None:
            yield whole, True
            return
    tail = text[-MAX_TOLERANT:]
    candidates = list(_objects(_FENCE.sub("\n", tail)))[-MAX_CANDIDATES:]
    likely = [any(f'"{key}"' in candidate for key in keys) for candidate in candidates]
    ranked = sorted(zip(likely, range(len(candidates)), candidates, strict=True), reverse=True)
    for _, _, candidate in ranked:
        data = _load(candidate)
        if data is not None:
            yield data, False
    start = tail.find("{")
    broken = [*candidates, tail[start:]] if start != -1 else candidates
    for candidate in list(reversed(broken))[:MAX_REPAIRS]:
        data = _repair(candidate)
        if data is not None:
            yield data, False


def _load(text: str) -> dict[str, Any] | list[Any] | None:
    if _depth(text) > MAX_DEPTH:
        return None
    try:
        data = json.loads(text, object_pairs_hook=_joined)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict | list) else None


def _with_whole_characters(data: Any) -> Any:
    """Escapes may spell half characters, which no record can hold."""
    text = json.dumps(data, ensure_ascii=False)
    whole = whole_characters(text)
    return data if whole == text else json.loads(whole, object_pairs_hook=_joined)


def _joined(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; lists under a key that comes twice are one: two readings of one name, say."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        earlier = found.get(key)
        if isinstance(earlier, list) and isinstance(value, list):
            earlier.extend(value)
        else:
            found[key] = value
    return found


def _repair(text: str) -> dict[str, Any] | list[Any] | None:
    if len(text) > MAX_REPAIRED or len(_SIGNS.findall(text)) > MAX_SIGNS:
        return None
    if _depth(text) > MAX_DEPTH:
        return None
    from json_repair import repair_json

    try:
        data = repair_json(text, return_objects=True)
    except (ValueError, RecursionError, IndexError, TypeError, AttributeError, KeyError):
        return None
    if isinstance(data, list):
        # Prose in brackets comes out as a list of texts: no answer was meant.
        data = next((part for part in reversed(data) if isinstance(part, dict)), None)
    return data if isinstance(data, dict) else None


def _objects(text: str) -> Iterator[str]:
    """Outermost {...} spans, in order; quotes count inside of braces only. Linear."""
    depth, start, in_string = 0, 0, False
    for mark in _STRUCTURE.finditer(text):
        sign = mark[0]
        if depth and sign == '"':
            in_string = not in_string
        elif in_string or sign in '[]"' or sign[0] == "\\":
            continue
        elif sign == "{":
            start = start if depth else mark.start()
            depth += 1
        elif depth:
            depth -= 1
            if not depth:
                yield text[start : mark.end()]


def _depth(text: str) -> int:
    """How deep brackets nest in `text`, those inside of strings counted like others."""
    depth = deepest = 0
    for sign in re.findall(r"[{}\[\]]", text):
        depth = depth + 1 if sign in "{[" else max(0, depth - 1)
        deepest = max(deepest, depth)
    return deepest
