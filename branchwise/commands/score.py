"""`branchwise score`: scores of a run, or of anyone's predictions."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from branchwise.eval.scores import Scores


def score(
    path: Annotated[
        Path | None, typer.Argument(metavar="[DIR]", help="Run folder to score.")
    ] = None,
    questions: Annotated[
        str | None, typer.Option(help="Question set with gold, for --predictions.")
    ] = None,
    predictions: Annotated[
        Path | None, typer.Option(help='JSONL of {"id", "answers"}: any agent\'s predictions.')
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="Task, where it is not the question set's own.")
    ] = None,
    matcher: Annotated[
        str, typer.Option(help="How branch names are aligned: lexical.")
    ] = "lexical",
    json_output: Annotated[
        bool, typer.Option("--json", help="Print aggregates and every item's metrics as JSON.")
    ] = False,
) -> None:
    """Score a run folder, or a predictions file against a question set.

    Example: branchwise score --questions q.jsonl --predictions mine.jsonl
    """
    _check_matcher(matcher)
    if path is not None and questions is None and predictions is None and task is None:
        name, scores = path.resolve().name, _score_run(path)
    elif path is None and questions is not None and predictions is not None:
        name, scores = predictions.name, _score_file(questions, predictions, task)
    else:
        from branchwise.corpora.errors import InputError

        raise InputError(
            "what to score is not clear",
            remedy="name either a run folder, or --questions and --predictions (and --task)",
        )
    _show(name, scores, as_json=json_output)


def _check_matcher(matcher: str) -> None:
    from branchwise.corpora.errors import InputError
    from branchwise.eval.alignment import MATCHER

    if matcher != MATCHER:
        raise InputError(f"unknown matcher {matcher!r}", remedy=f"known matchers: {MATCHER}")


def _score_run(path: Path) -> "Scores":
    from branchwise.commands.report import warn_if_pending
    from branchwise.eval.scoring import score as score_run

    warn_if_pending(path)
    return score_run(path)


def _score_file(questions: str, predictions: Path, task: str | None) -> "Scores":
    from dataclasses import replace

    from branchwise.corpora.loaders import load_questions
    from branchwise.eval.predictions_file import read_predictions
    from branchwise.eval.scores import score_items
    from branchwise.eval.tasks import get_task

    loaded = load_questions(questions)
    scorer = get_task(task or loaded.task)
    return score_items(scorer, read_predictions(predictions, replace(loaded, task=scorer.name)))


def _show(name: str, scores: "Scores", *, as_json: bool) -> None:
    if as_json:
        from branchwise.ui.console import printable_json

        typer.echo(printable_json({"name": name, **scores.to_json()}))
        return
    from branchwise.ui.console import console
    from branchwise.ui.report_table import report_tables

    for table in report_tables([(name, scores)]):
        console().print(table)
