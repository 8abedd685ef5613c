"""A model turn, or the repair of an answer."""

from collections.abc import Iterator

from branchwise.report.terminal.blocks import Block
from branchwise.report.terminal.step_text import count, indented, short
from branchwise.trace.events import Model
from branchwise.trace.parts import Usage
from branchwise.ui.steps import parts
from branchwise.ui.steps.calls import call_blocks, call_lines
from branchwise.ui.steps.words import Around, EventWords, says

_CUT = ("length", "refusal", "content_filter", "text_calls", "unknown")


@says(Model)
class ModelWords(EventWords[Model]):
    """What it cost, what the model thought, called and said."""

    def label(self, body: Model) -> str:
        what = count(len(body.calls), "call") if body.calls else "reply"
        return ", ".join([f"{_name(body)}: {what}", *_cut(body)])

    def lines(self, body: Model, most: int) -> Iterator[str]:
        used = body.usage
        notes = [f"{used.input} tokens in, {used.output} out"] if used != Usage(0, 0) else []
        notes += [f"{body.seconds:.2f} s", *(["replayed"] if body.replayed else []), *_cut(body)]
        yield f"{_name(body):<9} {', '.join(notes)}"
        if body.reasoning:
            yield indented(f"thinks: {short(body.reasoning)}")
        for call in body.calls:
            yield from call_lines(call)
        # Beside calls a model's text says little; a text that a user edited is shown, since it was
        # meant to be read.
        shown = body.text and (not body.tool_calls or body.edited)
        if shown and (said := _said(body.text)):
            yield indented(f"says: {short(said)}")

    def blocks(self, body: Model, around: Around) -> Iterator[Block]:
        role = f"role: {body.role}" if body.role else ""
        yield from parts.note(
            role, *parts.cost(body, body.usage), f"finish: {body.finish} {body.reason}".rstrip()
        )
        yield from parts.text(body.reasoning, "reasoning", looked=around.looked, folded=True)
        if body.text:
            yield from parts.said(body.text, "text", around.looked)
        for number, call in enumerate(body.calls):
            bad = "" if number < len(body.tool_calls) else " (cannot be made)"
            yield from call_blocks(call, f"call {number + 1}{bad}")
        yield from parts.rest(body.more)


def _name(body: Model) -> str:
    return "repair" if body.is_repair else f"turn {'' if body.turn is None else body.turn}"


def _cut(body: Model) -> list[str]:
    """Why the reply ended early."""
    finish = f"{body.finish} {body.reason}".rstrip()
    return [finish] if body.finish in _CUT else []


def _said(text: str) -> str:
    """Of an answer in the form that was asked for, the reasoning: its branches follow.

    Empty without branches: the reasoning is then shown with the answer.
    """
    import orjson

    try:
        answer = orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
    if not isinstance(answer, dict) or not isinstance(answer.get("answers"), dict):
        return text
    return str(answer.get("reasoning") or "") if answer["answers"] else ""
