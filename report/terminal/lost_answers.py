"""What is wrong with each item in words: lost and wrong answers, with step and passage."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from branchwise.agents.reply import CUT
from branchwise.base.numbers import number
from branchwise.base.text import printable
from branchwise.eval.errors.gold_evidence import EvidencePlace
from branchwise.eval.errors.item_errors import ItemErrors, MissingAnswer, WrongAnswer
from branchwise.eval.errors.labels import ErrorClasses, FoundErrors, Label
from branchwise.eval.grouping import ScoredItem
from branchwise.eval.tasks.task import Beside, Task
from branchwise.report.terminal.step_text import few, short

LOST_WORDS = {
    "agent": "left out by the agent",
    "extraction": "lost in extraction",
    "node": "taken out by a node",
    "repair": "lost with an answer that could not be read",
    "dropped": "given, and dropped by a later answer",
    "merge": "left out by the merge of several tries",
}
_MOST_PADDING, _MOST_PAIRS, _MAX_QUESTION = 30, 20, 1_000
_MAX_FAILURE = 1_000
"""Of a failure all is shown that a run keeps: what to do stands at its end."""


def lost_lines(question: str, errors: ItemErrors) -> list[str]:
    """The question, then a line for each thing that went wrong; plain text, one line each."""
    which = [f"epoch {errors.epoch}"] if errors.epoch else []
    if errors.gold_set is not None:
        which.append(f"scored against {gold_set_words(errors.gold_set)}")
    beside = f" ({', '.join(which)})" if which else ""
    lines = [f"{errors.id}{beside}  {short(question, _MAX_QUESTION)}"]
    lines += [f"  {line}" for line in _lines(errors)]
    return [printable(line) for line in lines]


def gold_set_words(number: int) -> str:
    """One of a question's several gold sets, by its number from 0."""
    return f"alternative {number}" if number else "the first gold set"


def has_any(errors: ItemErrors) -> bool:
    return next(_lines(errors), None) is not None


def _lines(errors: ItemErrors) -> Iterator[str]:
    if errors.error:
        yield f"failed: {short(errors.error, _MAX_FAILURE)}"
    for branch in errors.branches:
        missing = [answer for answer in errors.missing if answer.branch == branch.name]
        names = [short(answer.text, 60) for answer in missing]
        if missing:
            nothing = ", none retrieved" if Label.MISSING_BRANCH in branch.labels else ""
            yield f"{short(branch.name, 100)}: {branch.right} of {branch.gold} right{nothing}"
        width = min(max(map(len, names), default=0), _MOST_PADDING)
        for name, answer in zip(names, missing, strict=True):
            yield f"  {name:<{width}}  {why_missing(answer)}"
    for wrong in errors.wrong:
        yield f"wrong: {short(wrong.branch, 60)}: {short(wrong.text, 60)} · {why_wrong(wrong)}"
    for call in errors.failed_calls:
        step = f"step {call.step}, {short(call.tool, 60)}"
        yield f"{Label.WRONG_TOOL_CALL.words}: {step}: {short(call.error)}"
    endings = {Label.FORMAT_ERROR: errors.format_error, Label.BUDGET_SPENT: errors.budget_spent}
    for label, ending in endings.items():
        if ending is not None:
            step = f"step {ending.step}, " if ending.step is not None else ""
            yield f"{label.words}: {step}{short(ending.reason)}"
    if Label.CUT_REPLY in errors.labels:
        yield f"{Label.CUT_REPLY.words}: {CUT}"


def why_missing(answer: MissingAnswer) -> str:
    """Where a missing gold answer was lost, in words; not bounded by `printable`."""
    if answer.under is not None:
        return f"under {short(answer.under, 60)!r}"
    if answer.lost_at is not None:
        at = "" if answer.lost_step is None else f" at step {answer.lost_step}"
        return f"{LOST_WORDS[answer.lost_at]}{at}{_places(answer.places, answer.retrieved)}"
    if answer.label is Label.PERHAPS_STATED:
        return f"{answer.label.words}{_places(answer.elsewhere, answer.mentioned)}"
    if answer.label in (Label.INCOMPLETE_EXTRACTION, Label.NOT_IN_CORPUS):
        where = _places(answer.elsewhere, answer.mentioned, "mentioned elsewhere: ")
        if answer.in_corpus:
            where = f" · named in the corpus: [{short(answer.in_corpus, 60)}]{where}"
        return f"{answer.label.words}{where}"
    return "missing"


def why_wrong(answer: WrongAnswer) -> str:
    """What is wrong with a wrong answer, in words; not bounded by `printable`."""
    if answer.belongs_to is not None:
        return f"belongs to {short(answer.belongs_to, 60)!r}"
    if answer.label is Label.UNSUPPORTED_ANSWER:
        return "nowhere in the evidence"
    return f"read{_places(answer.places, answer.retrieved)}" if answer.places else "wrong"


def _places(places: Sequence[EvidencePlace], count: int, before: str = "") -> str:
    """A place where it was to be seen, the first that the agent saw if there is one, and in how
    many it was besides. The step is the event's number in the trace."""
    if not places:
        return ""
    more = f", and {count - 1} more" if count > 1 else ""
    place = next((place for place in places if place.shown), places[0])
    part = "" if place.row is None else f" row {place.row + 1}"
    if place.passage is not None:
        part = f" [{short(place.passage, 60)}]"
    return f" · {before}step {place.step}{part}{more}"


def task_error_lines(
    task: Task, item: ScoredItem, classes: ErrorClasses[Any], errors: FoundErrors
) -> list[str]:
    """The question, what differs from gold, then each error; plain text, one line each."""
    answered = item.item
    epoch = f" (epoch {errors.epoch})" if errors.epoch else ""
    lines = [f"{errors.id}{epoch}  {short(answered.question.question, _MAX_QUESTION)}"]
    if answered.error:
        lines.append(f"  failed: {short(answered.error)}")
    beside = task.beside(answered.question, answered.prediction, answered.protocol) or ()
    lines += (f"  {line}" for line in few([*_differences(beside)], _MOST_PAIRS))
    lines += (
        f"  {error_type.title}: {error_type.words}"
        for error_type in classes.types
        if error_type.key in errors.found
    )
    unknown = [error_type.title for error_type in classes.types if error_type.key in errors.unknown]
    lines += [f"  unknown: {', '.join(unknown)}"] if unknown else []
    return [printable(line) for line in lines]


def task_error_json(item: ScoredItem, errors: FoundErrors) -> Mapping[str, Any]:
    """The same for programs, keys of types for words."""
    return {
        "question": item.item.question.question,
        "id": errors.id,
        "epoch": errors.epoch,
        "error": item.item.error,
        "output": item.item.prediction.task_output,
        "labels": sorted(errors.found),
        "unknown": sorted(errors.unknown),
    }


def _differences(beside: Sequence[Beside]) -> Iterator[str]:
    def joined(texts: Sequence[str]) -> str:
        return short(" + ".join(texts))

    for pair in beside:
        gold, predicted = pair.gold, pair.predicted
        if predicted is None and gold:
            yield f"missing: {gold[0]} {joined(gold[1])}"
        elif gold is None and predicted:
            yield f"wrong: {predicted[0]} {joined(predicted[1])}"
        elif gold and predicted and gold[1] != predicted[1]:
            scores = ", ".join(f"{name} {number(value)}" for name, value in pair.scores)
            beside_scores = f" ({scores})" if scores else ""
            yield f"{predicted[0]}: {joined(predicted[1])} for {joined(gold[1])}{beside_scores}"
