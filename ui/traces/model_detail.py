"""What models said: turns, readings, the answer."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from branchwise.eval.entities import form
from branchwise.eval.errors.item_errors import ItemErrors
from branchwise.eval.normalise import MAX_CHARACTERS
from branchwise.ui.traces import parts
from branchwise.ui.traces.answers import wrong_by_key
from branchwise.ui.traces.blocks import Block, BlockKind, Mark, harmless
from branchwise.ui.traces.parts import MAX_TITLE, Looked
from branchwise.ui.traces.tool_detail import call_blocks
from branchwise.ui.traces.turns import called

_SPENT = ("usage", "seconds", "replayed")


def model_blocks(data: Mapping[str, Any], looked: Looked) -> Iterator[Block]:
    """A turn: what it cost, the reasoning folded, the text, each call with its arguments."""
    role = data.get("role")
    facts = [*parts.cost(data), f"finish: {data['finish']}"]
    yield from parts.note(f"role: {role}" if role else "", *facts)
    yield from parts.text(data["reasoning"], "reasoning", looked=looked, folded=True)
    if data["text"]:
        yield from parts.said(data["text"], "text", looked)
    made = len(data["tool_calls"])
    for number, call in enumerate(called(data)):
        bad = "" if number < made else " (cannot be made)"
        yield from call_blocks(call, f"call {number + 1}{bad}")
    known = ("role", "turn", "finish", "reasoning", "text", "tool_calls", "invalid_tool_calls")
    yield from parts.rest(data, (*known, *_SPENT))


def expansion_blocks(data: Mapping[str, Any], looked: Looked) -> Iterator[Block]:
    """The readings, what was dropped and why, and the reply as it came."""
    yield from parts.note(*parts.cost(data), f"how: {data['how']}")
    yield from parts.text(data.get("question"), "question")
    yield from parts.text("\n".join(map(str, data["readings"])), "readings")
    yield from parts.dropped_blocks(data["dropped"], looked)
    yield from parts.text(data.get("error"), "error", kind="error")
    yield from parts.text(data.get("reasoning"), "reasoning", looked=looked, folded=True)
    yield from parts.text(data.get("text"), "the reply as it came", folded=True)
    known = ("question", "readings", "dropped", "how", "error", "reasoning", "text")
    yield from parts.rest(data, (*known, *_SPENT))


def answer_blocks(
    data: Mapping[str, Any], looked: Looked, errors: ItemErrors | None
) -> Iterator[Block]:
    """The prediction branch by branch; where it could not be read, why, and the text."""
    prediction = data["prediction"]
    yield from parts.note(f"how: {data['how']}")
    failed = data["how"] == "failed"
    kind: BlockKind = "error" if failed else "text"
    yield from parts.text(data.get("problem"), "problem", kind=kind)
    yield from parts.text(prediction.get("reasoning"), "reasoning", looked=looked)
    cited = prediction.get("citations") or {}
    for name, texts in prediction["answers"].items():
        yield _branch(name, texts, errors)
        yield from parts.overlong(MAX_TITLE, branch=name)
        yield from parts.text("\n".join(map(str, cited.get(name) or ())), "cites")
    more = {name: ids for name, ids in cited.items() if name not in prediction["answers"]}
    if more:
        yield parts.as_json(more, "citations of other branches")
    if not prediction["answers"] and not failed:
        yield from parts.note("no answer")
    if prediction.get("task_output") is not None:
        yield parts.as_json(prediction["task_output"], "task output")
    yield from parts.text(data.get("raw"), "the text as it came", looked=looked)
    yield from parts.rest(data, ("how", "problem", "raw", "prediction"))
    yield from parts.rest(prediction, ("reasoning", "answers", "citations", "task_output"))


def _branch(name: str, texts: Sequence[str], errors: ItemErrors | None) -> Block:
    """A predicted branch: an entity a line, right and wrong ones marked where that is known."""
    shown = [harmless(str(text)).replace("\n", " ") for text in texts]
    marks, at = [], 0
    wrong = wrong_by_key(errors) if errors else {}
    for text, given in zip(shown, texts, strict=True):
        if errors and errors.error is None:
            is_wrong = (name[:MAX_CHARACTERS], form(str(given)).key) in wrong
            marks.append(Mark(at, at + len(text), "wrong" if is_wrong else "gold"))
        at += len(text) + 1
    return Block("text", "\n".join(shown) or "(none)", parts.line(name), tuple(marks))
