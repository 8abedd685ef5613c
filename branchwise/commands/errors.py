"""`branchwise errors`: where each answer of a run was lost."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

import orjson
import typer

from branchwise.base.errors import InputError, did_you_mean
from branchwise.base.text import counted, printable
from branchwise.commands.declared_options import with_options
from branchwise.commands.options import Words
from branchwise.commands.report_runs import warn_if_pending
from branchwise.eval.errors.item_errors import LOST_AT
from branchwise.eval.errors.labels import Label, LostAt
from branchwise.eval.tasks import TASKS
from branchwise.report.terminal.console import console, echo, error_console, harmless_json
from branchwise.report.terminal.lost_answers import (
    LOST_WORDS,
    has_any,
    lost_lines,
    task_error_json,
    task_error_lines,
)
from branchwise.report.terminal.progress import ScoringProgress
from branchwise.runs.options import MatchOptions
from branchwise.runs.scoring.score import ScoringSettings, score_answers
from branchwise.runs.scoring.scored import ScoredAnswers
from branchwise.runs.store import open_run

T = TypeVar("T")


class PrintedErrors(NamedTuple):
    """An item with errors: lines for a reader, and a record for programs."""

    lines: list[str]
    record: Mapping[str, Any]


@with_options
def errors(
    *,
    path: Annotated[Path, typer.Argument(metavar="DIR", help="Run folder.")],
    question: Annotated[
        list[str] | None, typer.Option(help="Only the question with this id; repeatable.")
    ] = None,
    label: Annotated[
        str | None,
        typer.Option(
            help="Only questions with this label: `never retrieved`, ... (docs/glossary.md)."
        ),
    ] = None,
    lost_at: Annotated[
        str | None,
        typer.Option(
            click_type=Words(lambda: LOST_AT), help="Only questions with an answer lost there."
        ),
    ] = None,
    limit: Annotated[int | None, typer.Option(help="At most this many.", min=1)] = None,
    matching: MatchOptions,
    json_output: Annotated[
        bool, typer.Option("--json", help="Print one JSON object per question and epoch.")
    ] = False,
) -> None:
    """Say where every missing or wrong answer was lost, with step and passage; of conditional
    answers what is wrong with them.

    Example: branchwise errors runs/base --label "never retrieved" --limit 5
    """
    places: dict[str, LostAt] = {place: place for place in LOST_AT}
    place = None if lost_at is None else _known(lost_at, places, "place")
    for lost, words in LOST_WORDS.items():
        if words == label and place in (None, lost):
            label, place = Label.INCORRECT_REASONING.words, places[lost]
    _check_label(label)
    warn_if_pending(path)
    choice = matching.chosen
    with ScoringProgress() as progress:
        reads = ScoringSettings(choice, asks=False, saves=False, passage_progress=progress.passages)
        scored = score_answers(path, reads)
    _check_examined(path, scored, question)
    if scored.analysis is None:
        _check_label(label, scored)
        if place:
            task = scored.scores.scorer.task
            problem = f"it is not known where answers of the task {task} were lost"
            raise InputError(problem, where="--lost-at", remedy="leave it out")
        _print(path, [*_untraced(scored, question, label)], limit, as_json=json_output)
        return
    scorer = scored.scores.scorer
    if scorer.model:
        by = f"errors by the alignment of {scorer.matcher} ({printable(scorer.model)})"
        other = "; by names: --matcher lexical" if scored.lexical else ""
        error_console().print(f"{by}{other}", markup=False, soft_wrap=True)
    names = {name: each for each in Label for name in (each.value, each.words)}
    wanted = None if label is None else _known(label, names, "label")
    _print(path, [*_lost(scored, question, wanted, place)], limit, as_json=json_output)


def _check_label(name: str | None, scored: ScoredAnswers | None = None) -> None:
    own = [scored.error_classes] if scored else [task.error_classes for task in TASKS.values()]
    # The words first: people are told these where no label is near.
    known = [] if scored else [*(label.words for label in Label), *(label.value for label in Label)]
    known += [error_type.key for classes in own if classes for error_type in classes.types]
    if name is not None:
        _known(name, dict.fromkeys(known), "label")


def _known(name: str, known: Mapping[str, T], noun: str) -> T:
    if name not in known:
        remedy = did_you_mean(name, known, cutoff=0.5)
        raise InputError(f"unknown {noun} {name[:80]!r}", remedy=remedy)
    return known[name]


def _check_examined(path: Path, scored: ScoredAnswers, ids: list[str] | None) -> None:
    if scored.error_classes is None:
        answers = f"answers of the task {scored.scores.scorer.task} are sentences"
        problem = f"{answers}: their losses cannot be traced"
        remedy = "see `branchwise report` for its scores"
        raise InputError(problem, where=str(path), remedy=remedy)
    if missing := set(ids or ()) - {item.id for item in scored.errors}:
        problem = f"no ended item has the id {min(missing)[:80]!r}"
        remedy = "ids are in the question set; `branchwise export` lists those that ended"
        raise InputError(problem, where=str(path), remedy=remedy)


def _untraced(
    scored: ScoredAnswers, ids: list[str] | None, label: str | None
) -> Iterator[PrintedErrors]:
    """Items whose errors answer and gold tell, in order; with `ids`, all items with these ids."""
    task, classes = scored.scores.scorer.scored_task, scored.error_classes
    assert classes is not None
    for item, errors in zip(scored.items, scored.errors, strict=True):
        is_wanted = errors.id in ids if ids else bool(errors.found)
        if is_wanted and (label is None or label in errors.found):
            lines = task_error_lines(task, item, classes, errors)
            yield PrintedErrors(lines, task_error_json(item, errors))


def _lost(
    scored: ScoredAnswers, ids: list[str] | None, label: Label | None, lost_at: LostAt | None
) -> Iterator[PrintedErrors]:
    assert scored.analysis is not None
    with closing(open_run(scored.path)) as reader:
        texts = {question.id: question.question for question in reader.questions()}
    for errors in scored.analysis.item_errors:
        is_wanted = errors.id in ids if ids else has_any(errors)
        is_labelled = label is None or label in errors.labels
        is_there = lost_at is None or any(loss.lost_at == lost_at for loss in errors.missing)
        if is_wanted and is_labelled and is_there:
            record = {"question": texts[errors.id], **errors.to_json()}
            yield PrintedErrors(lost_lines(texts[errors.id], errors), record)


def _print(path: Path, items: list[PrintedErrors], limit: int | None, *, as_json: bool) -> None:
    if as_json:
        for item in items[:limit]:
            echo(harmless_json(orjson.dumps(item.record).decode()))
        return
    screen = console()
    for item in items[:limit]:
        for line in item.lines:
            # Wrapped, not cut: its end says where to look.
            screen.print(line, markup=False, soft_wrap=not screen.is_terminal)
    left = max(0, len(items) - (limit or len(items)))
    if left or not items:
        more = f"{left} more of {counted(len(items), 'item')} with errors"
        line = f"{path}: {more if items else 'nothing of the kind'}"
        error_console().print(line, markup=False, soft_wrap=True)
