"""From a model's text to a prediction: strict first, then tolerant, always within bounds."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from branchwise.agents.prediction import (
    MAX_ENTITIES,
    MAX_REASONING,
    AnswerFormat,
    FormatError,
    Prediction,
    distinct,
)
from branchwise.base.text import whole_characters
from branchwise.corpora.questions import DEFAULT_BRANCH
from branchwise.corpora.written_lists import joined

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
_DRAFT = re.compile(
    r"\b(draft|final|wait|instead|correct\w*|revis\w*|example|form|format|actually|rather|updat\w*"
    r"|improv\w*|better|again|no|not)\b",
    re.IGNORECASE,
)
UNREADABLE = "failed"
"""`how` of an answer that could not be read."""
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
    answer's keys goes before others), then the same with json-repair. Objects that follow each
    other, or give one reading each, are one answer. `fragments` are the ids of numbered passages
    (`AnswerFormat.read`).
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

    def read(data: Any, problem: str | None = None) -> ParsedAnswer:
        return _read(data, format, fragments, problem)

    if (whole := _load(text) if len(text) <= MAX_STRICT else None) is not None:
        parsed = read(whole, problem)
        is_strict = parsed.prediction is not None and format.fits(_whole(whole))
        return replace(parsed, how="strict") if is_strict else parsed
    tail = text[-MAX_TOLERANT:]
    objects = list(_objects(_FENCE.sub("\n", tail)))[-MAX_CANDIDATES:]
    for load in (_load, _repair):
        parsed = _read_last(objects, keys, load, read, problem)
        if parsed.prediction is not None:
            return parsed
        problem = parsed.problem or problem
    return read(_repair(tail[start:]) if (start := tail.find("{")) != -1 else None, problem)


def _read(
    data: Any, format: AnswerFormat, fragments: Sequence[str], problem: str | None
) -> ParsedAnswer:
    """The answer in JSON data; `problem`: of no data."""
    if data is not None:
        try:
            return ParsedAnswer(format.read(_whole(data), fragments), "tolerant")
        except FormatError as error:
            problem = str(error)
    return ParsedAnswer(None, "failed", problem)


def _whole(data: Any) -> Any:
    """Escapes may spell half characters, which no record can hold."""
    text = json.dumps(data, ensure_ascii=False)
    whole = whole_characters(text)
    return data if whole == text else json.loads(whole, object_pairs_hook=joined)


class _Object(NamedTuple):
    """A JSON object in a text, and what stands before it, as far as the object before."""

    text: str
    before: str


def _read_last(
    objects: Sequence[_Object],
    keys: Sequence[str],
    load: Callable[[str], Any],
    read: Callable[[Any], ParsedAnswer],
    problem: str,
) -> ParsedAnswer:
    """The last object that is an answer, with those before it that are parts of the same one.

    One with a key that an answer has goes before others, which may only list sources.
    """
    likely = [any(key in candidate.text for key in keys) for candidate in objects]
    ranked = sorted(zip(likely, range(len(objects)), strict=True), reverse=True)
    for _, at in ranked[: MAX_REPAIRS if load is _repair else MAX_CANDIDATES]:
        parsed = read(load(objects[at].text))
        if parsed.prediction is None:
            problem = parsed.problem or problem
            continue
        parts = [parsed.prediction]
        for number in range(at - 1, max(-1, at - MAX_CANDIDATES), -1):
            part = read(load(objects[number].text)).prediction
            if part is None or not _is_continued(part, parts[0], objects[number + 1].before):
                break
            parts.insert(0, part)
        return ParsedAnswer(_joined_parts(parts), "tolerant")
    return ParsedAnswer(None, "failed", problem)


def _is_continued(earlier: Prediction, later: Prediction, gap: str) -> bool:
    """Whether two objects are parts of one answer: nothing stands between them, or both give one
    reading, each another, and nothing between calls the first a draft."""
    if earlier.task_output is not None or later.task_output is not None:
        return False
    if not re.search(r"\w", gap):
        return True
    names = [name.casefold() for part in (earlier, later) for name in part.answers]
    is_one_each = len(earlier.answers) == len(later.answers) == 1
    return is_one_each and len({*names, DEFAULT_BRANCH}) == 3 and not _DRAFT.search(gap)


def _joined_parts(parts: Sequence[Prediction]) -> Prediction:
    if len(parts) == 1:
        return parts[0]
    reasoning = "\n".join(part.reasoning for part in parts if part.reasoning)
    return Prediction(
        reasoning=reasoning[:MAX_REASONING],
        answers=_merged([part.answers for part in parts]),
        citations=_merged([part.citations for part in parts]),
    )


def _merged(listed: Sequence[Mapping[str, tuple[str, ...]]]) -> dict[str, tuple[str, ...]]:
    names = dict.fromkeys(name for texts in listed for name in texts)
    return {
        name: distinct((text for texts in listed for text in texts.get(name, ())), MAX_ENTITIES)
        for name in names
    }


def _load(text: str) -> dict[str, Any] | list[Any] | None:
    if _depth(text) > MAX_DEPTH:
        return None
    try:
        data = json.loads(text, object_pairs_hook=joined)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict | list) else None


def _repair(text: str) -> dict[str, Any] | list[Any] | None:
    is_long = len(text) > MAX_REPAIRED or len(_SIGNS.findall(text)) > MAX_SIGNS
    if is_long or _depth(text) > MAX_DEPTH:
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


def _objects(text: str) -> Iterator[_Object]:
    """Outermost {...} spans, in order; quotes count inside of braces only. Linear."""
    depth, start, end, in_string = 0, 0, 0, False
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
                yield _Object(text[start : mark.end()], text[end:start])
                end = mark.end()


def _depth(text: str) -> int:
    """How deep brackets nest in `text`, those inside of strings counted like others."""
    depth = deepest = 0
    for sign in re.findall(r"[{}\[\]]", text):
        depth = depth + 1 if sign in "{[" else max(0, depth - 1)
        deepest = max(deepest, depth)
    return deepest
