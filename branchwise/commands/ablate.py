"""`branchwise ablate`: run or continue a study, and report what each system changes."""

import resource
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from branchwise.base.errors import InputError
from branchwise.base.keys import NO_KEYS, Keys
from branchwise.commands.declared_options import DryRun, EstimateFrom, check_forecast, with_options
from branchwise.commands.options import AsJson, Key, RetryFailed, read_keys
from branchwise.commands.report import print_aggregates
from branchwise.commands.running import (
    allow_open_files,
    asks_several,
    say_failures,
    warn_of_shutdowns,
)
from branchwise.commands.score import print_runs, say, score_and_save
from branchwise.eval.scores import Scores
from branchwise.report.run_folders import systems_of_runs
from branchwise.report.terminal.console import console, error_console
from branchwise.report.terminal.costs import print_plan
from branchwise.report.terminal.progress import StudyProgress
from branchwise.report.terminal.run_notes import failure_lines
from branchwise.runs.estimates import Sample, samples_of
from branchwise.runs.options import StudyOptions
from branchwise.runs.scoring.score import ScoringSettings
from branchwise.runs.studies.plan import PlanPace, plan_of
from branchwise.runs.studies.running import StudyDesign, StudyPace, StudyRun, check_study, run_study
from branchwise.runs.studies.schema import LoadedStudy, load_study

MaxRequests = Annotated[
    int | None,
    typer.Option(
        help="Requests to one model server at a time. Default: no limit until it refuses one.",
        min=1,
    ),
]


@with_options
def ablate(
    *,
    study: Annotated[Path, typer.Argument(metavar="STUDY.yaml", help="Study file: what to vary.")],
    out: Annotated[
        Path | None, typer.Option(help="Study folder to make or continue. Default: studies/NAME.")
    ] = None,
    dry_run: DryRun = False,
    estimate_from: EstimateFrom = None,
    options: StudyOptions,
    max_requests: MaxRequests = None,
    retry_failed: RetryFailed = False,
    key: Key = None,
    json_output: AsJson = False,
) -> None:
    """Run the systems of a study over the same questions and compare each with its model's base.

    The same command continues a study that was killed or interrupted.

    Example: branchwise ablate study.yaml --out S --max-cost 2.50
    """
    pilot, max_cost = options.pilot, options.max_cost
    check_forecast(pilot, estimate_from, dry_run=dry_run)
    given = read_keys(key)  # before the file is read, as every command does
    loaded = load_study(study).with_keys(given)
    keys = Keys(loaded.study.keys)
    design = StudyDesign.of(loaded)
    folder = out or Path("studies") / design.name
    pace = StudyPace.of(loaded, folder, options, max_requests, retry_failed=retry_failed)
    if dry_run and pilot is None:
        _forecast(loaded, design, pace, folder, estimate_from)
        return
    written = {
        "out": out,
        "prices": options.prices,
        "concurrency": options.concurrency,
        "max-requests": max_requests,
        "on": options.on,
        "workers": options.workers,
    }
    words = ["branchwise", "ablate", str(study)]
    for option, value in written.items():
        words += [] if value is None else [f"--{option}", str(value)]
    again = shlex.join([*words, *(word for name in key or () for word in ("--key", name))])
    warn_of_shutdowns([system.system for system in design.systems], keys.variables, design.scoring)
    try:
        made = _run(design, folder, pace)
    except KeyboardInterrupt:
        # While something was opened: afterwards the pass ends with what it has.
        _say_stopped("interrupted", again)
        sys.exit(1)
    if pilot is not None and not made.state.stopped:
        limit = "" if max_cost is None else f" --max-cost {max_cost:g}"
        _tell_pilot(loaded, design, pace, made, again + limit)
    finish(made, design, again, max_cost, keys, as_json=json_output)


def _forecast(
    loaded: LoadedStudy, design: StudyDesign, pace: StudyPace, folder: Path, source: Path | None
) -> None:
    """Say what a study may cost, then refuse what would be refused without `--dry-run`."""
    refusal, digests = None, dict[str, str]()
    try:
        digests = check_study(design, folder, pace)
    except InputError as error:
        refusal = error
    _print_plan(loaded, design, pace, samples_of(digests, folder, source) if digests else {})
    if refusal:
        raise refusal


def _tell_pilot(
    loaded: LoadedStudy, design: StudyDesign, pace: StudyPace, made: StudyRun, again: str
) -> None:
    digests = {system.name: system.digest for system in made.folder.record.systems}
    _print_plan(loaded, design, pace, samples_of(digests, made.folder.path, None))
    text = f"\nThe answers are kept; the study itself:\n  {again}"
    console().print(text, markup=False, soft_wrap=True)
    failures = say_failures([path for _, path in made.folder.runs()], again)
    sys.exit(1 if failures.failed.items or failures.is_total else 0)


def _print_plan(
    loaded: LoadedStudy, design: StudyDesign, pace: StudyPace, samples: Mapping[str, Sample]
) -> None:
    planned = PlanPace(pace.concurrency, pace.max_cost, samples)
    assert pace.prices is not None
    print_plan(plan_of(loaded, design.systems, design.questions, pace.prices, planned))


def _run(design: StudyDesign, folder: Path, pace: StudyPace) -> StudyRun:
    extracts = any(named.system.extract for named in design.systems)
    several, systems = extracts or asks_several(design.questions.task), len(design.systems)
    allow_open_files(pace.concurrency, several=several, runs=systems)
    _check_open_files(systems)
    assert pace.prices is not None
    with StudyProgress(
        pace.prices,
        pace.limits,
        pace.outages,
        max_cost=pace.max_cost,
        retry_failed=pace.retry_failed,
    ) as live:
        return run_study(design, folder, pace, live)


def _check_open_files(systems: int) -> None:
    # Every run has up to seven files open: refused now, not half-way.
    needed, allowed = 7 * systems + 64, resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if allowed != resource.RLIM_INFINITY and allowed < needed:
        problem = f"{systems} systems need {needed} open files, and this process may have {allowed}"
        remedy = f"raise the limit (ulimit -n {needed}), or split the study"
        raise InputError(problem, remedy=remedy)


def finish(
    made: StudyRun,
    design: StudyDesign,
    again: str,
    max_cost: float | None = None,
    keys: Keys | None = None,
    *,
    as_json: bool = False,
) -> None:
    """Say how the study ended: its tables, or how to continue. Exits with 1 where items failed.
    `again`: the command that continues it, without `max_cost`, which is added here."""
    folder = shlex.quote(str(made.folder.path))
    most = "HIGHER" if made.is_out_of_money else max_cost
    again += "" if most is None else f" --max-cost {most}"
    if made.state.stopped:
        again += " --retry-failed" if made.state.is_endless else ""
        _say_stopped(made.state.stopped, again, f"  branchwise report {folder}")
        sys.exit(1)
    scores = show_study(made, design, keys, as_json=as_json)
    failed = say_failures([path for _, path in made.folder.runs()], again).failed.items
    if say(failure_lines(scores)) or failed:
        sys.exit(1)


def _say_stopped(why: str, again: str, look: str | None = None) -> None:
    so_far = f"\nand see what there is so far with:\n{look}" if look else ""
    text = f"Stopped: {why}. Nothing is lost; continue with:\n  {again}{so_far}"
    error_console().print(text, markup=False, soft_wrap=True)


def show_study(
    made: StudyRun, design: StudyDesign, keys: Keys | None = None, *, as_json: bool = False
) -> list[Scores]:
    """Score every run of the study, and print what it changes and what to type next."""
    choice = design.scoring if design.scoring.asks else None
    settings = ScoringSettings(choice, keys=keys or NO_KEYS, restraints=made.restraints)
    runs = [(name, score_and_save(path, settings)) for name, path in made.folder.runs()]
    systems = systems_of_runs(runs, made.folder.record.systems)
    scored = [run.scores for _, run in runs]
    if as_json:
        print_aggregates(made.folder.runs(), systems)
        return scored
    print_runs(systems)
    folder = shlex.quote(str(made.folder.path))
    lines = (
        f"\nStudy: {made.folder.path}\nNext:",
        f"  branchwise report {folder} --full",
        f"  branchwise report {folder} --html {folder}/report.html",
        f"  branchwise errors {folder}/runs/{design.systems[0].slug}",
    )
    console().print("\n".join(lines), markup=False, soft_wrap=True)
    return scored
