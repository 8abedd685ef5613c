"""What is wrong with answers as they and the gold ones tell: in words, and counted."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from branchwise.base.numbers import UNKNOWN, count, number, percent
from branchwise.base.text import printable
from branchwise.eval.errors.labels import ErrorClass, ErrorClasses, ErrorType, FoundErrors
from branchwise.eval.grouping import ScoredItem
from branchwise.eval.tasks.task import Beside, Task
from branchwise.report.error_counts import ErrorCounts, error_counts, found_in
from branchwise.report.study_report import StudyReport
from branchwise.report.terminal.cells import heading, new_table, notes, plain, run_name
from branchwise.report.terminal.lost_answers import MAX_QUESTION
from branchwise.report.terminal.step_text import few, short

if TYPE_CHECKING:
    from rich.console import RenderableType

_MAX_PAIRS = 20
_ROOM, _CELL = 80, 10
"""Columns of a terminal, and of a count with its share."""
_Counted = tuple[str, ErrorCounts]
"""A run's name and its errors."""
_NOTES = (
    "an item is a question in one epoch; it may have several errors, each counted",
    "what each means: docs/benchmarks; each item: branchwise errors DIR",
)


def told_error_tables(report: StudyReport) -> "Iterator[RenderableType]":
    """Items by error, a column a run, for a terminal; nothing where traces tell more."""
    classes = report.task.error_classes
    if not classes:
        return
    runs = [(one.name, error_counts(one.run, "all")) for one in report.systems]
    label = max(len(words) for group in classes.classes for *_, words in _kinds(group))
    for chosen in _side_by_side(runs, label):
        yield heading("items by error", [name for name, _ in runs])
        table = new_table()
        table.columns[0].no_wrap = True
        for name, _ in chosen:
            words = "items" if len(runs) == 1 else "\n".join(_lines(name))
            table.add_column(plain(words), justify="right", overflow="fold")
        table.add_row(plain("all", "bold"), *(plain(count(one.items)) for _, one in chosen))
        for group in classes.classes:
            for one, style, words in _kinds(group):
                if found_in(one, (counts for _, counts in chosen)):
                    cells = [_share(counts, one) for _, counts in chosen]
                    table.add_row(plain(words, style), *(plain(c, style) for c in cells))
        yield table
    yield notes(_NOTES)


def _side_by_side(runs: Sequence[_Counted], label: int) -> Iterator[list[_Counted]]:
    """The runs of each table: as many as a terminal has room for beside the labels."""
    chosen: list[_Counted] = []
    taken = label
    for one in runs:
        width = max(_CELL, *map(len, _lines(one[0]))) + 2
        if chosen and taken + width > _ROOM:
            yield chosen
            chosen, taken = [], label
        chosen.append(one)
        taken += width
    if chosen:
        yield chosen


def _lines(name: str) -> list[str]:
    """A run's name, each of the settings that it lists on its own line."""
    return run_name(name).replace(", ", ",\n").split("\n")


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
