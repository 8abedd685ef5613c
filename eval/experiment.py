"""Running an experiment from beginning to end; a new run and a continued one take the same path."""

import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from branchwise.agents.headers import headers_over
from branchwise.agents.restraints import UNRESTRAINED, Restraints
from branchwise.agents.spec import ModelSpec, is_replay, located
from branchwise.corpora.errors import InputError
from branchwise.corpora.graph.open import is_address
from branchwise.corpora.keys import NO_KEYS, Keys
from branchwise.corpora.loaders import load_questions, questions_digest
from branchwise.corpora.open import absolute_name
from branchwise.corpora.plugins.specs import absolute_spec
from branchwise.corpora.prompt_sets import PromptSet
from branchwise.corpora.questions import QuestionSet
from branchwise.eval.blocking import run_blocking
from branchwise.eval.run_keys import tell_kept_keys, with_kept_keys
from branchwise.eval.runner import Observer, RunState, Silent, run_pending
from branchwise.eval.scoring_choice import BY_NAMES, ScoringChoice
from branchwise.eval.store import RunReader, RunSpec, RunStore, create_run, open_run
from branchwise.eval.store.damage import reading
from branchwise.eval.store.recordings import open_recordings
from branchwise.eval.tasks import get_task, gold_of
from branchwise.eval.tasks.protocols import check_conditions, flow_of
from branchwise.graphs.system import MODULES, SETTINGS, System

if TYPE_CHECKING:
    from branchwise.graphs.agent import Agent


@dataclass(frozen=True)
class Run:
    """A run folder and how the pass over it ended."""

    path: Path
    state: RunState

    def open(self) -> RunReader:
        """Read the run: items, traces, saved scores."""
        return open_run(self.path)


@dataclass(frozen=True)
class Selection:
    """Which questions of a set to run: those with these ids (all where None), at most `limit`."""

    ids: Collection[str] | None = None
    limit: int | None = None

    def of(self, questions: QuestionSet) -> QuestionSet:
        """The chosen questions, in order; InputError for an unknown id, or if none are left."""
        chosen = questions.questions
        if self.ids is not None:
            wanted = set(self.ids)
            missing = sorted(wanted - {q.id for q in chosen})
            if missing:
                raise InputError(
                    f"no question has the id {missing[0]!r}",
                    where=questions.source,
                    remedy="check the ids that were asked for",
                )
            chosen = tuple(q for q in chosen if q.id in wanted)
        chosen = chosen[: None if self.limit is None else max(self.limit, 0)]
        if not chosen:
            raise InputError(
                "no questions are left to run",
                where=questions.source,
                remedy="choose a larger --limit or other --ids",
            )
        return QuestionSet(questions.source, questions.task, chosen, questions_digest(chosen))


def run(
    questions: str | QuestionSet,
    system: System,
    *,
    out: Path | str | None = None,
    task: str | None = None,
    selection: Selection = Selection(),
    epochs: int = 1,
    concurrency: int = 8,
    observer: Observer | None = None,
    scoring: ScoringChoice = BY_NAMES,
    restraints: Restraints = UNRESTRAINED,
) -> Run:
    """Answer questions with a system into a new run folder (default: `runs/` and the time).

    Blocks until every item has ended or the run was interrupted. `scoring` says who aligns and
    judges when the run is scored, `restraints` how many requests go to a server at a time and what
    they may cost. Raises InputError before any work where something is missing, StoreError where
    the folder cannot be written.
    """
    _check_at_least_one(epochs=epochs, concurrency=concurrency)
    if isinstance(questions, str):
        loaded = load_questions(questions, gold_of=gold_of(task))
    else:
        loaded = questions
    chosen = selection.of(loaded)
    check_scoring(scoring, system, task or chosen.task)
    path = Path(out) if out else _default_folder()
    agent = make_agent(system, task or chosen.task, restraints)
    agent.check_settings()
    check_conditions(agent.flow, chosen.questions, has_tools=bool(agent.tools))
    create_run(path, run_spec(chosen, agent, task, epochs, scoring), chosen.questions)
    return _continue(path, agent, concurrency, observer, retry_failed=False)


def run_spec(
    questions: QuestionSet, agent: "Agent", task: str | None, epochs: int, scoring: ScoringChoice
) -> RunSpec:
    """The description of an agent's run over questions; `task` None: the question set's own."""
    return RunSpec(
        task=task or questions.task,
        source=questions.source,
        questions_digest=questions.digest,
        system=_with_absolute_paths(agent.system).model_dump(mode="json"),
        identity=agent.identity,
        system_digest=agent.digest,
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
    prompt_set: PromptSet | None = None,
    concurrency: int = 8,
    retry_failed: bool = False,
    observer: Observer | None = None,
    restraints: Restraints = UNRESTRAINED,
    keys: Keys = NO_KEYS,
    headers: Sequence[str] = (),
) -> Run:
    """Continue a run that was killed, interrupted or extended by `retry_failed`.

    No item that has ended is run again, no recorded response is asked for again. Raises
    InputError where the system would not be the one that began the run. `corpus`, `kg` and
    `reranker` say where its corpus, graph and cross-encoder are now, `retriever`, `model`,
    `expander` and `extractor` where the servers of the same retriever and models are now,
    `prompt_set` which built-in prompts it began with, should that not be known; `keys` and
    `headers` (NAME=VALUE) go to the servers before those that the run names, which keeps none of
    them: it says what it began with.
    """
    _check_at_least_one(concurrency=concurrency)
    reader = open_run(Path(path))
    try:
        meta = reader.meta
    finally:
        reader.close()
    moved = {"corpus": str(corpus) if corpus else None, "kg": kg, "model": model}
    moved |= {"retriever": absolute_name(retriever) if retriever else None}
    moved |= {"reranker": str(reranker) if reranker else None}
    check_not_moved(f"branchwise resume {path}", meta["system"], moved)
    with reading(Path(path)):
        begun = System.recorded(meta["system"])
    settings = begun.model_dump(mode="json") | {key: value for key, value in moved.items() if value}
    settings["prompt_set"] = prompt_set or begun.prompt_set
    settings["roles"] = _moved_roles(
        Path(path), settings, {"expander": expander, "extractor": extractor}
    )
    kept = with_kept_keys(keys, meta["system"], str(path))
    tell_kept_keys(kept, keys, str(path))
    settings["keys"] = dict(kept.variables)
    settings["headers"] = headers_over(headers, begun.headers)
    _check_as_paid_for(Path(path), meta["system"], settings)
    agent = make_agent(System.model_validate(settings), meta["task"], restraints)
    check_same_system(Path(path), meta, agent)
    return _continue(Path(path), agent, concurrency, observer, retry_failed=retry_failed)


def make_agent(system: System, task: str, restraints: Restraints = UNRESTRAINED) -> "Agent":
    """The agent that answers a task's questions in a run. Raises InputError."""
    from branchwise.graphs.agent import Agent

    flow = flow_of(get_task(task), system)
    return Agent(system, flow, restraints=restraints, recordings=open_recordings)


def _continue(
    path: Path, agent: "Agent", concurrency: int, observer: Observer | None, *, retry_failed: bool
) -> Run:
    if (ended := _ended(path, retry_failed=retry_failed)) is not None:
        return Run(path, ended)

    async def pass_over_items() -> RunState:
        # Opened here, on the loop's thread: SQLite wants one thread per connection.
        with RunStore(path) as store:
            return await run_pending(
                store,
                agent,
                get_task(store.reader.task),
                concurrency=concurrency,
                observer=observer or Silent(),
                retry_failed=retry_failed,
            )

    return Run(path, run_blocking(pass_over_items()))


def _ended(path: Path, *, retry_failed: bool) -> RunState | None:
    """How a run ended that has nothing left to run; None where it has. Nothing is written then, so
    the whole file need not be read."""
    reader = open_run(path)
    try:
        counts = reader.progress()
    finally:
        reader.close()
    if counts["pending"] or (retry_failed and counts["failed"]):
        return None
    return RunState(counts["done"], counts["failed"])


def check_scoring(scoring: ScoringChoice, system: System, task: str) -> None:
    """Raise InputError for a matcher or judge that could not be asked after the run, and for
    metrics that could not be called."""
    scoring.check_task(task)
    if scoring.metrics:
        from branchwise.eval.plugins.loading import load_metrics

        load_metrics(scoring.metrics)
    scoring.resolved(system.model_dump()).check_ready(Keys(system.keys))


def _check_at_least_one(**counts: int) -> None:
    for name, count in counts.items():
        if count < 1:
            raise InputError(f"{name} is {count}", remedy="give a number of at least 1")


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


def _remedy(path: Path, changed: Collection[str], agent: "Agent") -> str:
    if "prompts" in changed:
        return (
            f"its prompts are not those of the set {agent.prompts.of}: name the set that it began "
            f"with (`branchwise resume {path} --prompt-set NAME`), or start a new run with "
            "`branchwise run`"
        )
    for option, (what, key) in _MAY_MOVE.items():
        if list(changed) == [key]:
            return (
                f"where the {what} of this run lies elsewhere now: `branchwise resume {path} "
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
        warnings.warn(
            f"{path}: begun by branchwise {meta['version']}, continued by {now_version}",
            stacklevel=3,
        )


def _with_absolute_paths(system: System) -> System:
    """So that the run can be resumed from any folder."""
    paths = {
        one.name: str(Path(value).resolve())
        for one in SETTINGS
        if one.setting.holds in ("folder", "graph")
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
