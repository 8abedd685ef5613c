"""Running a study from beginning to end; a new study and a continued one take the same path."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from branchwise.agents.limits import Limits
from branchwise.agents.outages import Outages
from branchwise.agents.restraints import UNRESTRAINED, Restraints
from branchwise.base.errors import InputError
from branchwise.base.process import run_blocking
from branchwise.corpora.questions import QuestionSet
from branchwise.eval.bounds import CONCURRENCY
from branchwise.eval.scoring_choice import BY_NAMES, ScoringChoice
from branchwise.eval.tasks import get_task
from branchwise.runs.costs.kept_prices import prices_of
from branchwise.runs.costs.prices import Prices
from branchwise.runs.costs.spending import (
    Spending,
    check_bounded,
    check_bounded_scoring,
    recorded_cost,
    restraints_of,
)
from branchwise.runs.experiment import (
    check_same_system,
    check_scoring,
    run_spec,
    with_absolute_paths,
)
from branchwise.runs.on_ray.connection import RayPlace
from branchwise.runs.on_ray.messages import WorkerSystem
from branchwise.runs.on_ray.pool import RayPool
from branchwise.runs.runner import Engine, Observer, Part, RunState, Silent, run_parts
from branchwise.runs.store import RunReader, RunStore
from branchwise.runs.studies.checks import KEYS
from branchwise.runs.studies.folder import StudyFolder, StudyRecord, SystemRecord, study_lock
from branchwise.runs.studies.schema import LoadedStudy
from branchwise.runs.studies.shared import SharedSources, make_agents, questions_of
from branchwise.runs.studies.systems import NamedSystem

if TYPE_CHECKING:
    from branchwise.graphs.agent import Agent


@dataclass(frozen=True)
class StudyDesign:
    """Which systems answer which questions, and how they are scored: a study's identity.

    `systems`: a base stands before what changes it. `document`: the study file as it was read, to
    be kept.
    """

    name: str
    systems: tuple[NamedSystem, ...]
    questions: QuestionSet
    epochs: int = 1
    scoring: ScoringChoice = BY_NAMES
    document: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, loaded: LoadedStudy) -> "StudyDesign":
        """What a study file says, its questions read. Raises InputError."""
        study = loaded.study
        return cls(
            study.name,
            loaded.systems(),
            questions_of(loaded),
            study.questions.epochs,
            loaded.scoring,
            study.to_json(),
        )


@dataclass(frozen=True)
class StudyPace:
    """How a study is run; no answer depends on it.

    `concurrency`: questions at a time, of all systems together. `limits`: how many requests go to
    a server at a time (without a limit until it refuses one), `outages` how long one that is gone
    is waited for. `max_cost`: in USD, by `prices` (None: those kept with the study, else the
    built-in ones). `pilot`: only so many questions for now. `on`: where Ray answers the questions;
    None: this process does.
    """

    concurrency: int = CONCURRENCY
    limits: Limits = field(default_factory=Limits)
    outages: Outages = field(default_factory=Outages)
    max_cost: float | None = None
    prices: Prices | None = None
    retry_failed: bool = False
    pilot: int | None = None
    on: RayPlace | None = None


class StudyObserver(Protocol):
    """Is notified of a study's progress; the command line's display is one."""

    def begins(self, system: NamedSystem, run: RunReader) -> Observer:
        """A system's run is open, perhaps with ended items; returns the observer of the others."""
        ...


class Unwatched:
    """An observer for programs."""

    def begins(self, system: NamedSystem, run: RunReader) -> Observer:
        return Silent()


@dataclass(frozen=True)
class StudyRun:
    """A study's folder and how the pass over it ended, all systems together.

    `restraints`: those of the pass, for what is asked when its runs are scored.
    """

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
    """Let every system answer every question, in a new folder or in the one that was begun.

    Blocks until every item has ended, the study was interrupted, its allowance is spent, or a
    server stays away. No item that has ended is run again, no recorded response asked for again.
    Raises InputError before any work where a system cannot start, where the folder holds another
    study, or where what calls cost cannot be bounded; StoreError where a run cannot be written.
    """
    pace = pace or StudyPace()
    if pace.prices is None:
        pace = replace(pace, prices=prices_of(out))
    restraints = _restraints(design, pace)
    for named in design.systems:
        check_scoring(design.scoring, named.system, design.questions.task)
    with study_lock(out), ExitStack() as opened:
        shared = SharedSources()
        opened.callback(shared.close)
        task = get_task(design.questions.task)
        agents = make_agents(design.systems, task, restraints, shared)
        engine = _engine(opened, design, agents, pace, restraints)
        folder = _folder(design, out, agents)
        folder.keep_prices(pace.prices.path if pace.prices else None)
        going = _Going(design, folder, agents, pace, restraints, engine)
        state = run_blocking(going.to_the_end(observer or Unwatched()))
    return StudyRun(folder, state, restraints)


def _engine(
    opened: ExitStack,
    design: StudyDesign,
    agents: Sequence["Agent"],
    pace: StudyPace,
    restraints: Restraints,
) -> Engine | None:
    """What answers the items, open as long as the stack is; None: this process."""
    if pace.on is None:
        return None
    systems = [
        WorkerSystem(with_absolute_paths(named.system), design.questions.task, part_name(named))
        for named in design.systems
    ]
    identities = [agent.identity for agent in agents]
    return opened.enter_context(RayPool.opened(pace.on, systems, identities, restraints))


def part_name(named: NamedSystem) -> str:
    """How a system is called in the reason why a pass stopped."""
    return f"system {named.name!r}"


def check_study(design: StudyDesign, out: Path, pace: StudyPace) -> dict[str, str]:
    """Refuse what `run_study` refuses, and ask nothing; returns the systems' digests by name."""
    restraints = _restraints(design, pace)
    for named in design.systems:
        check_scoring(design.scoring, named.system, design.questions.task)
    shared = SharedSources()
    try:
        agents = make_agents(design.systems, get_task(design.questions.task), restraints, shared)
        StudyFolder.check(out, _record(design, agents))
        named_agents = zip(design.systems, agents, strict=True)
        return {named.name: agent.digest for named, agent in named_agents}
    finally:
        shared.close()


def _restraints(design: StudyDesign, pace: StudyPace) -> Restraints:
    if pace.max_cost is not None:
        check_study_bounded(design, pace.prices or Prices.load())
    return restraints_of(pace.max_cost, pace.prices, pace.outages, pace.limits)


def check_study_bounded(design: StudyDesign, prices: Prices) -> None:
    """Raise InputError where what a call of a study costs has no bound."""
    for named in design.systems:
        check_bounded(named.system, prices, named.name, KEYS)
        settings = named.system.model_dump()
        check_bounded_scoring(design.scoring, settings, named.system.role_decoding, prices, KEYS)


def _record(design: StudyDesign, agents: Sequence["Agent"]) -> StudyRecord:
    return StudyRecord(
        version=version("branchwise"),
        name=design.name,
        task=design.questions.task,
        source=design.questions.source,
        questions_digest=design.questions.digest,
        epochs=design.epochs,
        systems=tuple(
            SystemRecord(
                name=named.name,
                slug=named.slug,
                changes=dict(named.changes),
                system=named.system.model_dump(mode="json"),
                digest=agent.digest,
                model=named.model,
                setting=named.setting,
                base=named.base,
            )
            for named, agent in zip(design.systems, agents, strict=True)
        ),
        study=design.document,
    )


def _folder(design: StudyDesign, out: Path, agents: Sequence["Agent"]) -> StudyFolder:
    """The folder with all runs in it, made now or begun before."""
    folder = StudyFolder.create(out, _record(design, agents))
    specs = {
        named.slug: run_spec(design.questions, agent, None, design.epochs, design.scoring)
        for named, agent in zip(design.systems, agents, strict=True)
    }
    folder.fill(specs, design.questions.questions)
    return folder


@dataclass(frozen=True)
class _Going:
    """A study whose folder is whole and whose agents can start."""

    design: StudyDesign
    folder: StudyFolder
    agents: Sequence["Agent"]
    pace: StudyPace
    restraints: Restraints
    engine: Engine | None = None

    async def to_the_end(self, observer: StudyObserver) -> RunState:
        # Opened here, on the thread that the loop runs on: SQLite wants one thread a connection.
        with ExitStack() as stack:
            systems = self.design.systems
            stores = [
                stack.enter_context(RunStore(self.folder.run_path(named.slug))) for named in systems
            ]
            for store, agent in zip(stores, self.agents, strict=True):
                self._check(store, agent)
            self._charge([store.reader for store in stores])
            parts = [
                Part(
                    store,
                    agent,
                    get_task(store.reader.task),
                    observer.begins(named, store.reader),
                    part_name(named),
                )
                for named, store, agent in zip(systems, stores, self.agents, strict=True)
            ]
            return await run_parts(
                parts,
                concurrency=self.pace.concurrency,
                retry_failed=self.pace.retry_failed,
                pilot=self.pace.pilot,
                engine=self.engine,
            )

    def _check(self, store: RunStore, agent: "Agent") -> None:
        """A run folder may have been replaced since the study was made."""
        meta = store.reader.meta
        check_same_system(store.path, meta, agent)
        if meta["questions_digest"] != self.design.questions.digest:
            raise InputError(
                "the run has other questions than the study",
                where=str(store.path),
                remedy="restore the study's own run, or remove it to start it again",
            )

    def _charge(self, runs: Sequence[RunReader]) -> None:
        spending = self.restraints.allowance
        if isinstance(spending, Spending):
            prices = self.pace.prices or Prices.load()
            costs = (
                recorded_cost(named.system, run, prices, named.name)
                for named, run in zip(self.design.systems, runs, strict=True)
            )
            spending.spent = sum(costs)
