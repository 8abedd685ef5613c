"""Running an experiment from beginning to end; a new run and a continued one take the same path."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from branchwise.agents.headers import headers_over
from branchwise.agents.outages import Outages
from branchwise.agents.restraints import UNRESTRAINED, Restraints
from branchwise.agents.spec import ModelSpec, is_replay, located
from branchwise.base.backoff import host_of
from branchwise.base.errors import InputError, warn
from branchwise.base.keys import NO_KEYS, Keys
from branchwise.base.plugins.specs import absolute_spec
from branchwise.base.process import run_blocking
from branchwise.corpora.loaders import load_questions
from branchwise.corpora.loaders.source import QuestionSource
from branchwise.corpora.open import absolute_name
from branchwise.corpora.questions import Question, QuestionSet
from branchwise.eval.bounds import CONCURRENCY
from branchwise.eval.plugin_metrics import load_metrics
from branchwise.eval.scoring_choice import BY_NAMES, ScoringChoice
from branchwise.eval.selection import Selection
from branchwise.eval.tasks import get_task, gold_of
from branchwise.eval.tasks.protocols import check_questions, flow_of
from branchwise.graphs.system import MODULES, SETTINGS, System
from branchwise.kg.open import is_address
from branchwise.runs.costs.kept_prices import keep_limit, keep_prices
from branchwise.runs.costs.spending import Spending, recorded_cost
from branchwise.runs.on_ray.connection import RayPlace
from branchwise.runs.on_ray.messages import WorkerSystem
from branchwise.runs.on_ray.pool import RayPool
from branchwise.runs.pilots import is_pilot, mark_pilot, unmark_pilot
from branchwise.runs.run_keys import tell_kept_keys, with_kept_keys
from branchwise.runs.runner import INTERRUPTED, Engine, Observer, RunState, Silent, run_pending
from branchwise.runs.store import RunReader, RunSpec, RunStore, create_run, open_run
from branchwise.runs.store.connection import DATABASE, fold_left_log, reading
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
    state: RunState
    restraints: Restraints = field(default=UNRESTRAINED, repr=False, compare=False)

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
    default, servers that are gone are waited for): a limit of cost stays with the run, and so does
    `prices`, a file. `pilot`: only so many questions now; the same call without it goes on in the
    same folder. `on`: where Ray answers the questions (None: this process does). Raises InputError
    before any work where something is missing, StoreError where the folder cannot be written.
    """
    if isinstance(questions, QuestionSet):
        loaded = questions
    else:
        loaded = load_questions(questions, gold_of=gold_of(task))
    chosen = (selection or Selection()).of(loaded)
    check_scoring(scoring, system, task or chosen.task)
    path, observer = Path(out) if out else _default_folder(), observer or Silent()
    if not is_pilot(path):
        check_vacant(path)
    restraints = restraints or Restraints(outages=Outages())
    observer.opens(opened_words(system))
    with ExitStack() as opened:
        try:
            agent = make_agent(system, task or chosen.task, restraints)
            agent.check_settings()
            _check_put(agent, task or chosen.task, chosen.questions, chosen.source)
            engine = _engine(opened, on, agent, task or chosen.task, restraints, observer)
        except KeyboardInterrupt:
            if is_pilot(path):
                return Run(path, state_of(path, INTERRUPTED))
            spec = _unopened_spec(chosen, system, task, epochs, scoring)
            create_run(path, spec, chosen.questions)
            _keep_money(path, prices, restraints)
            return Run(path, state_of(path, INTERRUPTED))
        spec = run_spec(chosen, agent, task, epochs, scoring)
        if is_pilot(path):
            _check_continues(path, spec, agent)
        else:
            create_run(path, spec, chosen.questions)
        _keep_money(path, prices, restraints)
        observer.opens("")
        return _continue(path, agent, concurrency, observer, restraints, pilot=pilot, engine=engine)


def _engine(
    opened: ExitStack,
    on: RayPlace | None,
    agent: "Agent",
    task: str,
    restraints: Restraints,
    observer: Observer,
) -> Engine | None:
    """What answers the items of a run, open as long as the stack is; None: this process."""
    if on is None:
        return None
    observer.opens(f"starting {on.words}")
    system = WorkerSystem(with_absolute_paths(agent.system), task)
    return opened.enter_context(RayPool.opened(on, [system], [agent.identity], restraints))


def check_run(
    questions: QuestionSet,
    system: System,
    *,
    out: Path | None = None,
    task: str | None = None,
    epochs: int = 1,
    scoring: ScoringChoice = BY_NAMES,
) -> str:
    """Refuse what `run` refuses of these chosen questions, and ask nothing.

    Returns the digest of the system, by which its earlier runs are known.
    """
    check_scoring(scoring, system, task or questions.task)
    if out and not is_pilot(out):
        check_vacant(out)
    agent = make_agent(system, task or questions.task)
    try:
        agent.check_settings()
        _check_put(agent, task or questions.task, questions.questions, questions.source)
        if out and is_pilot(out):
            spec = run_spec(questions, agent, task, epochs, scoring)
            _check_continues(out, spec, agent)
        return agent.digest
    finally:
        run_blocking(agent.aclose())


def opened_words(system: System) -> str:
    """What has to be opened before a system can answer, for a progress bar."""
    parts = {"corpus": system.corpus, "graph": system.kg}
    if system.corpus is None and system.retriever is not None:
        parts["retriever"] = system.retriever
    named = [
        f"{what} {host_of(where) or Path(where).name}" for what, where in parts.items() if where
    ]
    return f"opening {' and '.join(named)}" if named else "starting"


def _check_continues(path: Path, spec: RunSpec, agent: "Agent") -> None:
    """Raise InputError unless a pilot's folder holds the beginning of this very run."""
    with closing(open_run(path)) as reader:
        meta = reader.meta
    check_same_system(path, meta, agent)
    named = {"task": "task", "questions_digest": "questions", "epochs": "epochs"}
    now = asdict(spec)
    for key, what in {**named, "scoring": "scoring"}.items():
        if (meta.get(key) or {}) != (now[key] or {}):
            raise InputError(
                f"the pilot in this folder was of another run (changed: {what})",
                where=str(path),
                remedy="choose another --out, or continue it with `branchwise resume`",
            )


def run_spec(
    questions: QuestionSet,
    agent: "Agent",
    task: str | None,
    epochs: int,
    scoring: ScoringChoice,
) -> RunSpec:
    """The description of an agent's run over questions; `task` None: the question set's own."""
    spec = _unopened_spec(questions, agent.system, task, epochs, scoring)
    return replace(spec, identity=agent.identity, system_digest=agent.digest)


def _unopened_spec(
    questions: QuestionSet,
    system: System,
    task: str | None,
    epochs: int,
    scoring: ScoringChoice,
) -> RunSpec:
    """The same of a run that was stopped before its system was open: that is what it lacks."""
    return RunSpec(
        task=task or questions.task,
        source=questions.source,
        questions_digest=questions.digest,
        system=with_absolute_paths(system).model_dump(mode="json"),
        identity={},
        system_digest="",
        epochs=epochs,
        version=version("branchwise"),
        scoring=replace(scoring, metrics=_located(scoring.metrics)).to_json(),
    )


def resume(
    path: Path | str,
    *,
    corpus: Path | None = None,
    retriever: str | None = None,
    reranker: Path | None = None,
    model: str | None = None,
    expander: str | None = None,
    extractor: str | None = None,
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
    returned is the whole run's. `restraints` and `prices` as in `run`. Raises
    InputError where the system would not be the one that began the run. `corpus`, `kg` and
    `reranker` say where its corpus, graph and cross-encoder are now, `retriever`, `model`,
    `expander` and `extractor` where the servers of the same retriever and models are now; `keys`
    and `headers` (NAME=VALUE) go to the servers before those that the run names, which keeps none
    of them: it says what it began with. `on` as in `run`, wherever it began.
    """
    with closing(open_run(Path(path))) as reader:
        meta = reader.meta
    moved = {"corpus": str(corpus) if corpus else None, "kg": kg, "model": model}
    moved |= {"retriever": absolute_name(retriever) if retriever else None}
    moved |= {"reranker": str(reranker) if reranker else None}
    check_not_moved(f"branchwise resume {path}", meta["system"], moved)
    with reading(Path(path)):
        begun = System.model_validate(meta["system"])
    settings = begun.model_dump(mode="json") | {key: value for key, value in moved.items() if value}
    settings["roles"] = _moved_roles(
        Path(path), settings, {"expander": expander, "extractor": extractor}
    )
    kept = with_kept_keys(keys, meta["system"], str(path))
    tell_kept_keys(kept, keys, str(path))
    settings["keys"] = dict(kept.variables)
    settings["headers"] = headers_over(headers, begun.headers)
    _check_as_paid_for(Path(path), meta["system"], settings)
    restraints, observer = restraints or Restraints(outages=Outages()), observer or Silent()
    system = System.model_validate(settings)
    observer.opens(opened_words(system))
    with ExitStack() as opened:
        try:
            agent = make_agent(system, meta["task"], restraints)
            if meta["system_digest"]:
                check_same_system(Path(path), meta, agent)
            else:
                _opened_at_last(Path(path), agent)
            if _ended(Path(path), retry_failed=retry_failed) is not None:
                on = None
            engine = _engine(opened, on, agent, meta["task"], restraints, observer)
        except KeyboardInterrupt:
            return Run(Path(path), state_of(Path(path), INTERRUPTED))
        _keep_money(Path(path), prices, restraints)
        observer.opens("")
        return _continue(
            Path(path),
            agent,
            concurrency,
            observer,
            restraints,
            retry_failed=retry_failed,
            engine=engine,
        )


def _keep_money(path: Path, prices: Path | None, restraints: Restraints) -> None:
    keep_prices(path, prices)
    if isinstance(restraints.allowance, Spending):
        keep_limit(path, restraints.allowance.most)


def state_of(path: Path, stopped: str | None = None) -> RunState:
    """How many items of a run have ended; `stopped`: why a pass over it ended early."""
    with closing(open_run(path)) as reader:
        counts = reader.progress()
    return RunState(counts["done"], counts["failed"], counts["pending"], stopped=stopped)


def _opened_at_last(path: Path, agent: "Agent") -> None:
    """A run that was stopped before its system was open: the rest of the checks, and the rest of
    its description."""
    agent.check_settings()
    with closing(open_run(path)) as reader:
        _check_put(agent, reader.task, reader.questions(), str(path))
    complete_spec(path, agent.identity, agent.digest)


def _check_put(agent: "Agent", task: str, questions: Iterable[Question], source: str) -> None:
    """Raise InputError for a question that the agent cannot be asked."""
    has_tools = bool(agent.tools)
    check_questions(get_task(task), agent.system, questions, has_tools=has_tools, source=source)


def make_agent(system: System, task: str, restraints: Restraints = UNRESTRAINED) -> "Agent":
    """The agent that answers a task's questions in a run. Raises InputError."""
    from branchwise.graphs.agent import Agent

    flow = flow_of(get_task(task), system)
    return Agent(system, flow, restraints=restraints, recordings=open_recordings)


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
            return await run_pending(
                store,
                agent,
                get_task(store.reader.task),
                concurrency=concurrency,
                observer=observer,
                retry_failed=retry_failed,
                pilot=pilot,
                engine=engine,
            )

    return Run(path, run_blocking(pass_over_items()), restraints)


def _ended(path: Path, *, retry_failed: bool) -> RunState | None:
    """How a run ended that has nothing left to run; None where it has. Nothing is written then, so
    the whole file need not be read."""
    reader = open_run(path)
    try:
        counts = reader.progress()
        again = retry_failed and (counts["failed"] or reader.cut_items())
    finally:
        reader.close()
    if counts["pending"] or again:
        return None
    return RunState(counts["done"], counts["failed"])


def check_scoring(scoring: ScoringChoice, system: System, task: str) -> None:
    """Raise InputError for a matcher or judge that could not be asked after the run, and for
    metrics that could not be called."""
    scoring.check_task(task)
    if scoring.metrics:
        load_metrics(scoring.metrics)
    scoring.resolved(system.model_dump()).check_ready(Keys(system.keys))


_MAY_MOVE = {
    "corpus": ("corpus", "retriever"),
    "kg": ("graph", "kg"),
    "reranker": ("cross-encoder", "retriever"),
}
"""Options of `resume` that say where a folder is now: what it is, and what differs in another."""


def check_not_moved(
    command: str, begun: Mapping[str, Any], moved: Mapping[str, str | None]
) -> None:
    """Raise InputError if a run's corpus or graph is gone; `command` can name its new place by the
    options in `moved`."""
    for option, (what, _) in _MAY_MOVE.items():
        was = begun.get(option)
        if (
            was
            and option in moved
            and not moved[option]
            and not is_address(was)
            and not Path(was).exists()
        ):
            raise InputError(
                f"the {what} of this run no longer exists",
                where=was,
                remedy=f"say where it is now: `{command} --{option} DIR`",
            )


def _moved_roles(
    path: Path, settings: Mapping[str, Any], moved: Mapping[str, str | None]
) -> dict[str, Any]:
    """The roles of a run, with the servers that moved; InputError where no module would ask one."""
    given = {role: spec for role, spec in moved.items() if spec}
    for role in given:
        if not settings.get(MODULES[role]):
            raise InputError(
                f"this run was started without --{MODULES[role]} and uses no {role}",
                where=str(path),
                remedy=f"leave out --{role}",
            )
    return {**settings.get("roles", {}), **given}


def _check_as_paid_for(path: Path, begun: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Raise InputError where a replay would go on with a model that is paid for, or the other way:
    both have one identity, and what the run cost could no longer be said. Nor does a run have
    replies to replay that it has not recorded itself.
    """
    for role in ("model", *MODULES):
        was = begun.get(role) or begun.get("roles", {}).get(role) or begun["model"]
        spec = now.get(role) or now.get("roles", {}).get(role) or now["model"]
        option = "--" + role
        if is_replay(was) != is_replay(spec):
            how = "started as a replay" if is_replay(was) else "not started as a replay"
            raise InputError(
                f"this run was {how}, and {spec} would change what it cost",
                where=option,
                remedy="start a new run with it",
            )
        if is_replay(spec) and ModelSpec.parse(spec).run.resolve() == path.resolve():
            raise InputError(
                "a run cannot replay itself", where=option, remedy="name the run that it replays"
            )


def _remedy(path: Path, changed: Sequence[str], agent: "Agent") -> str:
    if "prompts" in changed:
        return (
            f"its prompts are not those of the set {agent.prompts.of}: name the set that it began "
            f"with (`branchwise resume {path} --prompt-set NAME`), or start a new run with "
            "`branchwise run`"
        )
    for option, (what, key) in _MAY_MOVE.items():
        if list(changed) == [key]:
            return (
                f"if the {what} of this run has moved: `branchwise resume {path} "
                f"--{option} DIR`; for another one start a new run"
            )
    return "restore it, or start a new run with `branchwise run`"


def check_same_system(path: Path, meta: Mapping[str, Any], agent: "Agent") -> None:
    """Raise InputError where the agent is not the one that began the run, by what differs."""
    if agent.digest != meta["system_digest"]:
        was, now = meta["identity"], dict(agent.identity)
        changed = sorted(key for key in was.keys() | now.keys() if was.get(key) != now.get(key))
        raise InputError(
            f"the system is not the one that started this run (changed: {', '.join(changed)})",
            where=str(path),
            remedy=_remedy(path, changed, agent),
        )
    if meta["version"] != (now_version := version("branchwise")):
        warn(
            f"{path}: begun by branchwise {meta['version']}, continued by {now_version}",
        )


def with_absolute_paths(system: System) -> System:
    """The system, named so that the run can be resumed from any folder."""
    paths = {
        one.name: str(Path(value).resolve())
        for one in SETTINGS
        if one.setting.holds in ("folder", "kg")
        and (value := getattr(system, one.name)) is not None
        and not is_address(value)
    }
    if system.retriever:
        paths["retriever"] = absolute_name(system.retriever)
    roles = {role: located(spec) for role, spec in system.roles if spec is not None}
    models = {"model": located(system.model), "roles": system.roles.model_copy(update=roles)}
    specs = {
        name: tuple(absolute_spec(spec) for spec in named)
        for name in ("tools", "nodes")
        if (named := getattr(system, name)) is not None
    }
    return system.model_copy(update=paths | models | specs)


def _located(metrics: Sequence[str]) -> tuple[str, ...]:
    return tuple(absolute_spec(spec) for spec in metrics)


def _default_folder() -> Path:
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    path = Path("runs") / stamp
    n = 2
    while path.exists():
        path = Path("runs") / f"{stamp}-{n}"
        n += 1
    return path
