"""`branchwise score`: scores of a run, or of a predictions file."""

import json
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from branchwise.agents.outages import PassEndedError
from branchwise.agents.reply import ModelError
from branchwise.base.errors import InputError
from branchwise.base.text import printable
from branchwise.commands.declared_options import with_options
from branchwise.commands.options import (
    Field,
    Full,
    Key,
    Separator,
    TaskOption,
    read_keys,
    read_questions,
)
from branchwise.commands.report_runs import named_runs, warn_if_pending
from branchwise.corpora.loaders import load_questions
from branchwise.corpora.loaders.source import QuestionSource
from branchwise.eval.judging.grading import Announce, Demand
from branchwise.eval.judging.settle import JudgeCheck, Settled
from branchwise.eval.scores import MetricFailures, Scores
from branchwise.eval.tasks.condambigqa.authors_outputs import (
    PREFIX,
    AuthorsOutput,
    Averages,
    read_outputs,
)
from branchwise.report.joined import JoinedReport
from branchwise.report.published import Published
from branchwise.report.run_folders import systems_by_set
from branchwise.report.study_report import SystemReport
from branchwise.report.tables.authors_outputs import averages_table, output_table, table_record
from branchwise.report.tables.joined import joined_tables
from branchwise.report.terminal.cells import plain
from branchwise.report.terminal.console import console, error_console, print_json
from branchwise.report.terminal.costs import demand_line
from branchwise.report.terminal.overview import study_changes
from branchwise.report.terminal.progress import ScoringProgress
from branchwise.report.terminal.report_table import with_notes
from branchwise.report.terminal.run_notes import check_line, in_vain_lines
from branchwise.report.terminal.run_report import predictions_report, run_report
from branchwise.runs.costs.prices import Prices, keep_prices, prices_of
from branchwise.runs.options import JudgingOptions
from branchwise.runs.scoring.score import (
    PredictionsFile,
    ScoringSettings,
    check_stored,
    score_answers,
)
from branchwise.runs.scoring.scored import ScoredAnswers
from branchwise.runs.studies.folder import STUDY_FILE


@with_options
def score(
    *,
    path: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DIR]",
            help="Run or study to score, or condambigqa-runs:FILE: outputs of a paper's authors.",
        ),
    ] = None,
    questions: Annotated[
        str | None,
        typer.Option(help="Question set with gold, for --predictions, or to grade outputs again."),
    ] = None,
    field: Field = None,
    separator: Separator = None,
    predictions: Annotated[
        Path | None, typer.Option(help='JSONL of {"id", "answers"}: any agent\'s predictions.')
    ] = None,
    task: TaskOption = None,
    options: JudgingOptions,
    key: Key = None,
    full: Full = False,
    json_output: Annotated[
        bool, typer.Option("--json", help="Print everything as JSON, each item included.")
    ] = False,
) -> None:
    """Score a run folder, a predictions file against a question set, or what a paper's authors
    published.

    Example: branchwise score runs/base --matcher both:openai:gpt-6-luna
    """
    priced = options.priced if options.prices or path is None else prices_of(path)
    settings = ScoringSettings.of(options, priced, read_keys(key))
    if path is not None and str(path).startswith(PREFIX) and predictions is None and task is None:
        idle = [flag for name, flag in _IDLE.items() if name in options.model_fields_set]
        if idle := [*idle, *["--full"] * full]:
            problem = f"{idle[0]} has no effect on outputs that are graded already"
            raise InputError(problem, remedy="leave it out")
        file = Path(str(path).removeprefix(PREFIX)).expanduser()
        named_set = read_questions(questions, field, separator) if questions else None
        _score_outputs(file, named_set, settings, as_json=json_output)
    elif path is not None and questions is None and predictions is None and task is None:
        score_folder = _score_study if (path / STUDY_FILE).is_file() else _score_run
        score_folder(path, settings, options.price_file, full=full, as_json=json_output)
    elif path is None and questions is not None and predictions is not None:
        if settings.read_passages:
            remedy = "leave it out: a predictions file has no trace"
            raise InputError("--scan-corpus is for run folders", remedy=remedy)
        if options.price_file and not (settings.choice and settings.choice.asks):
            remedy = "leave it out, or name a --matcher or --judge"
            raise InputError("--prices has no effect: no model is used", remedy=remedy)
        named = read_questions(questions, field, separator)
        _score_file(named, predictions, task, settings, full=full, as_json=json_output)
    else:
        raise InputError(
            "it is not clear what to score",
            remedy="name either a run folder, or --questions and --predictions (and --task)",
        )


_IDLE = {
    "matcher": "--matcher",
    "judge_entities": "--judge-entities",
    "judge_pairs": "--judge-pairs",
    "judge_beside": "--judge-beside",
    "variant": "--variant",
    "metrics": "--metric",
    "scan_corpus": "--scan-corpus",
}


def _score_outputs(
    path: Path, questions: QuestionSource | None, settings: ScoringSettings, *, as_json: bool
) -> None:
    outputs = read_outputs(path)
    if isinstance(outputs, dict):
        tables = [averages_table(outputs, path)]
    else:
        tables = [output_table(output, path) for output in outputs]
    check = None
    if settings.choice or settings.check or questions:
        check = _check_outputs(outputs, path, questions, settings)
    if as_json:
        judged = {"judge_check": check.to_json()} if check else {}
        print_json({"name": path.name, "tables": [*map(table_record, tables)], **judged})
        return
    for table in tables:
        for part in with_notes(table):
            console().print(part)
    if check:
        line = check_line(check, "beside the authors' judge")
        console().print(f"\n{printable(line)}", markup=False, soft_wrap=True)


def _check_outputs(
    outputs: Sequence[AuthorsOutput] | Mapping[str, Averages],
    path: Path,
    questions: QuestionSource | None,
    settings: ScoringSettings,
) -> JudgeCheck:
    if isinstance(outputs, Mapping) or len(outputs) != 1:
        problem = "a judge grades the outputs of one model"
        raise InputError(problem, where=str(path), remedy="leave out --judge and --questions")
    if not (settings.choice and settings.check):
        problem = "a judge is to grade outputs again, and it is not clear which judge, or how many"
        raise InputError(problem, remedy="name a --judge, and how many questions: --judge-check N")
    if questions is None and outputs[0].experiment == "main":
        problem = "the gold conditions are not in the file"
        remedy = "name the questions: --questions condambigqa:mcaqa.json"
        raise InputError(problem, where=str(path), remedy=remedy)
    asked = load_questions(questions).questions if questions else ()
    stored = outputs[0].requests(asked, questions.text if questions else str(path))
    with _asking(f"branchwise score {shlex.quote(f'{PREFIX}{path}')}", settings) as shown:
        return check_stored(path, stored, shown)


def _score_run(
    path: Path, settings: ScoringSettings, prices: Path | None, *, full: bool, as_json: bool
) -> None:
    warn_if_pending(path)
    keep_prices(path, prices)
    scored = score_and_save(path, settings)
    name = path.resolve().name
    if as_json:
        print_json({"name": name, **scored.to_json()})
    else:
        print_runs([SystemReport(name, scored)], full=full)
        if not full:
            say_next(path)
    exit_if_in_vain(scored.settled, scored.scores)


def _score_study(
    path: Path, settings: ScoringSettings, prices: Path | None, *, full: bool, as_json: bool
) -> None:
    keep_prices(path, prices)
    named = named_runs([path])
    for run in named.runs:
        warn_if_pending(run.path)
    runs = [(run, score_and_save(run.path, settings)) for run in named.runs]
    if as_json:
        print_json([{"name": of.name, "set": of.set, **run.to_json()} for of, run in runs])
    else:
        print_sets(systems_by_set(runs, named.records), full=full)
    lines = [line for _, run in runs for line in in_vain_lines(run.settled)]
    if say([*lines, *MetricFailures(run.scores for _, run in runs).lines]):
        sys.exit(1)


def score_and_save(path: Path, settings: ScoringSettings) -> ScoredAnswers:
    """Score a run, with progress if that takes long."""
    settings = replace(settings, prices=settings.prices or prices_of(path))
    command = f"branchwise score {shlex.quote(str(path))}"
    with _asking(command, settings) as shown:
        return score_answers(path, shown)


@contextmanager
def _asking(command: str, settings: ScoringSettings) -> Iterator[ScoringSettings]:
    """The settings, with progress. If requests are interrupted, prints how `command` continues."""
    with ScoringProgress(settings.restraints.outages) as progress:
        try:
            yield replace(
                settings,
                progress=progress.requests,
                passage_progress=progress.passages,
                announce=announcing(settings.prices),
            )
            return
        except ModelError as error:
            why = f"{error.kind}: {error}"
        except PassEndedError as error:
            why = str(error)
        except KeyboardInterrupt:
            if not progress.asked:
                raise
            why = "interrupted"
    options = "".join(f" {each.options}" for each in (settings.choice, settings.check) if each)
    options += "".join(f" --key {host}={name}" for host, name in settings.keys.variables.items())
    options += "".join(
        f" --role {shlex.quote(f'{role}.{name}={json.dumps(value)}')}"
        for role, own in settings.roles.items()
        for name, value in own.items()
    )
    options += "".join(f" --metric {shlex.quote(str(metric))}" for metric in settings.metrics)
    line = f"branchwise: {why}; finished work is kept; continue with: {command}{options}"
    error_console().print(printable(line), markup=False, soft_wrap=True)
    sys.exit(1)


def announcing(prices: Prices | None) -> Announce:
    """Says on standard error what a judge is to be asked, and what that costs at most."""

    def announce(demand: Demand) -> None:
        say([demand_line(demand, prices or Prices.load())])

    return announce


def exit_if_in_vain(settled: Settled, *scores: Scores) -> None:
    """Exit with 1, after the tables, if no model's reply was usable or a metric failed."""
    if say([*in_vain_lines(settled), *MetricFailures(scores).lines]):
        sys.exit(1)


def say(lines: Sequence[str]) -> bool:
    """Print lines on standard error; returns whether there were any."""
    for line in lines:
        error_console().print(f"branchwise: {line}", markup=False, soft_wrap=True)
    return bool(lines)


def print_runs(
    systems: Sequence[SystemReport],
    by: tuple[str, ...] = (),
    *,
    full: bool = False,
    published: Published | None = None,
) -> None:
    """Print the report of scored runs, and their changes where all are of one task."""
    for table in run_report(systems, by, full=full, published=published):
        console().print(table)
    if len(systems) > 1 and len({system.scores.scorer.task for system in systems}) == 1:
        for part in study_changes(systems, full=full):
            console().print(part)


def print_sets(
    by_set: Mapping[str, Sequence[SystemReport]],
    by: tuple[str, ...] = (),
    *,
    full: bool = False,
    published: Published | None = None,
) -> None:
    """Print the report of each set, under its name where there are several, then of all."""
    for name, systems in by_set.items():
        if len(by_set) > 1:
            tasks = dict.fromkeys(system.scores.scorer.task for system in systems)
            words = f"\n{name or 'runs of no set'} (task {', '.join(tasks)})"
            console().print(plain(words, "bold underline"))
        print_runs(systems, by, full=full, published=published)
    if len(by_set) > 1:
        tables = joined_tables(JoinedReport.of(by_set))
        for table in tables:
            for part in with_notes(table):
                console().print(part)
        if not tables:
            every = [{system.name for system in systems} for systems in by_set.values()]
            has_all = set.intersection(*every)
            why = "the sets share no headline metric" if has_all else "no system answered all sets"
            console().print(f"\nNothing is scored together: {why}.", soft_wrap=True)


def say_next(path: Path, reported: Path | None = None) -> None:
    """Print the commands that show more of a run; `reported`: the study that it is of."""
    run, whole = shlex.quote(str(path)), shlex.quote(str(reported or path))
    about = {
        f"report {whole} --full": "every table",
        f"errors {run}": "each lost answer",
        f"trace {run}": "every step",
    }
    width = max(map(len, about))
    lines = [f"  branchwise {command:<{width}}  # {says}" for command, says in about.items()]
    console().print("\n".join(["", "Next:", *lines]), markup=False, soft_wrap=True)


def _score_file(
    questions: QuestionSource,
    predictions: Path,
    task: str | None,
    settings: ScoringSettings,
    *,
    full: bool,
    as_json: bool,
) -> None:
    named = ["--questions", *questions.words, "--predictions", str(predictions)]
    command = shlex.join(["branchwise", "score", *named, *(["--task", task] if task else [])])
    with _asking(command, settings) as shown:
        scored = score_answers(PredictionsFile(predictions, questions, task), shown)
    if as_json:
        print_json({"name": predictions.name, **scored.to_json()})
    else:
        for table in predictions_report(predictions.name, scored, full=full):
            console().print(table)
    exit_if_in_vain(scored.settled, scored.scores)
