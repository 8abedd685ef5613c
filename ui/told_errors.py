"""What is wrong with answers as they and the gold ones tell: in words, and counted."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from branchwise.corpora.text import printable
from branchwise.eval.errors.classes import ErrorClass, ErrorClasses, ErrorType, FoundErrors
from branchwise.eval.grouping import ScoredItem
from branchwise.eval.numbers import UNKNOWN, count, number, percent
from branchwise.eval.reporting.error_counts import ErrorCounts, error_counts, found_in
from branchwise.eval.reporting.study_report import StudyReport
from branchwise.eval.tasks.task import Beside, Task
from branchwise.ui.cells import heading, new_table, notes, plain, run_name
from branchwise.ui.lost_answers import MAX_QUESTION
from branchwise.ui.steps.text import few, short

if TYPE_CHECKING:
    from rich.console import RenderableType

_MAX_PAIRS, _MOST_RUNS = 20, 5
_NOTES = (
    "an item is a question in one epoch; it may have several errors, each counted",
    "what each means: docs/benchmarks; each item: branchwise errors DIR",
)


def told_error_tables(report: StudyReport) -> "Iterator[RenderableType]":
    """Items by error, a column a run, for a terminal; nothing where traces tell more."""
    classes = report.task.error_classes
    runs = [(one.name, error_counts(one.run, "all")) for one in report.systems if classes]
    for start in range(0, len(runs), _MOST_RUNS):
        chosen = runs[start : start + _MOST_RUNS]
        yield heading("items by error", [name for name, _ in runs])
        table = new_table()
        for name, _ in chosen:
            words = "items" if len(runs) == 1 else run_name(name)
            table.add_column(plain(words), justify="right", overflow="fold")
        table.add_row(plain("all", "bold"), *(plain(count(one.items)) for _, one in chosen))
        for group in classes.classes if classes else ():
            for one, style, words in _kinds(group):
                if found_in(one, (counts for _, counts in chosen)):
                    cells = [_share(counts, one) for _, counts in chosen]
                    table.add_row(plain(words, style), *(plain(c, style) for c in cells))
        yield table
    if runs:
        yield notes(_NOTES)


def _kinds(group: ErrorClass[Any]) -> Iterator[tuple[ErrorClass[Any] | ErrorType[Any], str, str]]:
    yield group, "bold", group.title
    yield from ((one, "", f"  {one.title}") for one in group.types)


def _share(counts: ErrorCounts, one: ErrorClass[Any] | ErrorType[Any]) -> str:
    """How many, and of those of which it is known."""
    found, known = counts.with_error[one.key], counts.known[one.key]
    return f"{count(found)} ({percent(found, known)})" if known else UNKNOWN


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
