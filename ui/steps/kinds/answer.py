"""The answer as it was read."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from branchwise.base.normalise import MAX_CHARACTERS
from branchwise.eval.errors.item_errors import ItemErrors, WrongAnswer
from branchwise.eval.qualifiers import read_name
from branchwise.report.terminal.blocks import Block, Mark, harmless
from branchwise.report.terminal.step_text import begun, branch_lines, count, indented, short
from branchwise.trace.events import AnswerRead
from branchwise.ui.steps import parts
from branchwise.ui.steps.parts import MAX_TITLE
from branchwise.ui.steps.words import Around, EventWords, says

_READ = {
    "strict": "",
    "tolerant": "(not quite in the right form, but read)",
    "repaired": "(after one repair call)",
}


@says(AnswerRead)
class AnswerWords(EventWords[AnswerRead]):
    """The prediction branch by branch; where it could not be read, why, and the text."""

    def label(self, body: AnswerRead) -> str:
        if body.failed:
            return f"answer: format error: {body.problem}"
        answers, output = body.prediction.branches, body.prediction.task_output
        if not answers and output is not None:
            return f"answer {_output(output)}"
        entities = count(sum(map(len, answers.values())), "answer")
        said = f"{count(len(answers), 'branch', 'branches')}, {entities}"
        return f"answer {said}" if answers else "answer none"

    def lines(self, body: AnswerRead, most: int) -> Iterator[str]:
        if body.failed:
            yield begun("answer", f"format error: {body.problem}")
            yield indented(f"raw: {short(body.raw)}")
            return
        yield begun("answer", _READ.get(body.how, body.how)).rstrip()
        prediction = body.prediction
        yield from branch_lines(prediction.branches)
        if prediction.task_output is not None:
            yield indented(_output(prediction.task_output))
            if prediction.reasoning or not prediction.branches:
                yield indented(short(prediction.reasoning or "(no reason given)"))
        elif not prediction.branches:
            yield indented(f"no answer: {short(prediction.reasoning or '(no reason given)')}")

    def blocks(self, body: AnswerRead, around: Around) -> Iterator[Block]:
        prediction, looked = body.prediction, around.looked
        answers, cited = prediction.branches, prediction.cited
        errors = around.errors
        wrong = wrong_by_key(errors) if errors and errors.error is None else None
        yield from parts.note(f"how: {body.how}")
        yield from parts.text(body.problem, "problem", kind="error" if body.failed else "text")
        yield from parts.text(prediction.reasoning, "reasoning", looked=looked)
        for name, texts in answers.items():
            yield _branch(name, texts, wrong)
            yield from parts.overlong(MAX_TITLE, branch=name)
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
    """An answer that is no set, begun, in one line."""
    return short(parts.pretty(output))


WrongTexts = Mapping[tuple[str, str], WrongAnswer]
"""Wrong texts by the predicted branch and what texts are compared by."""


def wrong_by_key(errors: ItemErrors) -> WrongTexts:
    """The wrong texts of an item by (predicted branch, `read_name(text).key`).

    Of texts that differ in nothing that counts, in branches that stand for one gold branch, one is
    recorded; it speaks for the others.
    """
    united = {key: branch.keys for branch in errors.branches for key in branch.keys}
    by_cut = {key[:MAX_CHARACTERS]: key for key in united}
    found: dict[tuple[str, str], WrongAnswer] = {}
    for wrong in errors.wrong:
        own = united.get(by_cut.get(wrong.branch, ""), (wrong.branch,))
        for key in own:
            found[key[:MAX_CHARACTERS], read_name(wrong.text).key] = wrong
    return found


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
