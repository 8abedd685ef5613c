"""`branchwise ablate`: run or continue a study, and report what each system changes."""

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from branchwise.base.errors import InputError
from branchwise.base.keys import Keys
from branchwise.commands.declared_options import DryRun, EstimateFrom, check_forecast, with_options
from branchwise.commands.options import AsJson, Key, RetryFailed, read_keys
from branchwise.commands.running import warn_of_shutdowns
from branchwise.commands.studies import end_pilot, finish, run_watched, say_stopped
from branchwise.report.terminal.costs import print_plan
from branchwise.runs.estimates import Sample, samples_of
from branchwise.runs.options import StudyOptions
from branchwise.runs.scoring.score import ScoringSettings
from branchwise.runs.studies.plan import PlanPace, plan_of
from branchwise.runs.studies.running import StudyDesign, StudyPace, StudyRun, check_study
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
        made = run_watched(design, folder, pace)
    except KeyboardInterrupt:
        # While something was opened: afterwards the pass ends with what it has.
        say_stopped("interrupted", again)
        sys.exit(1)
    if pilot is not None and not made.state.stopped:
        limit = "" if max_cost is None else f" --max-cost {max_cost:g}"
        _tell_pilot(loaded, design, pace, made, again + limit)
    choice = design.scoring if design.scoring.asks else None
    settings = ScoringSettings(choice, keys=keys, restraints=made.restraints)
    finish(made, again, max_cost, settings, as_json=json_output)


def _forecast(
    loaded: LoadedStudy, design: StudyDesign, pace: StudyPace, folder: Path, source: Path | None
) -> None:
    """Say what a study may cost, then refuse what would be refused without `--dry-run`."""
    refusal, digests = None, dict[str, tuple[str, str]]()
    try:
        digests = check_study(design, folder, pace).digests
    except InputError as error:
        refusal = error
    _print_plan(loaded, design, pace, samples_of(digests, folder, source) if digests else {})
    if refusal:
        raise refusal


def _tell_pilot(
    loaded: LoadedStudy, design: StudyDesign, pace: StudyPace, made: StudyRun, again: str
) -> None:
    samples = samples_of(made.folder.record.digests, made.folder.path, None)
    _print_plan(loaded, design, pace, samples)
    end_pilot(made, again)


def _print_plan(
    loaded: LoadedStudy, design: StudyDesign, pace: StudyPace, samples: Mapping[str, Sample]
) -> None:
    planned = PlanPace(pace.concurrency, pace.max_cost, samples)
    assert pace.prices is not None
    print_plan(plan_of(loaded, design.systems, design.sets, pace.prices, planned))
