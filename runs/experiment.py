"""Running an experiment from beginning to end; a new run and a continued one take the same path."""

from collections.abc import Iterable, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from branchwise.agents.outages import Outages
from branchwise.agents.restraints import UNRESTRAINED, Restraints
from branchwise.base.backoff import host_of
from branchwise.base.errors import InputError
from branchwise.base.keys import NO_KEYS, Keys
from branchwise.base.plugins.specs import absolute_spec
from branchwise.base.process import run_blocking
from branchwise.corpora.loaders import load_questions
from branchwise.corpora.loaders.source import QuestionSource
from branchwise.corpora.open import absolute_name
from branchwise.corpora.questions import Question, QuestionSet
from branchwise.eval.plugin_metrics import check_metrics, load_metrics
from branchwise.eval.scoring_choice import BY_NAMES, ScoringChoice
from branchwise.eval.selection import CONCURRENCY, Selection
from branchwise.eval.tasks import get_task, gold_of
from branchwise.eval.tasks.registry import check_questions, flow_of
from branchwise.graphs.system import System
from branchwise.runs.continuing import (
    check_not_moved,
    check_same_system,
    continued_system,
    with_absolute_paths,
)
from branchwise.runs.costs.prices import keep_limit, keep_prices
from branchwise.runs.costs.spending import Spending, recorded_cost
from branchwise.runs.estimates import is_pilot, mark_pilot, unmark_pilot
from branchwise.runs.on_ray.connection import RayPlace
from branchwise.runs.on_ray.messages import WorkerSystem
from branchwise.runs.on_ray.pool import RayPool
from branchwise.runs.runner import INTERRUPTED, Engine, Observer, Part, RunState, Silent, run_parts
from branchwise.runs.store import RunReader, RunSpec, RunStore, create_run, open_run
from branchwise.runs.store.connection import DATABASE, fold_left_log
from branchwise.runs.store.new_run import check_vacant, complete_spec
from branchwise.runs.store.recordings import open_recordings

if TYPE_CHECKING:
    from branchwise.graphs.agent import Agent


@dataclass(frozen=True)
class Run:
    """A run folder and how the pass over it ended.

    `restraints`: those of the pass, for what is asked when it is scored.
    """

    path: Path
    state: RunState = None  # type: ignore[assignment]
    restraints: Restraints = field(default=UNRESTRAINED, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.state is None:
            call = f"branchwise.open_run({str(self.path)!r})"
            raise InputError("a run is not made so", where="Run", remedy=f"open one: {call}")

    def open(self) -> RunReader:
        """Read the run: items, traces, saved scores."""
        return open_run(self.path)


def run(
    questions: str | QuestionSource | QuestionSet,
    system: System,
    *,
    out: Path | str | None = None,
    task: str | None = None,
    selection: Selection | None = None,
    epochs: int = 1,
    concurrency: int = CONCURRENCY,
    observer: Observer | None = None,
    scoring: ScoringChoice = BY_NAMES,
    restraints: Restraints | None = None,
    prices: Path | None = None,
    pilot: int | None = None,
    on: RayPlace | None = None,
) -> Run:
    """Answer questions with a system into a new run folder (default: `runs/` and the time).

    Blocks until every item has ended, the run was interrupted, or a server stays away. `scoring`
    says who aligns and judges when the run is scored; `restraints` what holds requests back (by
    default, servers that are gone are waited for); a limit of cost stays with the run, and so do
    `prices`, a file. `pilot`: only so many questions now; the same call without it goes on in the
    same folder. `on`: where Ray answers (None: this process does). Raises InputError before any
    work where something is missing, StoreError where the folder cannot be written.
    """
    if not isinstance(questions, QuestionSet):
        questions = load_questions(questions, gold_of=gold_of(task))
    chosen = (selection or Selection()).of(questions)
    chosen = replace(chosen, task=task or chosen.task)
    check_scoring(scoring, system, chosen.task)
    check_metrics(load_metrics(scoring.metrics), chosen)
    path, observer = Path(out) if out else new_folder(), observer or Silent()
    if not is_pilot(path):
        check_vacant(path)
    restraints = restraints or Restraints(outages=Outages())
    observer.opens(opened_words(system))
    with ExitStack() as opened:
        try:
            agent = make_agent(system, chosen.task, restraints)
            agent.check_settings()
            _check_put(agent, chosen.task, chosen.questions, chosen.source)
            engine = _engine(opened, on, agent, chosen.task, restraints, observer)
        except KeyboardInterrupt:
            if not is_pilot(path):
                create_run(path, run_spec(chosen, system, None, epochs, scoring), chosen.questions)
                _keep_money(path, prices, restraints)
            return Run(path, state_of(path, INTERRUPTED))
        spec = run_spec(chosen, system, agent, epochs, scoring)
        if is_pilot(path):
            _check_continues(path, spec, agent)
        else:
            create_run(path, spec, chosen.questions)
        _keep_money(path, prices, restraints)
        observer.opens("")
        return _continue(path, agent, concurrency, observer, restraints, pilot=pilot, engine=engine)


def resume(
    path: Path | str,
    *,
    corpus: Path | None = None,
    retriever: str | None = None,
    reranker: Path | None = None,
    model: str | None = None,
    expander: str | None = None,
    extractor: str | None = None,
    checker: str | None = None,
    kg: str | None = None,
    concurrency: int = CONCURRENCY,
    retry_failed: bool = False,
    observer: Observer | None = None,
    restraints: Restraints | None = None,
    prices: Path | None = None,
    keys: Keys = NO_KEYS,
    headers: Sequence[str] = (),
    on: RayPlace | None = None,
) -> Run:
    """Continue a run that was killed, interrupted or extended by `retry_failed`.

    No item that has ended is run again, no recorded response is asked for again; the state that is
    returned is the whole run's. `corpus`, `kg` and `reranker` say where these are now, `retriever`,
    `model`, `expander`, `extractor` and `checker` where their servers are now; `keys` and `headers`
    (NAME=VALUE) go before those that the run names, which keeps none of them. The rest as in `run`.
    Raises InputError where the system would not be the one that began the run.
    """
    path = Path(path)
    with closing(open_run(path)) as reader:
        meta = reader.meta
    moved = {"corpus": str(corpus) if corpus else None, "kg": kg, "model": model}
    moved["retriever"] = absolute_name(retriever) if retriever else None
    moved["reranker"] = str(reranker) if reranker else None
    check_not_moved(f"branchwise resume {path}", meta["system"], moved)
    roles = {"expander": expander, "extractor": extractor, "checker": checker}
    system = continued_system(path, meta["system"], moved, roles, keys, headers)
    restraints, observer = restraints or Restraints(outages=Outages()), observer or Silent()
    observer.opens(opened_words(system))
    with ExitStack() as opened:
        try:
            agent = make_agent(system, meta["task"], restraints)
            if meta["system_digest"]:
                check_same_system(path, meta, agent)
            else:
                # The run was stopped before its system was open.
                agent.check_settings()
                with closing(open_run(path)) as reader:
                    _check_put(agent, reader.task, reader.questions(), str(path))
                complete_spec(path, agent.identity, agent.digest)
            if _ended(path, retry_failed=retry_failed) is not None:
                on = None
            engine = _engine(opened, on, agent, meta["task"], restraints, observer)
        except KeyboardInterrupt:
            return Run(path, state_of(path, INTERRUPTED))
        _keep_money(path, prices, restraints)
        observer.opens("")
        return _continue(
            path, agent, concurrency, observer, restraints, retry_failed=retry_failed, engine=engine
        )


def check_run(
    questions: QuestionSet,
    system: System,
    *,
    out: Path | None = None,
    task: str | None = None,
    epochs: int = 1,
    scoring: ScoringChoice = BY_NAMES,
) -> str:
    """Refuse what `run` refuses, and ask nothing; returns the digest of the system."""
    questions = replace(questions, task=task or questions.task)
    check_scoring(scoring, system, questions.task)
    check_metrics(load_metrics(scoring.metrics), questions)
    if out and not is_pilot(out):
        check_vacant(out)
    agent = make_agent(system, questions.task)
    try:
        agent.check_settings()
        _check_put(agent, questions.task, questions.questions, questions.source)
        if out and is_pilot(out):
            _check_continues(out, run_spec(questions, system, agent, epochs, scoring), agent)
        return agent.digest
    finally:
        run_blocking(agent.aclose())


def check_scoring(scoring: ScoringChoice, system: System, task: str) -> None:
    """Refuse a matcher or judge that could not be asked after the run."""
    scoring.check_task(task)
    scoring.resolved(system.model_dump()).check_ready(Keys(system.keys))


def make_agent(system: System, task: str, restraints: Restraints = UNRESTRAINED) -> "Agent":
    """The agent that answers a task's questions in a run. Raises InputError."""
    from branchwise.graphs.agent import Agent

    flow = flow_of(get_task(task), system)
    return Agent(system, flow, restraints=restraints, recordings=open_recordings)


def run_spec(
    questions: QuestionSet,
    system: System,
    agent: "Agent | None",
    epochs: int,
    scoring: ScoringChoice,
) -> RunSpec:
    """The description of a run; without an agent, of one that was stopped before that was open."""
    metrics = tuple(absolute_spec(spec) for spec in scoring.metrics)
    return RunSpec(
        task=questions.task,
        source=questions.source,
        questions_digest=questions.digest,
        system=with_absolute_paths(system).model_dump(mode="json"),
        identity=agent.identity if agent else {},
        system_digest=agent.digest if agent else "",
        epochs=epochs,
        version=version("branchwise"),
        scoring=replace(scoring, metrics=metrics).to_json(),
    )


def state_of(path: Path, stopped: str | None = None) -> RunState:
    """How many items of a run have ended; `stopped`: why a pass over it ended early."""
    with closing(open_run(path)) as reader:
        counts = reader.progress()
    return RunState(counts["done"], counts["failed"], counts["pending"], stopped=stopped)


def opened_words(system: System) -> str:
    """What has to be opened before a system can answer, for a progress bar."""
    parts = {"corpus": system.corpus, "graph": system.kg}
    if system.corpus is None:
        parts["retriever"] = system.retriever
    words = [f"{part} {host_of(at) or Path(at).name}" for part, at in parts.items() if at]
    return f"opening {' and '.join(words)}" if words else "starting"


def _engine(
    opened: ExitStack,
    on: RayPlace | None,
    agent: "Agent",
    task: str,
    restraints: Restraints,
    observer: Observer,
) -> Engine | None:
    """What answers the items, open as long as the stack is; None: this process."""
    if on is None:
        return None
    observer.opens(f"starting {on.words}")
    system = WorkerSystem(with_absolute_paths(agent.system), task)
    return opened.enter_context(RayPool.opened(on, [system], [agent.identity], restraints))


def _check_continues(path: Path, spec: RunSpec, agent: "Agent") -> None:
    with closing(open_run(path)) as reader:
        meta = reader.meta
    check_same_system(path, meta, agent)
    now = asdict(spec)
    for key in ("task", "questions_digest", "epochs", "scoring"):
        if (meta.get(key) or {}) != (now[key] or {}):
            changed = key.removesuffix("_digest")
            problem = f"the pilot in this folder was of another run (changed: {changed})"
            remedy = "choose another --out, or continue it with `branchwise resume`"
            raise InputError(problem, where=str(path), remedy=remedy)


def _check_put(agent: "Agent", task: str, questions: Iterable[Question], source: str) -> None:
    has_tools = bool(agent.tools)
    check_questions(get_task(task), agent.system, questions, has_tools=has_tools, source=source)


def _keep_money(path: Path, prices: Path | None, restraints: Restraints) -> None:
    keep_prices(path, prices)
    if isinstance(restraints.allowance, Spending):
        keep_limit(path, restraints.allowance.most)


def _continue(
    path: Path,
    agent: "Agent",
    concurrency: int,
    observer: Observer,
    restraints: Restraints,
    *,
    retry_failed: bool = False,
    pilot: int | None = None,
    engine: Engine | None = None,
) -> Run:
    if (ended := _ended(path, retry_failed=retry_failed)) is not None:
        fold_left_log(path / DATABASE)
        return Run(path, ended)

    async def pass_over_items() -> RunState:
        # Opened here, on the loop's thread: SQLite wants one thread per connection.
        with RunStore(path) as store:
            (mark_pilot if pilot else unmark_pilot)(path)
            spending = restraints.allowance
            if isinstance(spending, Spending):
                spending.spent = recorded_cost(agent.system, store.reader, spending.prices)
            return await run_parts(
                [Part(store, agent, get_task(store.reader.task), observer)],
                concurrency=concurrency,
                retry_failed=retry_failed,
                pilot=pilot,
                engine=engine,
            )

    return Run(path, run_blocking(pass_over_items()), restraints)


def _ended(path: Path, *, retry_failed: bool) -> RunState | None:
    """How a run ended that has nothing left to run; None where it has."""
    with closing(open_run(path)) as reader:
        counts = reader.progress()
        again = retry_failed and (counts["failed"] or reader.cut_items())
    if counts["pending"] or again:
        return None
    return RunState(counts["done"], counts["failed"])


def new_folder() -> Path:
    """Where a run goes whose folder is not named: `runs/` and the time."""
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    path, n = Path("runs") / stamp, 2
    while path.exists():
        path, n = Path("runs") / f"{stamp}-{n}", n + 1
    return path
