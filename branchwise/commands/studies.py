"""What commands do with a study: run it with progress, say how it ended, and print its scores."""

import resource
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from branchwise import api
from branchwise.base.errors import InputError
from branchwise.base.keys import Keys
from branchwise.commands.options import read_ids
from branchwise.commands.report import print_aggregates
from branchwise.commands.report_runs import named_runs
from branchwise.commands.running import (
    SEVERAL,
    RunRequest,
    allow_open_files,
    answer_questions,
    asks_several,
    continue_run,
    place_words,
    say_default_model,
    say_failures,
    warn_of_shutdowns,
)
from branchwise.commands.score import print_sets, say, score_and_save
from branchwise.corpora.loaders.source import QuestionSource
from branchwise.eval.scores import MetricFailures, Scores
from branchwise.report.run_folders import systems_by_set
from branchwise.report.terminal.console import console, error_console
from branchwise.report.terminal.costs import print_plan
from branchwise.runs.estimates import Sample, samples_of
from branchwise.runs.experiment import new_folder
from branchwise.runs.options import PaceOptions
from branchwise.runs.scoring.score import ScoringSettings
from branchwise.runs.studies.plan import PlanPace, plan_parts
from branchwise.runs.studies.running import StudyDesign, StudyPace, StudyRun, check_study, run_study
from branchwise.runs.studies.several import continued_design, is_study
from branchwise.several import sets_design, sets_pace


def run_watched(design: StudyDesign, folder: Path, pace: StudyPace) -> StudyRun:
    """Run a study in a process that may open the files that it needs, and show how far it is."""
    set_so = any(getattr(named.system, name) for named in design.systems for name in SEVERAL)
    several = set_so or any(asks_several(asked.questions.task) for asked in design.sets)
    allow_open_files(pace.concurrency, several=several, runs=len(design.parts))
    _check_open_files(len(design.parts))
    with api.study_progress(pace) as live:
        return run_study(design, folder, pace, live)


def _check_open_files(runs: int) -> None:
    # Every run has up to seven files open: refused now, not half-way.
    needed, allowed = 7 * runs + 64, resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if allowed != resource.RLIM_INFINITY and allowed < needed:
        problem = f"{runs} runs need {needed} open files, and this process may have {allowed}"
        remedy = f"raise the limit (ulimit -n {needed}), or split the study"
        raise InputError(problem, remedy=remedy)


def answer(
    questions: Sequence[str], fields: Sequence[str], separator: str | None, asked: RunRequest
) -> None:
    """Make a run, or of several sets a study of one system, or say what it may cost. A study goes
    on where its folder holds it."""
    if len(questions) == 1:
        answer_questions(QuestionSource.parse(questions[0], fields, separator), asked)
        return
    system, folder = asked.system, asked.out or new_folder()
    of, named = asked.options, (fields, separator)
    design = sets_design(questions, system, of, asked.scoring, folder, named, read_ids(asked.ids))
    pace = sets_pace(of, folder, pilot=of.pilot)
    if asked.is_forecast and of.pilot is None:
        refusal, digests = None, dict[str, tuple[str, str]]()
        try:
            digests = check_study(design, folder, pace).digests
        except InputError as error:
            refusal = error
        samples = samples_of(digests, folder, asked.forecast_from) if digests else {}
        _print_plan(design, pace, samples)
        if refusal:
            raise refusal
        return
    warn_of_shutdowns([system], system.keys, design.scoring)
    again = f"branchwise resume {shlex.quote(str(folder))}"
    made = _watched(design, folder, pace, again)
    say_default_model(asked)
    if of.pilot is not None and not made.state.stopped:
        _print_plan(design, pace, samples_of(made.folder.record.digests, folder, None))
        end_pilot(made, again)
    settings = ScoringSettings(keys=Keys(system.keys), restraints=made.restraints)
    finish(made, again + place_words(of), settings=settings, as_json=asked.as_json)


def proceed(
    path: Path,
    of: PaceOptions,
    keys: Keys,
    *,
    as_json: bool,
    headers: Mapping[str, str],
    retry_failed: bool,
    **moved: Any,
) -> None:
    """Go on with a run or study; `moved`: where its parts are now, as `api.resume` takes it."""
    if not is_study(path):
        more = {**moved, "headers": headers, "retry_failed": retry_failed}
        continue_run(path, of, keys, as_json=as_json, **more)
        return
    design = continued_design(path, moved, keys, headers)
    pace = sets_pace(of, path, retry_failed=retry_failed)
    again = f"branchwise resume {shlex.quote(str(path))}"
    made = _watched(design, path, pace, again)
    settings = ScoringSettings(keys=keys, restraints=made.restraints)
    finish(made, again + place_words(of), settings=settings, as_json=as_json)


def _watched(design: StudyDesign, folder: Path, pace: StudyPace, again: str) -> StudyRun:
    try:
        return run_watched(design, folder, pace)
    except KeyboardInterrupt:
        # While something was opened: afterwards the pass ends with what it has.
        say_stopped("interrupted", again)
        sys.exit(1)


def _print_plan(design: StudyDesign, pace: StudyPace, samples: Mapping[str, Sample]) -> None:
    planned = PlanPace(pace.concurrency, pace.max_cost, samples)
    assert pace.prices is not None
    plan = plan_parts(design.name, design.parts, design.scoring, pace.prices, planned)
    print_plan(plan)


def end_pilot(made: StudyRun, again: str) -> None:
    """Say how the study goes on, and what failed of the pilot. Exits."""
    text = f"\nThe answers are kept; the study itself:\n  {again}"
    console().print(text, markup=False, soft_wrap=True)
    failures = say_failures([path for _, path in made.folder.runs()], again)
    sys.exit(1 if failures.failed.items or failures.is_total else 0)


def finish(
    made: StudyRun,
    again: str,
    max_cost: float | None = None,
    settings: ScoringSettings | None = None,
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
        say_stopped(made.state.stopped, again, f"  branchwise report {folder}")
        sys.exit(1)
    scores = show_study(made.folder.path, settings or ScoringSettings(), as_json=as_json)
    failed = say_failures([path for _, path in made.folder.runs()], again).failed.items
    if say(MetricFailures(scores).lines) or failed:
        sys.exit(1)


def show_study(path: Path, settings: ScoringSettings, *, as_json: bool = False) -> list[Scores]:
    """Score every run of a study, print each set and what systems change, and what to type next."""
    named = named_runs([path])
    runs = [(run, score_and_save(run.path, settings)) for run in named.runs]
    systems, scored = systems_by_set(runs, named.records), [run.scores for _, run in runs]
    if as_json:
        print_aggregates(systems)
        return scored
    print_sets(systems)
    folder = shlex.quote(str(path))
    lines = (
        f"\nStudy: {path}\nNext:",
        f"  branchwise report {folder} --full",
        f"  branchwise report {folder} --html {folder}/report.html",
        f"  branchwise errors {shlex.quote(str(named.runs[0].path))}",
    )
    console().print("\n".join(lines), markup=False, soft_wrap=True)
    return scored


def say_stopped(why: str, again: str, look: str | None = None) -> None:
    so_far = f"\nand see what there is so far with:\n{look}" if look else ""
    text = f"Stopped: {why}. Nothing is lost; continue with:\n  {again}{so_far}"
    error_console().print(text, markup=False, soft_wrap=True)
