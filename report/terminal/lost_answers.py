"""What is wrong with each item in words: lost and wrong answers, with step and passage."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from branchwise.agents.reply import CUT
from branchwise.base.numbers import number
from branchwise.base.text import printable
from branchwise.eval.errors.gold_evidence import EvidencePlace
from branchwise.eval.errors.item_errors import (
    BranchErrors,
    Ending,
    ItemErrors,
    MissingAnswer,
    WrongAnswer,
)
from branchwise.eval.errors.labels import ErrorClasses, FoundErrors, Label
from branchwise.eval.grouping import ScoredItem
from branchwise.eval.tasks.task import Beside, Task
from branchwise.report.terminal.step_text import few, short

if TYPE_CHECKING:
    pass


_LOST_AT = {
    "agent": "left out by the agent",
    "extraction": "lost in extraction",
    "node": "taken out by a node",
    "repair": "lost with an answer that could not be read",
}
_MOST_PADDING = 30
MAX_FAILURE = 1_000
"""Of a failure all is shown that a run keeps: what to do stands at its end."""

MAX_QUESTION = 1_000


def lost_lines(question: str, errors: ItemErrors) -> list[str]:
    """The question, then a line for each thing that went wrong; plain text, one line each."""
    of = [f"epoch {errors.epoch}"] if errors.epoch else []
    if errors.gold_set is not None:
        of.append(f"scored against {gold_set_words(errors.gold_set)}")
    told = f" ({', '.join(of)})" if of else ""
    lines = [
        f"{errors.id}{told}  {short(question, MAX_QUESTION)}",
        *(f"  {line}" for line in _lines(errors)),
    ]
    return [printable(line) for line in lines]


def gold_set_words(number: int) -> str:
    """One of a question's several gold sets, by its number from 0."""
    return f"alternative {number}" if number else "the first gold set"


def has_any(errors: ItemErrors) -> bool:
    """Whether anything went wrong."""
    return next(_lines(errors), None) is not None


def _lines(errors: ItemErrors) -> Iterator[str]:
    if errors.error:
        yield f"failed: {short(errors.error, MAX_FAILURE)}"
    for branch in errors.branches:
        yield from _branch(branch, [a for a in errors.missing if a.branch == branch.name])
    for wrong in errors.wrong:
        yield f"wrong: {short(wrong.branch, 60)}: {short(wrong.text, 60)} · {why_wrong(wrong)}"
    failed = Label.WRONG_TOOL_CALL.words
    for call in errors.failed_calls:
        yield f"{failed}: step {call.step}, {short(call.tool, 60)}: {short(call.error)}"
    yield from _ending(Label.FORMAT_ERROR.words, errors.format_error)
    yield from _ending(Label.BUDGET_SPENT.words, errors.budget_spent)
    if Label.CUT_REPLY in errors.labels:
        yield f"{Label.CUT_REPLY.words}: {CUT}"


def _branch(branch: BranchErrors, missing: Sequence[MissingAnswer]) -> Iterator[str]:
    """How many of its answers are there, and below it each that is not, with the reason."""
    if not missing:
        return
    nothing = ", none retrieved" if Label.MISSING_BRANCH in branch.labels else ""
    yield f"{short(branch.name, 100)}: {branch.right} of {branch.gold} right{nothing}"
    names = [short(answer.text, 60) for answer in missing]
    width = min(max(map(len, names)), _MOST_PADDING)
    for name, answer in zip(names, missing, strict=True):
        yield f"  {name:<{width}}  {why_missing(answer)}"


def why_missing(answer: MissingAnswer) -> str:
    """Where a missing gold answer was lost, in words; not bounded by `printable`."""
    if answer.under is not None:
        return f"under {short(answer.under, 60)!r}"
    if answer.lost_at is not None:
        at = "" if answer.lost_step is None else f" at step {answer.lost_step}"
        return f"{_LOST_AT[answer.lost_at]}{at}{_places(answer.places, answer.retrieved)}"
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


def _places(places: Sequence[EvidencePlace], count: int, said: str = "") -> str:
    """A place where it was to be seen, the first that the agent saw if there is one, and in how
    many it was besides; `said` before it."""
    if not places:
        return ""
    more = f", and {count - 1} more" if count > 1 else ""
    place = next((place for place in places if place.shown), places[0])
    return f" · {said}{_place(place)}{more}"


def _place(place: EvidencePlace) -> str:
    """The step is the event's number in the trace."""
    what = ""
    if place.passage is not None:
        what = f" [{short(place.passage, 60)}]"
    elif place.row is not None:
        what = f" row {place.row + 1}"
    return f"step {place.step}{what}"


def _ending(what: str, ending: Ending | None) -> Iterator[str]:
    if ending is not None:
        step = f"step {ending.step}, " if ending.step is not None else ""
        yield f"{what}: {step}{short(ending.reason)}"


_MAX_PAIRS = 20


def told_lines(
    task: Task, item: ScoredItem, classes: ErrorClasses[Any], found: FoundErrors
) -> list[str]:
    """The question, what differs from gold, then each error; plain text, one line each."""
    epoch = f" (epoch {found.epoch})" if found.epoch else ""
    lines = [f"{found.id}{epoch}  {short(item.item.question.question, MAX_QUESTION)}"]
    if item.item.error:
        lines.append(f"  failed: {short(item.item.error)}")
    beside = task.beside(item.item.question, item.item.prediction) or ()
    lines += (f"  {line}" for line in few([*_differences(beside)], _MAX_PAIRS))
    lines += (f"  {one.title}: {one.words}" for one in classes.types if one.key in found.found)
    unknown = [one.title for one in classes.types if one.key in found.unknown]
    lines += [f"  unknown: {', '.join(unknown)}"] if unknown else []
    return [printable(line) for line in lines]


def told_json(item: ScoredItem, found: FoundErrors) -> Mapping[str, Any]:
    """The same for programs, keys of types for words."""
    return {
        "question": item.item.question.question,
        "id": found.id,
        "epoch": found.epoch,
        "error": item.item.error,
        "output": item.item.prediction.task_output,
        "labels": sorted(found.found),
        "unknown": sorted(found.unknown),
    }


def _differences(beside: Sequence[Beside]) -> Iterator[str]:
    for one in beside:
        if one.predicted is None and one.gold:
            yield f"missing: {_said(one.gold)}"
        elif one.gold is None and one.predicted:
            yield f"wrong: {_said(one.predicted)}"
        elif one.gold and one.predicted and one.gold[1] != one.predicted[1]:
            name, texts = one.predicted
            scores = ", ".join(f"{what} {number(value)}" for what, value in one.scores)
            told = f" ({scores})" if scores else ""
            yield f"{name}: {_texts(texts)} for {_texts(one.gold[1])}{told}"


def _said(named: tuple[str, Sequence[str]]) -> str:
    return f"{named[0]} {_texts(named[1])}"


def _texts(texts: Sequence[str]) -> str:
    return short(" + ".join(texts))
