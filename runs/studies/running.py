"""Running a study from beginning to end; a new study and a continued one take the same path."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from branchwise.agents.outages import Outages
from branchwise.agents.restraints import UNRESTRAINED, Limits, Restraints
from branchwise.base.errors import InputError
from branchwise.base.process import run_blocking
from branchwise.eval.plugin_metrics import check_metrics, load_metrics
from branchwise.eval.scoring_choice import BY_NAMES, ScoringChoice
from branchwise.eval.selection import CONCURRENCY
from branchwise.eval.tasks import get_task
from branchwise.runs.continuing import check_same_system, with_absolute_paths
from branchwise.runs.costs.prices import Prices, keep_limit, keep_prices, prices_of
from branchwise.runs.costs.spending import (
    Spending,
    check_bounded,
    check_bounded_scoring,
    recorded_cost,
    restraints_of,
)
from branchwise.runs.experiment import check_scoring, run_spec
from branchwise.runs.on_ray.connection import RayPlace
from branchwise.runs.on_ray.messages import WorkerSystem
from branchwise.runs.on_ray.pool import RayPool
from branchwise.runs.options import StudyOptions
from branchwise.runs.runner import Engine, Observer, Part, RunState, Silent, run_parts
from branchwise.runs.store import RunReader, RunStore
from branchwise.runs.studies.checks import KEYS
from branchwise.runs.studies.folder import (
    SetRecord,
    StudyFolder,
    StudyRecord,
    SystemRecord,
    study_lock,
)
from branchwise.runs.studies.schema import LoadedStudy
from branchwise.runs.studies.sets import StudyPart, StudySet, parts_of, refusals_name
from branchwise.runs.studies.shared import SharedSources, make_agents, sets_of
from branchwise.runs.studies.systems import NamedSystem

if TYPE_CHECKING:
    from branchwise.graphs.agent import Agent


@dataclass(frozen=True)
class StudyDesign:
    """Which systems answer which sets, how they are scored, and the study file as read."""

    name: str
    systems: tuple[NamedSystem, ...]
    sets: tuple[StudySet, ...]
    scoring: ScoringChoice = BY_NAMES
    document: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, loaded: LoadedStudy) -> "StudyDesign":
        """What a study file says, its questions read. Raises InputError."""
        study, systems, sets = loaded.study, loaded.systems(), sets_of(loaded)
        return cls(study.name, systems, sets, loaded.scoring, study.to_json())

    @property
    def parts(self) -> tuple[StudyPart, ...]:
        """The runs, each system with each set."""
        return parts_of(self.sets, self.systems)


@dataclass(frozen=True)
class StudyPace:
    """How a study is run; no answer depends on it. `concurrency`: over all systems; `max_cost` in
    USD; `prices` None: those kept with the study, else the built-in ones; `on` None: in this
    process."""

    concurrency: int = CONCURRENCY
    limits: Limits = field(default_factory=Limits)
    outages: Outages = field(default_factory=Outages)
    max_cost: float | None = None
    prices: Prices | None = None
    retry_failed: bool = False
    pilot: int | None = None
    on: RayPlace | None = None

    @classmethod
    def of(
        cls,
        loaded: LoadedStudy,
        folder: Path,
        options: StudyOptions,
        max_requests: int | None = None,
        *,
        retry_failed: bool = False,
    ) -> "StudyPace":
        """What a user chose, then what the study's file says, then what its folder has."""
        study = loaded.study
        if options.prices:
            priced = options.priced
        else:
            priced = loaded.prices() if study.prices else prices_of(folder)
        return cls(
            options.concurrency or study.concurrency,
            Limits(max_requests),
            (study if options.patience is None else options).outages,
            study.max_cost if options.max_cost is None else options.max_cost,
            priced,
            retry_failed,
            options.pilot,
            options.place,
        )


class StudyObserver(Protocol):
    """Is notified of a study's progress; the command line's display is one."""

    def begins(self, system: NamedSystem, run: RunReader) -> Observer:
        """A system's run is open, perhaps with ended items; returns the observer of the others."""
        ...


class Unwatched:
    def begins(self, system: NamedSystem, run: RunReader) -> Observer:
        return Silent()


@dataclass(frozen=True)
class StudyRun:
    """A study's folder, how the pass over it ended, and what held it back."""

    folder: StudyFolder
    state: RunState
    restraints: Restraints = UNRESTRAINED

    @property
    def is_out_of_money(self) -> bool:
        """Whether it stopped because of `max_cost`."""
        spending = self.restraints.allowance
        return isinstance(spending, Spending) and spending.has_refused


def run_study(
    design: StudyDesign,
    out: Path,
    pace: StudyPace | None = None,
    observer: StudyObserver | None = None,
) -> StudyRun:
    """Let every system answer every set, in a new folder or in the one that was begun. Blocks
    until every item has ended, the study was interrupted, its allowance is spent, or a server stays
    away. Raises InputError before any work; StoreError where a run cannot be written."""
    pace = pace or StudyPace()
    if pace.prices is None:
        pace = replace(pace, prices=prices_of(out))
    restraints = _restraints(design, pace)
    with study_lock(out), ExitStack() as opened:
        shared = SharedSources()
        opened.callback(shared.close)
        agents = make_agents(design.parts, restraints, shared)
        engine = None
        if pace.on is not None:
            systems = [
                WorkerSystem(
                    with_absolute_paths(part.system.system), part.set.questions.task, part.words
                )
                for part in design.parts
            ]
            identities = [agent.identity for agent in agents]
            pool = RayPool.opened(pace.on, systems, identities, restraints)
            engine = opened.enter_context(pool)
        folder = StudyFolder.create(out, _record(design, agents))
        folder.fill(
            {
                part.run.slug: (
                    run_spec(
                        part.set.questions,
                        part.system.system,
                        agent,
                        part.set.epochs,
                        design.scoring,
                    ),
                    part.set.questions,
                )
                for part, agent in zip(design.parts, agents, strict=True)
            }
        )
        keep_prices(folder.path, pace.prices.path if pace.prices else None)
        keep_limit(folder.path, pace.max_cost)
        passing = _pass_over(
            design, folder, agents, pace, restraints, engine, observer or Unwatched()
        )
        return StudyRun(folder, run_blocking(passing), restraints)


def check_study(design: StudyDesign, out: Path, pace: StudyPace) -> StudyRecord:
    """Refuse what `run_study` refuses, and ask nothing; returns what it would record."""
    restraints = _restraints(design, pace)
    shared = SharedSources()
    try:
        record = _record(design, make_agents(design.parts, restraints, shared))
        StudyFolder.check(out, record)
        return record
    finally:
        shared.close()


def _restraints(design: StudyDesign, pace: StudyPace) -> Restraints:
    """What holds requests back. Refuses calls whose cost has no bound, and who cannot score."""
    if pace.max_cost is not None:
        check_study_bounded(design, pace.prices or Prices.load())
    restraints = restraints_of(pace.max_cost, pace.prices, pace.outages, pace.limits)
    metrics = load_metrics(design.scoring.metrics)
    for asked in design.sets:
        with refusals_name(f"set {asked.name!r}" if len(design.sets) > 1 else ""):
            for named in design.systems:
                check_scoring(design.scoring, named.system, asked.questions.task)
            check_metrics(metrics, asked.questions)
    return restraints


def check_study_bounded(design: StudyDesign, prices: Prices) -> None:
    for named in design.systems:
        check_bounded(named.system, prices, named.name, KEYS)
        settings = named.system.model_dump()
        check_bounded_scoring(design.scoring, settings, named.system.role_decoding, prices, KEYS)


def _record(design: StudyDesign, agents: Sequence["Agent"]) -> StudyRecord:
    return StudyRecord(
        version=version("branchwise"),
        name=design.name,
        sets=tuple(
            SetRecord(
                name=asked.name,
                task=asked.questions.task,
                source=asked.questions.source,
                questions_digest=asked.questions.digest,
                epochs=asked.epochs,
            )
            for asked in design.sets
        ),
        systems=tuple(
            SystemRecord(
                name=(named := part.system).name,
                slug=part.run.slug,
                changes=dict(named.changes),
                system=named.system.model_dump(mode="json"),
                digest=agent.digest,
                model=named.model,
                setting=named.setting,
                base=named.base,
                set=part.set.name,
            )
            for part, agent in zip(design.parts, agents, strict=True)
        ),
        study=design.document,
    )


async def _pass_over(
    design: StudyDesign,
    folder: StudyFolder,
    agents: Sequence["Agent"],
    pace: StudyPace,
    restraints: Restraints,
    engine: Engine | None,
    observer: StudyObserver,
) -> RunState:
    # Opened here, on the thread that the loop runs on: SQLite wants one thread a connection.
    with ExitStack() as stack:
        paths = [folder.run_path(part.run.slug) for part in design.parts]
        stores = [stack.enter_context(RunStore(path)) for path in paths]
        opened = [*zip(design.parts, stores, agents, strict=True)]
        for part, store, agent in opened:
            # A run folder may have been replaced since the study was made.
            check_same_system(store.path, store.reader.meta, agent)
            if store.reader.meta["questions_digest"] != part.set.questions.digest:
                problem = "the run has other questions than the study"
                remedy = "restore the study's own run, or remove it to start it again"
                raise InputError(problem, where=str(store.path), remedy=remedy)
        spending = restraints.allowance
        if isinstance(spending, Spending):
            prices = pace.prices or Prices.load()
            spending.spent = sum(
                recorded_cost(part.system.system, store.reader, prices, part.run.name)
                for part, store, _ in opened
            )
        parts = []
        for part, store, agent in opened:
            task, watching = get_task(store.reader.task), observer.begins(part.run, store.reader)
            parts.append(Part(store, agent, task, watching, part.words))
        return await run_parts(
            parts,
            concurrency=pace.concurrency,
            retry_failed=pace.retry_failed,
            pilot=pace.pilot,
            engine=engine,
        )
