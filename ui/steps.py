"""One step of a trace in words: for `ask` as it happens, and for a finished item.

Passages and model output are data: each line is returned as plain text, without control
characters, for a console that does not interpret markup.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from branchwise.agents.refusals import INSTEAD
from branchwise.ui.module_steps import expansion_lines, extraction_lines
from branchwise.ui.node_steps import node_lines
from branchwise.ui.tool_steps import SHOWN_RESULTS, call_lines, indented, result_lines, short

MALFORMED = (KeyError, TypeError, ValueError, AttributeError, IndexError)
"""Raised where a record's form is not known: of a newer version, of a plug-in."""


def describe(kind: str, data: Mapping[str, Any], *, passages: int = SHOWN_RESULTS) -> list[str]:
    """The lines that say what a step did; of a search or query, the first `passages` results.

    A step of an unknown kind or form is shown as it is, cut; one that a fork edited says so.
    """
    edited, own = without_edit(data)
    try:
        lines = _lines(kind, data if kind == "model" else own, passages)
    except MALFORMED:
        lines = [f"{kind}: {short(own)}"]
    if edited:
        lines[:1] = [f"{lines[0]} (edited)"] if lines else [f"{kind} (edited)"]
    return [_plain(line) for line in lines]


def without_edit(data: Mapping[str, Any]) -> tuple[bool, Mapping[str, Any]]:
    """Whether a fork put its text into a step (`eval.forks.edits`), and the rest of its data."""
    if data.get("edited") is not True:
        return False, data
    return True, {key: value for key, value in data.items() if key != "edited"}


def _lines(kind: str, data: Mapping[str, Any], passages: int) -> list[str]:
    if counted := _COUNTED.get(kind):
        return list(counted(data, passages))
    writer = _WRITERS.get(kind)
    return list(writer(data)) if writer else [f"{kind}: {short(data)}"]


def _start(data: Mapping[str, Any]) -> Iterator[str]:
    yield f"question  {_first_line(data['content'])}"
    if given := data["artifact"]["passages"]:
        yield indented(f"with {len(given)} passages given")


def _model(data: Mapping[str, Any]) -> Iterator[str]:
    used = data["usage"]
    label = "repair" if data.get("role") == "repair" else f"turn {data.get('turn', '')}"
    notes = [f"{used['input']} tokens in, {used['output']} out"] if any(used.values()) else []
    notes += [f"{data['seconds']:.2f} s"]
    notes += ["replayed"] if data["replayed"] else []
    notes += [data["finish"]] if data["finish"] in ("length", "refusal", "content_filter") else []
    yield f"{label:<9} {', '.join(notes)}"
    if data["reasoning"]:
        yield indented(f"thinks: {short(data['reasoning'])}")
    for call in [*data["tool_calls"], *data["invalid_tool_calls"]]:
        yield from call_lines(call)
    # Beside calls a model's text says little; what somebody wrote there was meant to be read.
    shown = data["text"] and (not data["tool_calls"] or data.get("edited") is True)
    if shown and (said := _said(data["text"])):
        yield indented(f"says: {short(said)}")


def _said(text: str) -> str:
    """Of an answer in the form that was asked for, the reasoning: its branches follow.

    Nothing where there are none: the reasoning is then said with that.
    """
    import orjson

    try:
        answer = orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
    if not isinstance(answer, dict) or not isinstance(answer.get("answers"), dict):
        return text
    return str(answer.get("reasoning") or "") if answer["answers"] else ""


def _answer(data: Mapping[str, Any]) -> Iterator[str]:
    if data["how"] == "failed":
        yield f"{'answer':<9} format error: {data['problem']}"
        yield indented(f"raw: {short(data['raw'])}")
        return
    yield f"{'answer':<9} {_READ[data['how']]}".rstrip()
    prediction = data["prediction"]
    yield from branch_lines(prediction["answers"])
    if not prediction["answers"]:
        yield indented(f"no answer: {short(prediction.get('reasoning') or '(no reason given)')}")


def branch_lines(answers: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Each branch with its entities, below an `answer` or `gold` heading."""
    for branch, entities in answers.items():
        yield indented(f"{branch}: {'; '.join(entities) or '(none)'}")


_READ = {
    "strict": "",
    "tolerant": "(not quite in the right form, but read)",
    "repaired": "(after one repair call)",
}


def _budget(data: Mapping[str, Any]) -> Iterator[str]:
    yield f"{'budget':<9} spent: {data['reason']}; told to answer"


def _retry(data: Mapping[str, Any]) -> Iterator[str]:
    wait = f", trying again in {data['wait']:.1f} s" if data.get("wait") is not None else ""
    yield f"{'retry':<9} {data['kind']}: {short(data['message'])}{wait}"


def _trimmed(data: Mapping[str, Any]) -> Iterator[str]:
    yield f"{'context':<9} too long for the model: {data['newly']} oldest tool results left out"


def _repair(data: Mapping[str, Any]) -> Iterator[str]:
    yield f"{'repair':<9} the answer could not be read: {short(data['problem'])}"


def _repair_failed(data: Mapping[str, Any]) -> Iterator[str]:
    yield f"{'repair':<9} failed: {data['error']}: {short(data['message'])}"


def _structured_off(data: Mapping[str, Any]) -> Iterator[str]:
    yield f"{'model':<9} takes no answer schema, not asked for again: {short(data['message'])}"


def _left_out(data: Mapping[str, Any]) -> Iterator[str]:
    field = data["field"]
    instead = f" ({INSTEAD[field]})" if field in INSTEAD else ""
    role = f"{data['role']}: " if data["role"] != "agent" else ""
    yield f"{'model':<9} {role}asked without {field}{instead}: {short(data['message'])}"


def _error(data: Mapping[str, Any]) -> Iterator[str]:
    yield f"{'error':<9} {data['kind']}: {short(data['message'])}"


_COUNTED: Mapping[str, Callable[[Mapping[str, Any], int], Iterator[str]]] = {
    "tool": result_lines,
    "extraction": extraction_lines,
}
_WRITERS: Mapping[str, Callable[[Mapping[str, Any]], Iterator[str]]] = {
    "start": _start,
    "expansion": expansion_lines,
    "model": _model,
    "node": node_lines,
    "answer": _answer,
    "budget": _budget,
    "retry": _retry,
    "context_trimmed": _trimmed,
    "repair": _repair,
    "repair_failed": _repair_failed,
    "left_out": _left_out,
    "structured_off": _structured_off,
    "error": _error,
}


def _first_line(text: str) -> str:
    return text.strip().split("\n", 1)[0]


def _plain(line: str) -> str:
    """Without control and formatting characters: nothing in a passage can steer a terminal."""
    return "".join(c if c.isprintable() else " " for c in line)
