"""What is wrong with an answer that is told by itself and its gold, in words."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from branchwise.corpora.text import printable
from branchwise.eval.errors.classes import ErrorClasses, FoundErrors
from branchwise.eval.grouping import ScoredItem
from branchwise.eval.numbers import number
from branchwise.eval.tasks.task import Beside, Task
from branchwise.ui.lost_answers import MAX_QUESTION
from branchwise.ui.steps.text import few, short

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
