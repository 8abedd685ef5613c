"""`branchwise.run`, `resume`, `ask` and `score`, the commands of these names, and `compare`.

A parameter is called as its option is: `--max-cost` is `max_cost`, and one that may be repeated
has a plural (`--metric`: `metrics`). What is a setting of a system stands in `System`.
"""

import functools
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from branchwise.agents.decoding import Decoding
from branchwise.agents.headers import NO_HEADERS
from branchwise.agents.outages import PATIENCE, Outages
from branchwise.agents.refusals import ApiChoice
from branchwise.agents.restraints import Restraints
from branchwise.base.blocking import run_blocking
from branchwise.base.durations import read_duration
from branchwise.base.errors import InputError, did_you_mean
from branchwise.base.keys import Keys
from branchwise.corpora.loaders import load_questions
from branchwise.corpora.loaders.source import QuestionSource
from branchwise.corpora.questions import QuestionSet
from branchwise.eval.bounds import CONCURRENCY, JudgePairs, ScoreVariant
from branchwise.eval.judging.judge_check import check_of
from branchwise.eval.plugin_metrics import Named
from branchwise.eval.scoring_choice import ScoringChoice
from branchwise.eval.selection import Selection, Shard
from branchwise.eval.tasks import gold_of
from branchwise.graphs.role_decoding import RoleDecoding, asked_by, checked_roles
from branchwise.graphs.system import System
from branchwise.report.terminal.progress import RunProgress
from branchwise.results import ComparedRuns, RunResult, ScoreResult, compare_runs
from branchwise.runs import experiment
from branchwise.runs.asking import agent_to_ask, ask_agent, check_question
from branchwise.runs.costs.kept_prices import keep_prices, limit_of, prices_of
from branchwise.runs.costs.prices import Prices
from branchwise.runs.costs.spending import (
    Spending,
    check_begun,
    check_bounded,
    check_bounded_scoring,
)
from branchwise.runs.experiment import Run, state_of
from branchwise.runs.on_ray.connection import RayPlace
from branchwise.runs.runner import Observer
from branchwise.runs.scoring.scoring import ScoringSettings, score_run
from branchwise.runs.scoring.scoring_predictions import score_predictions
from branchwise.runs.store import open_run
from branchwise.runs.store.merging import merge_runs

if TYPE_CHECKING:
    from branchwise.graphs.agent import Outcome

P = ParamSpec("P")
T = TypeVar("T")


def _named(function: Callable[P, T]) -> Callable[P, T]:
    """Tells of a keyword that there is not in one line, with the nearest one."""
    known = list(inspect.signature(function).parameters)

    @functools.wraps(function)
    def called(*values: P.args, **named: P.kwargs) -> T:
        for name in named:
            if name not in known:
                raise _unknown(function.__name__, name, known)
        return function(*values, **named)

    return called


def _unknown(function: str, name: str, known: Collection[str]) -> InputError:
    remedy = did_you_mean(name, known)
    if name in System.model_fields and function in ("run", "ask"):
        remedy = f"it is a setting: System({name}=...)"
    return InputError(f"there is no parameter {name[:60]!r}", where=function, remedy=remedy)


@_named
def run(
    questions: str | QuestionSet,
    system: System,
    *,
    fields: Mapping[str, str] | Sequence[str] = (),
    separator: str | None = None,
    out: Path | str | None = None,
    task: str | None = None,
    ids: Collection[str] | None = None,
    limit: int | None = None,
    shard: str | None = None,
    epochs: int = 1,
    concurrency: int = CONCURRENCY,
    on: str | None = None,
    workers: int | None = None,
    patience: float | str = PATIENCE,
    max_cost: float | None = None,
    pilot: int | None = None,
    matcher: str = "lexical",
    judge_entities: bool = False,
    judge: str | None = None,
    judge_pairs: JudgePairs | None = None,
    variant: ScoreVariant | None = None,
    metrics: Iterable[str] = (),
    prices: Path | str | None = None,
    progress: bool = False,
    observer: Observer | None = None,
) -> RunResult:
    """Answer questions with a system into a new run folder (default: `runs/` and the time).

    `questions`: a question set as `--questions` names one, with its `fields` and `separator`
    (`load_questions`), or one that was loaded. Blocks until every item has ended or the run
    stopped: `run.state` says which. `on`: "ray" or "ray://HOST:PORT", where Ray answers them by as
    many `workers` (default: one a core). `patience`: how long a server that is gone is waited for,
    in seconds or as "2m"; `max_cost` in USD, which stays with the run. `pilot`: only so many
    questions now; the same call without it goes on in the same folder. `shard`: of the chosen
    questions only a part, "1/4" to "4/4" for four, whose runs `merge` joins. `matcher` and what
    follows say how the run will be scored. `progress`: show a bar (lines without a terminal);
    `observer`: told of each item that ends, instead of that. Raises InputError before any work.
    """
    part = None if shard is None else Shard.parse(shard)
    if isinstance(questions, str):
        source = QuestionSource.parse(questions, fields, separator)
        questions = load_questions(source, gold_of=gold_of(task))
    elif fields or separator:
        raise InputError("these questions are loaded", where="fields", remedy="leave them out")
    chosen = Selection(ids, limit, part).of(questions)
    scoring = _scoring(matcher, judge_entities, judge, judge_pairs, variant, metrics)
    priced = _prices(prices)
    max_cost = limit_of(Path(out) if out else None, max_cost)  # its pilot's
    restraints = _restraints(patience, max_cost, priced)
    if max_cost is not None:
        check_affordable(system, scoring, priced)
    total = min(pilot, len(chosen)) if pilot else len(chosen) * epochs
    with ExitStack() as shown:
        made = experiment.run(
            chosen,
            system,
            out=out,
            task=task,
            epochs=epochs,
            concurrency=concurrency,
            observer=observer or _observer(shown, total, 0, restraints, progress=progress),
            scoring=scoring,
            restraints=restraints,
            prices=Path(prices) if prices else None,
            pilot=pilot,
            on=_place(on, workers),
        )
    return RunResult.of(made)


@_named
def resume(
    path: Path | str,
    *,
    corpus: Path | str | None = None,
    retriever: str | None = None,
    reranker: Path | str | None = None,
    kg: str | None = None,
    model: str | None = None,
    expander: str | None = None,
    extractor: str | None = None,
    keys: Mapping[str, str] | None = None,
    headers: Mapping[str, str] = NO_HEADERS,
    retry_failed: bool = False,
    concurrency: int = CONCURRENCY,
    on: str | None = None,
    workers: int | None = None,
    patience: float | str = PATIENCE,
    max_cost: float | None = None,
    prices: Path | str | None = None,
    progress: bool = False,
    observer: Observer | None = None,
) -> RunResult:
    """Continue a run that was killed, interrupted or stopped; nothing recorded is asked for again.

    `run.state` counts the items of the whole run. `corpus`, `kg`, `reranker`: where they are now;
    `retriever`, `model`, `expander`, `extractor`: the same ones at another address; the rest as in
    `run`. Raises InputError where the system would not be the one that began the run.
    """
    reader = open_run(Path(path))
    counts, begun = reader.progress(), reader.meta
    again = counts["failed"] + len(reader.cut_items()) if retry_failed else 0
    reader.close()
    priced = _prices(prices) if prices else prices_of(Path(path))
    max_cost = limit_of(Path(path), max_cost)
    if max_cost is not None:
        check_begun(begun, priced)
    restraints = _restraints(patience, max_cost, priced)
    ended = counts["done"] + counts["failed"] - again
    with ExitStack() as shown:
        made = experiment.resume(
            path,
            corpus=Path(corpus) if corpus else None,
            retriever=retriever,
            reranker=Path(reranker) if reranker else None,
            model=model,
            expander=expander,
            extractor=extractor,
            kg=kg,
            concurrency=concurrency,
            retry_failed=retry_failed,
            observer=observer
            or _observer(shown, counts["total"], ended, restraints, progress=progress),
            restraints=restraints,
            prices=Path(prices) if prices else None,
            keys=Keys(keys or {}),
            headers=[f"{name}={value}" for name, value in headers.items()],
            on=_place(on, workers),
        )
    return RunResult.of(made)


def merge(runs: Iterable[Run | Path | str], out: Path | str) -> RunResult:
    """Join runs of one system over different questions into a new run at `out`.

    Its questions are in the order of the runs. What has not ended is left to `resume`. Raises
    InputError where these are not such runs, one is damaged, or `out` is there.
    """
    merge_runs([run.path if isinstance(run, Run) else Path(run) for run in runs], Path(out))
    return RunResult.of(Run(Path(out), state_of(Path(out))))


@_named
def ask(
    question: str,
    system: System,
    *,
    patience: float | str = PATIENCE,
    max_cost: float | None = None,
    prices: Path | str | None = None,
) -> "Outcome":
    """Ask one question: the outcome has the answers by branch (`outcome.prediction.answers`).

    Raises InputError before anything is asked, ModelError where the model cannot be had, and
    PassEndedError where a server stays away or the next call could cost too much.
    """
    check_question(question)
    priced = _prices(prices)
    restraints = _restraints(patience, max_cost, priced)
    if max_cost is not None:
        check_affordable(system, None, priced)
    return run_blocking(ask_agent(agent_to_ask(system, restraints), question))


@_named
def score(
    run: Run | Path | str | None = None,
    *,
    questions: str | None = None,
    fields: Mapping[str, str] | Sequence[str] = (),
    separator: str | None = None,
    predictions: Path | str | None = None,
    task: str | None = None,
    matcher: str | None = None,
    judge_entities: bool = False,
    judge: str | None = None,
    judge_pairs: JudgePairs | None = None,
    variant: ScoreVariant | None = None,
    judge_check: int | None = None,
    judge_beside: str | None = None,
    roles: RoleDecoding | None = None,
    api: ApiChoice | None = None,
    metrics: Sequence[Named] = (),
    scan_corpus: bool = False,
    prices: Path | str | None = None,
    max_cost: float | None = None,
    patience: float | str = PATIENCE,
    concurrency: int = CONCURRENCY,
    timeout: float = 120.0,
    attempts: int = 6,
    keys: Mapping[str, str] | None = None,
) -> ScoreResult:
    """Score every item of a run that has ended, and save the scores in the run folder; or score
    `predictions` (a file of any agent's) against `questions`.

    Failed items count 0; items that have not ended are in no mean (`Counts.pending` says how many).
    What scores, `matcher` to `variant`, is by default the run's own, as is the protocol `api` that
    it is asked by. `metrics`: further ones, what
    `@metric` made or specs of such. Raises InputError, and ModelError where a matcher or judge
    cannot be had.
    """
    path = run.path if isinstance(run, Run) else Path(run) if run is not None else None
    priced = _prices(prices) if prices or path is None else prices_of(path)
    chosen = None
    if judge_entities or (matcher, judge, judge_pairs, variant) != (None,) * 4:
        chosen = _scoring(matcher or "lexical", judge_entities, judge, judge_pairs, variant)
    settings = ScoringSettings(
        chosen,
        priced,
        concurrency,
        read_passages=scan_corpus,
        decoding=Decoding(timeout=timeout, attempts=attempts),
        metrics=tuple(metrics),
        keys=Keys(keys or {}),
        roles=checked_roles(asked_by(api, checked_roles(roles))),
        check=check_of(judge_check, judge_beside),
        restraints=_restraints(patience, max_cost, priced),
    )
    if path is not None and questions is None and predictions is None and task is None:
        keep_prices(path, Path(prices) if prices else None)
        # First: a run stays one file where the last to close it may write.
        with closing(open_run(path)) as reader:
            asked = list(reader.questions())
        return ScoreResult.of(score_run(path, settings).scores, asked)
    if path is None and questions is not None and predictions is not None:
        source = QuestionSource.parse(questions, fields, separator)
        scored = score_predictions(source, Path(predictions), task, settings)
        return ScoreResult.of(scored.scores, (item.question for item in scored.settled.items))
    raise InputError(
        "it is not clear what to score",
        where="score",
        remedy="give either a run, or questions and predictions (and a task)",
    )


def compare(base: Run | Path | str, *others: Run | Path | str) -> ComparedRuns:
    """Runs beside a base, question by question: differences with intervals and corrected tests.

    Scores that were not saved are made of names alone; nothing is asked, and nothing is written.
    Raises InputError where the runs cannot be compared.
    """
    return compare_runs([base, *others])


def _observer(
    shown: ExitStack, total: int, ended: int, restraints: Restraints, *, progress: bool
) -> Observer | None:
    if not progress:
        return None

    return shown.enter_context(RunProgress(total, ended, restraints.outages))


def _scoring(
    matcher: str,
    judge_entities: bool,
    judge: str | None,
    judge_pairs: JudgePairs | None,
    variant: ScoreVariant | None,
    metrics: Iterable[str] = (),
) -> ScoringChoice:
    return ScoringChoice.parse(
        matcher,
        judge_entities=judge_entities,
        judge=judge,
        judge_pairs=judge_pairs,
        variant=variant,
        metrics=metrics,
    )


def _place(on: str | None, workers: int | None) -> RayPlace | None:
    return None if on is None else RayPlace.parse(on, workers)


def _prices(path: Path | str | None) -> Prices:
    return Prices.load(Path(path) if path else None)


def _restraints(patience: float | str, max_cost: float | None, prices: Prices) -> Restraints:
    outages = Outages(read_duration(patience, "patience"))
    return Restraints(None, None if max_cost is None else Spending(max_cost, prices), outages)


def check_affordable(system: System, scoring: ScoringChoice | None, prices: Prices) -> None:
    """Raise InputError where what a call of a system, or of who scores it, costs has no bound."""
    check_bounded(system, prices)
    if scoring is not None:
        check_bounded_scoring(scoring, system.model_dump(), system.role_decoding, prices)
