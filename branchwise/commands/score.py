"""`branchwise score`: scores of a run, or of anyone's predictions."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from branchwise.commands.scoring_options import (
    Concurrency,
    Judge,
    JudgeEntities,
    Matcher,
    PriceFile,
    ScanCorpus,
    chosen,
    load_prices,
)

if TYPE_CHECKING:
    from branchwise.eval.scoring import ScoredRun, ScoringSettings
    from branchwise.eval.scoring_choice import ScoringChoice
    from branchwise.eval.scoring_predictions import ScoredFile


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
    matcher: Matcher = None,
    judge_entities: JudgeEntities = False,
    judge: Judge = None,
    scan_corpus: ScanCorpus = False,
    prices: PriceFile = None,
    concurrency: Concurrency = 8,
    json_output: Annotated[
        bool, typer.Option("--json", help="Print everything as JSON, each item included.")
    ] = False,
) -> None:
    """Score a run folder, or a predictions file against a question set.

    Example: branchwise score runs/base --matcher both:openai:gpt-5-mini
    """
    choice = chosen(matcher, judge_entities, judge)
    if path is not None and questions is None and predictions is None and task is None:
        from branchwise.eval.scoring import ScoringSettings

        settings = ScoringSettings(
            choice, load_prices(prices), concurrency, read_passages=scan_corpus
        )
        _score_run(path, settings, as_json=json_output)
    elif path is None and questions is not None and predictions is not None:
        _refuse_for_files(scan_corpus, prices)
        found = _score_file(questions, predictions, task, choice, concurrency)
        _show_file(predictions.name, found, as_json=json_output)
    else:
        from branchwise.corpora.errors import InputError

        raise InputError(
            "what to score is not clear",
            remedy="name either a run folder, or --questions and --predictions (and --task)",
        )


def _score_run(path: Path, settings: "ScoringSettings", *, as_json: bool) -> None:
    from branchwise.commands.report import warn_if_pending

    warn_if_pending(path)
    scored = score_and_save(path, settings)
    name = path.resolve().name
    if as_json:
        from branchwise.ui.console import printable_json

        typer.echo(printable_json({"name": name, **scored.to_json()}))
        return
    print_runs([(name, scored)])


def score_and_save(path: Path, settings: "ScoringSettings") -> "ScoredRun":
    """Score a run, and show how it goes where that takes long."""
    from dataclasses import replace

    from branchwise.agents.caller import ModelError
    from branchwise.commands.scoring_progress import scoring_progress
    from branchwise.eval.scoring import score_run
    from branchwise.ui.console import error_console

    with scoring_progress() as progress:
        shown = replace(settings, progress=progress.requests, passage_progress=progress.passages)
        try:
            return score_run(path, shown)
        except ModelError as error:
            failed = f"branchwise: {error.kind}: {error}"
    again = f"what was answered is kept; go on with:\n  branchwise score {path}"
    options = f" {settings.choice.options}" if settings.choice else ""
    error_console().print(f"{failed}; {again}{options}", markup=False, soft_wrap=True)
    sys.exit(1)


def print_runs(
    runs: "list[tuple[str, ScoredRun]]", by: tuple[str, ...] = (), *, brief: bool = False
) -> None:
    """Print the report of scored runs."""
    from branchwise.ui.console import console
    from branchwise.ui.run_report import run_report

    for table in run_report(runs, by, brief=brief):
        console().print(table)


def _refuse_for_files(scan_corpus: bool, prices: Path | None) -> None:
    from branchwise.corpora.errors import InputError

    for option, given in (("--scan-corpus", scan_corpus), ("--prices", prices)):
        if given:
            remedy = "leave it out: a predictions file has no trace"
            raise InputError(f"{option} is for run folders", remedy=remedy)


def _score_file(
    questions: str,
    predictions: Path,
    task: str | None,
    choice: "ScoringChoice | None",
    concurrency: int,
) -> "ScoredFile":
    from branchwise.agents.caller import ModelError
    from branchwise.eval.scoring_choice import BY_NAMES
    from branchwise.eval.scoring_predictions import score_predictions
    from branchwise.ui.console import error_console

    try:
        return score_predictions(
            questions, predictions, task, choice or BY_NAMES, concurrency=concurrency
        )
    except ModelError as error:
        line = f"branchwise: {error.kind}: {error}; what was answered is kept beside the file"
        error_console().print(line, markup=False, soft_wrap=True)
        sys.exit(1)


def _show_file(name: str, found: "ScoredFile", *, as_json: bool) -> None:
    if as_json:
        from branchwise.ui.console import printable_json

        typer.echo(printable_json({"name": name, **found.to_json()}))
        return
    from branchwise.ui.cells import indented, plain
    from branchwise.ui.console import console
    from branchwise.ui.matcher_notes import matcher_lines
    from branchwise.ui.report_table import report_tables

    scores = [(name, found.scores)]
    if found.lexical is not None:
        scores = [(f"{name} · lexical", found.lexical), (f"{name} · llm", found.scores)]
    for table in report_tables(scores):
        console().print(table)
    if lines := matcher_lines(found.settled):
        console().print(indented(plain("\n".join(["", *lines]))))
