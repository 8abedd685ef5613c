"""What `branchwise run` and `branchwise resume` do, and say when a run ends."""

import re
import resource
import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from branchwise import api
from branchwise.agents.answer import UNREADABLE
from branchwise.agents.spec import shutdown_warnings
from branchwise.base.errors import InputError
from branchwise.base.keys import NO_KEYS, Keys
from branchwise.base.text import counted, printable
from branchwise.commands.options import read_ids
from branchwise.commands.score import exit_if_in_vain, print_runs, say_next, score_and_save
from branchwise.corpora.loaders import load_questions
from branchwise.corpora.loaders.source import QuestionSource
from branchwise.corpora.questions import QuestionSet
from branchwise.eval.scoring_choice import ScoringChoice
from branchwise.eval.tasks import get_task, gold_of
from branchwise.graphs.designs import DESIGNS
from branchwise.graphs.system import System
from branchwise.report.study_report import SystemReport
from branchwise.report.terminal.console import console, error_console, print_json
from branchwise.report.terminal.costs import print_plan
from branchwise.runs.costs.prices import limit_of
from branchwise.runs.costs.spending import Spending, check_affordable, models_of
from branchwise.runs.estimates import samples_of
from branchwise.runs.experiment import Run, check_run
from branchwise.runs.options import PaceOptions, RunOptions, ScoreOptions
from branchwise.runs.scoring.score import ScoringSettings
from branchwise.runs.store import open_run
from branchwise.runs.studies.plan import PlanPace, plan_systems
from branchwise.runs.studies.systems import NamedSystem

_REASONS = 3
SEVERAL = ("extract", *DESIGNS)
"""Settings with which a question has several requests at a time."""


@dataclass(frozen=True)
class RunRequest:
    """What `branchwise run` was asked for, besides its questions."""

    ids: Path | None
    system: System
    options: RunOptions
    scoring: ScoreOptions
    out: Path | None
    forecast_from: Path | None
    is_forecast: bool
    names_model: bool
    as_json: bool


def answer_questions(questions: QuestionSource, asked: RunRequest) -> None:
    """Make a run, or say what it may cost."""
    out, system, scoring = asked.out, asked.system, asked.scoring
    choice, max_cost = scoring.choice, limit_of(out, asked.options.max_cost)
    options = asked.options.model_copy(update={"max_cost": max_cost})
    task = options.task
    chosen = options.selection(read_ids(asked.ids), options.part)
    loaded = load_questions(questions, gold_of=gold_of(task))
    selected = chosen.of(loaded)
    wanted = _Wanted(system, selected, out, options, choice)
    if asked.is_forecast and options.pilot is None:
        wanted.forecast(asked.forecast_from)
        return
    several = any(getattr(system, name) for name in SEVERAL) or asks_several(task or loaded.task)
    allow_open_files(options.concurrency, several=several)
    warn_of_shutdowns([system], system.keys, choice)
    made = api.run(selected, system, options, scoring, out=out, progress=True)
    say_default_model(asked)
    if options.pilot is not None and not made.state.stopped:
        wanted.tell_pilot(made)
    finish(made, Keys(system.keys), as_json=asked.as_json, pace=options)


def say_default_model(asked: RunRequest) -> None:
    """So that a forgotten `--model` is not taken for a poor one."""
    if not asked.names_model:
        model = asked.system.model
        line = f"no --model: {model} answered, a rule-based reader with no language model"
        error_console().print(line, markup=False, soft_wrap=True)


@dataclass(frozen=True)
class _Wanted:
    system: System
    questions: QuestionSet
    out: Path | None
    options: RunOptions
    scoring: ScoringChoice

    def forecast(self, source: Path | None) -> None:
        """Say what it may cost, then refuse what would be refused without `--dry-run`."""
        refusal, digest = None, ""
        try:
            if self.options.max_cost is not None:
                check_affordable(self.system, self.scoring, self.options.priced)
            digest = check_run(
                self.questions,
                self.system,
                out=self.out,
                task=self.options.task,
                epochs=self.options.epochs,
                scoring=self.scoring,
            )
        except InputError as error:
            refusal = error
        self._print_plan(digest, self.out, source)
        if refusal:
            raise refusal

    def tell_pilot(self, made: Run) -> None:
        """Say what a pilot lets expect, how to go on, and what failed of it. Exits."""
        with closing(made.open()) as reader:
            digest = reader.meta["system_digest"]
        self._print_plan(digest, made.path, None)
        text = f"\nThe answers are kept; the run itself:\n  branchwise resume {_quoted(made.path)}"
        console().print(text, markup=False, soft_wrap=True)
        failures = say_failures([made.path], f"branchwise resume {_quoted(made.path)}")
        sys.exit(1 if failures.failed.items or failures.is_total else 0)

    def _print_plan(self, digest: str, folder: Path | None, source: Path | None) -> None:
        name = (folder or Path("run")).name
        digests = {name: (digest, self.questions.digest)} if digest else {}
        samples = samples_of(digests, folder, source) if digest else {}
        of, priced = self.options, self.options.priced
        pace = PlanPace(of.concurrency, of.max_cost, samples)
        system, asked = self.system, self.questions
        named = NamedSystem(name, name, system, {}, system.model, "", name)
        print_plan(plan_systems(name, [named], asked, of.epochs, self.scoring, priced, pace))


def continue_run(
    path: Path, pace: PaceOptions, keys: Keys, *, as_json: bool, **changed: Any
) -> None:
    """Go on with a run; `changed`: where its parts are now, and what else `api.resume` takes."""
    with closing(open_run(path)) as reader:
        begun = reader.meta["system"]
        several = any(begun.get(name) for name in SEVERAL) or asks_several(reader.task)
    allow_open_files(pace.concurrency, several=several)
    continued = api.resume(path, pace, keys=keys.variables, progress=True, **changed)
    finish(continued, keys, as_json=as_json, pace=pace)


def asks_several(task: str) -> bool:
    """Whether a question of the task may have several conversations at a time."""
    flow = get_task(task).flow
    return any(each.conversations > 1 for each in (flow, *flow.protocols.values()))


def allow_open_files(concurrency: int, *, several: bool = False, runs: int = 1) -> None:
    """Let this process open what `concurrency` questions (`several`: with requests of their own)
    and `runs` need, as far as the system goes: many start with 256 or 1024 files."""
    # 1,000 connections at a time are the most that the client opens to a server.
    needed = 2 * concurrency + 128 + (min(32 * concurrency, 1000) if several else 0) + 8 * runs
    soft, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < needed:
        allowed = needed if most == resource.RLIM_INFINITY else min(needed, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, most))


def finish(
    made: Run, keys: Keys | None = None, *, as_json: bool = False, pace: PaceOptions | None = None
) -> None:
    """Say how the run ended, its scores or how to go on. Exits with 1 where items failed."""
    if made.state.stopped:
        # The limit of cost itself stays with the run.
        allowance = made.restraints.allowance
        is_spent = isinstance(allowance, Spending) and allowance.has_refused
        again = f"branchwise resume {_quoted(made.path)}{' --max-cost HIGHER' if is_spent else ''}"
        again += " --retry-failed" if made.state.is_endless else ""
        again += place_words(pace)
        text = f"Stopped: {made.state.stopped}. Nothing is lost; continue with:\n  {again}"
        error_console().print(text, markup=False, soft_wrap=True)
        sys.exit(1)
    settings = ScoringSettings(keys=keys or NO_KEYS, restraints=made.restraints)
    scored, name = score_and_save(made.path, settings), made.path.resolve().name
    if as_json:
        print_json({"name": name, "path": str(made.path), **scored.to_json()})
    else:
        print_runs([SystemReport(name, scored)])
        console().print(f"\nRun: {made.path}", markup=False, soft_wrap=True)
        say_next(made.path)
    exit_if_in_vain(scored.settled, scored.scores)
    if say_failures([made.path], f"branchwise resume {_quoted(made.path)}").failed.items:
        sys.exit(1)


def place_words(pace: PaceOptions | None) -> str:
    """The options that say where questions are answered, as they were given."""
    on = f" --on {shlex.quote(pace.on)}" if pace and pace.on else ""
    return on + (f" --workers {pace.workers}" if pace and pace.workers else "")


CUT_REPLIES = "replies that were cut at the token limit"
_VARYING = re.compile(r"\d+")


@dataclass
class Unanswered:
    """Items without an answer by reason: messages that differ in numbers alone are one."""

    counts: Counter[str] = field(default_factory=Counter)
    words: dict[str, str] = field(default_factory=dict)
    first: tuple[Path, str] | None = None

    @property
    def items(self) -> int:
        return self.counts.total()

    def add(self, run: Path, question: str, message: str) -> None:
        reason = _VARYING.sub("#", message)
        self.words.setdefault(reason, message)
        self.counts[reason] += 1
        self.first = self.first or (run, question)

    def lines(self) -> list[str]:
        """The commonest reasons."""
        reasons = self.counts.most_common()
        # As long as a server's sentence and what to do about it, which stands at the end.
        first = reasons[:_REASONS]
        lines = [f"  {n} x {printable(self.words[reason])[:500]}" for reason, n in first]
        if others := sum(n for _, n in reasons[_REASONS:]):
            lines.append(f"  {others} x other reasons")
        return lines


@dataclass
class Failures:
    """Of all items of runs: failed, unreadable (format errors), and those with a cut reply."""

    items: int = 0
    ended: int = 0
    failed: Unanswered = field(default_factory=Unanswered)
    unreadable: Unanswered = field(default_factory=Unanswered)
    cut: int = 0

    @classmethod
    def of(cls, runs: Iterable[Path]) -> "Failures":
        counted = cls()
        for run in runs:
            with closing(open_run(run)) as reader:
                progress = reader.progress()
                counted.items += progress["total"]
                counted.cut += len(reader.cut_items())
                counted.ended += progress["done"] + progress["failed"]
                for row in reader.items():
                    if row.outcome is None:
                        continue
                    if row.status == "failed":
                        counted.failed.add(run, row.question.id, str(row.outcome["error"]))
                    elif row.outcome["how"] == UNREADABLE:
                        counted.unreadable.add(run, row.question.id, str(row.outcome["problem"]))
        return counted

    @property
    def is_total(self) -> bool:
        """Whether no item that has ended has a readable answer."""
        return 0 < self.ended == self.failed.items + self.unreadable.items


def say_failures(runs: Sequence[Path], again: str) -> Failures:
    """Say what failed and why, on standard error, with the command that asks `again`."""
    failures = Failures.of(runs)
    of_all, lines = f"of {counted(failures.items, 'item')}", []
    if n := failures.failed.items:
        lines.append(f"{n} {of_all} failed and {'counts' if n == 1 else 'count'} 0:")
        lines += [*failures.failed.lines(), "again with:", f"  {again} --retry-failed"]
    if failures.unreadable.first:
        n, (run, question) = failures.unreadable.items, failures.unreadable.first
        answers, count = ("an answer", "counts") if n == 1 else ("answers", "count")
        lines.append(f"{n} {of_all} gave {answers} that could not be read and {count} 0:")
        look = f"branchwise trace {_quoted(run)} --question={shlex.quote(question)}"
        lines += [*failures.unreadable.lines(), "look at one with:", f"  {look}"]
    if n := failures.cut:
        replies = "a reply that was cut at the token limit" if n == 1 else CUT_REPLIES
        lines += [f"{n} {of_all} had {replies}; ask again with:", f"  {again} --retry-failed"]
    if lines:
        error_console().print("\n".join(lines), markup=False, soft_wrap=True)
    return failures


def _quoted(path: Path) -> str:
    return shlex.quote(str(path))


def warn_of_shutdowns(
    systems: Sequence[System], keys: Mapping[str, str], scoring: ScoringChoice | None = None
) -> None:
    """Say on standard error which of the models that will be asked are shut down soon."""
    from datetime import UTC, datetime

    models = [model for system in systems for _, model in models_of(system)]
    models += [model for model in (scoring.model, scoring.judge) if model] if scoring else []
    headers = {name: value for system in systems for name, value in system.headers.items()}
    for line in shutdown_warnings(models, Keys(keys), headers, datetime.now(UTC).date()):
        error_console().print(line, markup=False, soft_wrap=True)
