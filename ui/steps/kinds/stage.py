"""Where one of a question's conversations begins, and what it came to."""

from collections.abc import Iterator

from branchwise.report.terminal.blocks import Block
from branchwise.report.terminal.step_text import begun, count, indented, short
from branchwise.trace.events import Stage, StageEnded
from branchwise.ui.steps import parts
from branchwise.ui.steps.words import Around, EventWords, says

_PURPOSES = {
    "answers": "list all answers",
    "detection": "is it ambiguous?",
    "question": "ask back",
    "choice": "choose",
    "option": "answer",
}
_VERDICTS = {True: "ambiguous", False: "not ambiguous", None: "no verdict"}


def _purpose(body: Stage | StageEnded) -> str:
    named = _PURPOSES.get(body.name, body.name)
    return f"{named}: {body.option}" if body.option else named


def _facts(body: Stage | StageEnded) -> tuple[str, ...]:
    option = (f"option: {body.option}",) if body.option else ()
    return (f"stage: {body.name}", *option)


@says(Stage)
class StageWords(EventWords[Stage]):
    """What the conversation is for, and how it begins."""

    def lines(self, body: Stage, most: int) -> Iterator[str]:
        yield begun("stage", short(_purpose(body)))

    def blocks(self, body: Stage, around: Around) -> Iterator[Block]:
        yield from parts.note(*_facts(body))
        yield from parts.text(body.system, "system prompt", folded=True)
        yield from parts.text(body.content, "question", looked=around.looked)
        for place, text in enumerate(body.turns):
            whose = "chosen" if place % 2 else "asked back"
            yield from parts.text(text, whose, looked=around.looked)
        yield from parts.rest(body.more)


@says(StageEnded)
class StageEndedWords(EventWords[StageEnded]):
    """The verdict, the question back, what of it was chosen, or the answers."""

    def lines(self, body: StageEnded, most: int) -> Iterator[str]:
        yield begun("result", short(_result(body)))
        if body.problem:
            yield indented(short(body.problem))

    def blocks(self, body: StageEnded, around: Around) -> Iterator[Block]:
        yield from parts.note(*_facts(body), _result(body) if body.name == "detection" else "")
        yield from parts.text(body.problem, "problem", kind="error")
        yield from parts.text(body.question, "asked back", looked=around.looked)
        yield from parts.text("\n".join(body.options), "options", looked=around.looked)
        yield from parts.text("\n".join(body.answers), "answers", looked=around.looked)
        yield from parts.rest(body.more)


def _result(body: StageEnded) -> str:
    listed = "; ".join(body.answers)
    if body.name == "detection":
        told = f": {count(len(body.answers), 'answer')} listed" if body.answers else ""
        return f"{_VERDICTS[body.ambiguous]}{told}"
    if body.name == "question":
        return f"asks back: {body.question}" if body.question else "asks nothing back"
    if body.name == "choice":
        return f"chosen: {'; '.join(body.options)}"
    of = f"{body.option}: " if body.option else ""
    return f"{of}{listed or 'no answer'}"
