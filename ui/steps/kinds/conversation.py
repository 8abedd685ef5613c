"""The conversation itself: the question, the model's turns, the answer, the stages of a flow."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from branchwise.base.normalise import MAX_CHARACTERS
from branchwise.base.text import counted
from branchwise.eval.errors.item_errors import ItemErrors, WrongAnswer
from branchwise.eval.qualifiers import read_name
from branchwise.report.terminal.blocks import Block, Mark, harmless
from branchwise.report.terminal.step_text import begun, branch_lines, count, indented, short
from branchwise.trace.events import AnswerRead, Model, Stage, StageEnded, Start
from branchwise.trace.parts import Usage
from branchwise.ui.steps import parts
from branchwise.ui.steps.kinds.tool import call_blocks, call_lines
from branchwise.ui.steps.words import Around, EventWords, says

_CUT = ("length", "refusal", "content_filter", "text_calls", "unknown")
_READ = {
    "strict": "",
    "tolerant": "(not quite in the right form, but read)",
    "repaired": "(after one repair call)",
}
_PURPOSES = {
    "answers": "list all answers",
    "detection": "is it ambiguous?",
    "question": "ask back",
    "choice": "choose",
    "option": "answer",
    "merge": "merge the tries",
    "reading": "answer",
}
_VERDICTS = {True: "ambiguous", False: "not ambiguous", None: "no verdict"}
WrongTexts = Mapping[tuple[str, str], WrongAnswer]
"""Wrong texts by the predicted branch and what texts are compared by."""


@says(Start)
class StartWords(EventWords[Start]):
    """The question as it was put, with the passages that came with it."""

    def lines(self, body: Start, most: int) -> Iterator[str]:
        first, *_ = body.content.strip().split("\n", 1)
        yield begun("question", first)
        if given := body.given.passages:
            yield indented(f"with {counted(len(given), 'passage')} given")

    def blocks(self, body: Start, around: Around) -> Iterator[Block]:
        yield from parts.text(body.system, "system prompt", folded=True)
        yield from parts.text(body.content, "question", looked=around.looked)
        for passage in body.given.passages:
            yield from parts.passage_blocks(passage, around.looked)
        yield from parts.rest(body.more)
        yield from parts.rest(body.given.without("passages"))

    def brought(self, body: Start) -> Iterable[str]:
        return [passage.whole for passage in body.given.passages]


@says(Model)
class ModelWords(EventWords[Model]):
    """A turn, or the repair of an answer: what it cost, what the model thought, called and said."""

    def label(self, body: Model) -> str:
        deeds = count(len(body.calls), "call") if body.calls else "reply"
        return ", ".join([f"{_name(body)}: {deeds}", *_cut(body)])

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
        if shown and (reply := _reply(body.text)):
            yield indented(f"says: {short(reply)}")

    def blocks(self, body: Model, around: Around) -> Iterator[Block]:
        role = f"role: {body.role}" if body.role else ""
        finish = f"finish: {body.finish} {body.reason}".rstrip()
        yield from parts.note(role, *parts.cost(body, body.usage), finish)
        yield from parts.text(body.reasoning, "reasoning", looked=around.looked, folded=True)
        if body.text:
            yield from parts.written(body.text, "text", around.looked)
        for number, call in enumerate(body.calls):
            bad = "" if number < len(body.tool_calls) else " (cannot be made)"
            yield from call_blocks(call, f"call {number + 1}{bad}")
        yield from parts.rest(body.more)


def _name(body: Model) -> str:
    return "repair" if body.is_repair else f"turn {'' if body.turn is None else body.turn}"


def _cut(body: Model) -> list[str]:
    """Why the reply ended early."""
    return [f"{body.finish} {body.reason}".rstrip()] if body.finish in _CUT else []


def _reply(text: str) -> str:
    """Of an answer in the right form, the reasoning, if its branches are to follow."""
    import orjson

    try:
        answer = orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
    if not isinstance(answer, dict) or not isinstance(answer.get("answers"), dict):
        return text
    return str(answer.get("reasoning") or "") if answer["answers"] else ""


@says(AnswerRead)
class AnswerWords(EventWords[AnswerRead]):
    """The prediction branch by branch; where it could not be read, why, and the text."""

    def label(self, body: AnswerRead) -> str:
        if body.failed:
            return f"answer: format error: {body.problem}"
        if body.kept:
            return f"answer: the one before stands: {body.problem}"
        answers, output = body.prediction.branches, body.prediction.task_output
        if answers:
            entities = count(sum(map(len, answers.values())), "answer")
            return f"answer {count(len(answers), 'branch', 'branches')}, {entities}"
        return "answer none" if output is None else f"answer {_output(output)}"

    def lines(self, body: AnswerRead, most: int) -> Iterator[str]:
        if body.failed:
            yield begun("answer", f"format error: {body.problem}")
            yield indented(f"raw: {short(body.raw)}")
            return
        prediction = body.prediction
        reason = short(prediction.reasoning or "(no reason given)")
        if body.kept:
            yield begun("answer", f"the one before stands: {body.problem}")
            yield indented(f"raw: {short(body.raw)}")
        else:
            yield begun("answer", _READ.get(body.how, body.how)).rstrip()
        yield from branch_lines(prediction.branches)
        if prediction.task_output is not None:
            yield indented(_output(prediction.task_output))
            if prediction.reasoning or not prediction.branches:
                yield indented(reason)
        elif not prediction.branches:
            yield indented(f"no answer: {reason}")

    def blocks(self, body: AnswerRead, around: Around) -> Iterator[Block]:
        prediction, looked, errors = body.prediction, around.looked, around.errors
        answers, cited = prediction.branches, prediction.cited
        wrong = wrong_by_key(errors) if errors and errors.error is None else None
        yield from parts.note(f"how: {body.how}")
        unread = body.failed or body.kept
        yield from parts.note("the answer before it stands" if body.kept else "")
        yield from parts.text(body.problem, "problem", kind="error" if unread else "text")
        yield from parts.text(prediction.reasoning, "reasoning", looked=looked)
        for name, texts in answers.items():
            yield _branch(name, texts, wrong)
            yield from parts.overlong(parts.MAX_TITLE, branch=name)
            yield from parts.text("\n".join(cited.get(name, ())), "cites")
        if more := {name: ids for name, ids in cited.items() if name not in answers}:
            yield parts.as_json(more, "citations of other branches")
        if not answers and not body.failed and prediction.task_output is None:
            yield from parts.note("no answer")
        if prediction.task_output is not None:
            yield parts.as_json(prediction.task_output, "task output")
        yield from parts.text(body.raw, "the text as it came", looked=looked)
        yield from parts.rest(body.more)
        yield from parts.rest(prediction.more)


def _output(output: Any) -> str:
    return short(parts.pretty(output))


def wrong_by_key(errors: ItemErrors) -> WrongTexts:
    """The wrong texts of an item by (predicted branch, `read_name(text).key`). Of texts in which
    nothing that counts differs, in branches of one gold branch, one is recorded for all."""
    united = {key: branch.keys for branch in errors.branches for key in branch.keys}
    by_cut = {key[:MAX_CHARACTERS]: key for key in united}
    texts: dict[tuple[str, str], WrongAnswer] = {}
    for wrong in errors.wrong:
        for key in united.get(by_cut.get(wrong.branch, ""), (wrong.branch,)):
            texts[key[:MAX_CHARACTERS], read_name(wrong.text).key] = wrong
    return texts


def _branch(name: str, texts: Sequence[str], wrong: WrongTexts | None) -> Block:
    """A predicted branch: an entity a line, right and wrong ones marked where that is known."""
    shown = [harmless(text).replace("\n", " ") for text in texts]
    marks, at = [], 0
    for text, given in zip(shown, texts, strict=True):
        if wrong is not None:
            is_wrong = (name[:MAX_CHARACTERS], read_name(given).key) in wrong
            marks.append(Mark(at, at + len(text), "wrong" if is_wrong else "gold"))
        at += len(text) + 1
    return Block("text", "\n".join(shown) or "(none)", parts.line(name), tuple(marks))


def _stage(body: Stage | StageEnded) -> tuple[str, ...]:
    return (f"stage: {body.name}", f"option: {body.option}" if body.option else "")


@says(Stage)
class StageWords(EventWords[Stage]):
    """Where one of a question's conversations begins: what it is for."""

    def lines(self, body: Stage, most: int) -> Iterator[str]:
        purpose = _PURPOSES.get(body.name, body.name)
        yield begun("stage", short(f"{purpose}: {body.option}" if body.option else purpose))

    def blocks(self, body: Stage, around: Around) -> Iterator[Block]:
        yield from parts.note(*_stage(body))
        yield from parts.text(body.system, "system prompt", folded=True)
        yield from parts.text(body.content, "question", looked=around.looked)
        for number, text in enumerate(body.turns):
            whose = "chosen" if number % 2 else "asked back"
            yield from parts.text(text, whose, looked=around.looked)
        yield from parts.rest(body.more)


@says(StageEnded)
class StageEndedWords(EventWords[StageEnded]):
    """The verdict, the question back, what of it was chosen, or the answers."""

    def lines(self, body: StageEnded, most: int) -> Iterator[str]:
        yield begun("result", short(_result(body)))
        if body.left_out:
            yield indented(short(f"left out: {'; '.join(body.left_out)}"))
        if body.problem:
            yield indented(short(body.problem))

    def blocks(self, body: StageEnded, around: Around) -> Iterator[Block]:
        yield from parts.note(*_stage(body), _result(body) if body.name == "detection" else "")
        yield from parts.text(body.problem, "problem", kind="error")
        yield from parts.text(body.question, "asked back", looked=around.looked)
        yield from parts.text("\n".join(body.options), "options", looked=around.looked)
        yield from parts.text("\n".join(body.answers), "answers", looked=around.looked)
        yield from parts.text("\n".join(body.left_out), "left out", looked=around.looked)
        yield from parts.rest(body.more)


def _result(body: StageEnded) -> str:
    if body.name == "detection":
        listed = f": {count(len(body.answers), 'answer')} listed" if body.answers else ""
        return f"{_VERDICTS[body.ambiguous]}{listed}"
    if body.name == "question":
        return f"asks back: {body.question}" if body.question else "asks nothing back"
    if body.name == "choice":
        return f"chosen: {'; '.join(body.options)}"
    answers = "; ".join(body.answers) or "no answer"
    return f"{body.option}: {answers}" if body.option else answers
