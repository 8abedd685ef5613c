"""`branchwise.run`, `resume`, `ask`, `ablate`, `score`, commands of these names, and `compare`.

A parameter is called as its option is: `--max-cost` is `max_cost`, and one that may be repeated
has a plural (`--metric`: `metrics`). What is a setting of a system stands in `System`.
"""

import functools
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import BaseModel

from branchwise.agents.headers import NO_HEADERS
from branchwise.agents.restraints import Restraints
from branchwise.base.arguments import typed_arguments
from branchwise.base.errors import InputError, did_you_mean
from branchwise.base.keys import Keys
from branchwise.base.process import run_blocking
from branchwise.compared import (
    ComparedRuns,
    ComparedSets,
    compare_runs,
    compare_studies,
    compared_study,
)
from branchwise.corpora.loaders import load_questions
from branchwise.corpora.loaders.source import QuestionSource
from branchwise.corpora.questions import Question, QuestionSet
from branchwise.eval.tasks import gold_of
from branchwise.graphs.system import System
from branchwise.report.terminal.progress import RunProgress, StudyProgress
from branchwise.results import (
    AskResult,
    RunResult,
    ScoreResult,
    StudyResult,
    scored_run,
)
from branchwise.runs import experiment
from branchwise.runs.answering import agent_to_ask, ask_agent, check_question
from branchwise.runs.costs.prices import keep_prices, limit_of, prices_of
from branchwise.runs.costs.spending import check_affordable, check_begun, restraints_of
from branchwise.runs.experiment import Run, state_of
from branchwise.runs.options import (
    CostOptions,
    JudgingOptions,
    PaceOptions,
    RunOptions,
    ScoreOptions,
    StudyOptions,
    listed_metrics,
)
from branchwise.runs.runner import Observer, RunState
from branchwise.runs.scoring.score import PredictionsFile, ScoringSettings, score_answers
from branchwise.runs.store import open_run as open_store
from branchwise.runs.store.merging import merge_runs
from branchwise.runs.studies.folder import StudyFolder
from branchwise.runs.studies.running import StudyDesign, StudyObserver, StudyPace, run_study
from branchwise.runs.studies.schema import load_study
from branchwise.runs.studies.several import continued_design, is_study
from branchwise.several import OneObserver, SeveralSets, sets_design, sets_pace, several_sets

T = TypeVar("T")
_OneSet = str | Path | Iterable[Mapping[str, Any] | Question]


def _with_options(*models: type[BaseModel]) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Let a function take what its parameters of these models hold by name, beside the models.

    A keyword that there is not is told in one line, with the nearest one.
    """

    def decorated(function: Callable[..., T]) -> Callable[..., T]:
        own = dict(inspect.signature(function).parameters)
        homes = {model: p for p in own.values() for model in models if p.annotation == model | None}
        fields = {name: homes[model].name for model in models for name in model.model_fields}
        by_model = {homes[model].name: model for model in models}
        known = [*(name for name in own if name not in by_model), *fields]

        @functools.wraps(function)
        def called(*values: Any, **named: Any) -> T:
            chosen: dict[str, dict[str, Any]] = {name: {} for name in by_model}
            for name in [name for name in named if name not in own]:
                if name not in fields:
                    raise _unknown(function.__name__, name, known)
                if (value := named.pop(name)) is not None:
                    chosen[fields[name]][name] = value
            for name, given in chosen.items():
                if given:
                    named[name] = by_model[name](**given)
            return function(*values, **named)

        shown = [p for p in own.values() if p.name not in by_model]
        shown += [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=info.default,
                annotation=info.annotation,
            )
            for model in models
            for name, info in model.model_fields.items()
        ]
        called.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
        return called

    return decorated


def _unknown(function: str, name: str, known: Collection[str]) -> InputError:
    remedy = did_you_mean(name, known)
    if name in System.model_fields and function in ("run", "ask"):
        remedy = f"it is a setting: System({name}=...)"
    return InputError(f"there is no parameter {name[:60]!r}", where=function, remedy=remedy)


@_with_options(RunOptions, ScoreOptions)
@typed_arguments
def run(
    questions: _OneSet | QuestionSet | SeveralSets,
    system: System,
    options: RunOptions | None = None,
    scoring: ScoreOptions | None = None,
    *,
    fields: Mapping[str, str] | Sequence[str] = (),
    separator: str | None = None,
    out: Path | str | None = None,
    ids: Collection[str] | None = None,
    progress: bool = False,
    observer: Observer | None = None,
) -> RunResult:
    """Answer questions with a system into a new run folder (default: `runs/` and the time).

    `questions`: a question set as `--questions` names one, its path or rows, with `fields` and
    `separator` (`load_questions`), or one that was loaded. Blocks until every item has ended or the
    run stopped: `run.state` says which. The fields of `options` and `scoring` may be given by name:
    `run(questions, system, limit=20, matcher="llm")`. `ids`: these questions only. `progress`: show
    a bar (in a notebook a line that changes, else lines); `observer`: told of each item that ends,
    instead of that. A list of sets (paths, loaded ones, lists of rows, frames), or a
    dict of them by name, is several: a study with a run for each,
    which goes on where `out` holds it already (`StudyResult`). Raises InputError before any work.
    """
    of, scored = options or RunOptions(), scoring or ScoreOptions()
    ids = None if ids is None else tuple(map(str, ids))
    if (sets := several_sets(questions)) is not None:
        folder, named = Path(out) if out else experiment.new_folder(), (fields, separator)
        design = sets_design(sets, system, of, scored, folder, named, ids)
        return _study(design, folder, of, observer, progress=progress, pilot=of.pilot)
    selection = of.selection(ids, of.part)
    if not isinstance(questions, QuestionSet):
        source = QuestionSource.of(cast(_OneSet, questions), fields, separator)
        questions = load_questions(source, gold_of=gold_of(of.task))
    elif fields or separator:
        raise InputError("these questions are loaded", where="fields", remedy="leave them out")
    chosen = selection.of(questions)
    choice, priced = scored.choice, of.priced
    # Of a run that goes on, its pilot's.
    of = of.model_copy(update={"max_cost": limit_of(Path(out) if out else None, of.max_cost)})
    restraints = restraints_of(of.max_cost, priced, of.outages)
    if of.max_cost is not None:
        check_affordable(system, choice, priced)
    total = min(of.pilot, len(chosen)) if of.pilot else len(chosen) * of.epochs
    with ExitStack() as shown:
        made = experiment.run(
            chosen,
            system,
            out=out,
            task=of.task,
            epochs=of.epochs,
            concurrency=of.concurrency,
            observer=observer or _observer(shown, total, 0, restraints, progress=progress),
            scoring=choice,
            restraints=restraints,
            prices=of.price_file,
            pilot=of.pilot,
            on=of.place,
        )
    return RunResult.of(made)


@_with_options(PaceOptions)
@typed_arguments
def resume(
    path: Run | Path | str,
    options: PaceOptions | None = None,
    *,
    corpus: Path | str | None = None,
    retriever: str | None = None,
    reranker: Path | str | None = None,
    kg: str | None = None,
    model: str | None = None,
    expander: str | None = None,
    extractor: str | None = None,
    checker: str | None = None,
    keys: Mapping[str, str] | None = None,
    headers: Mapping[str, str] = NO_HEADERS,
    retry_failed: bool = False,
    progress: bool = False,
    observer: Observer | None = None,
) -> RunResult:
    """Continue a run that was killed, interrupted or stopped; nothing recorded is asked for again.

    `run.state` counts the items of the whole run, or study (`StudyResult`). `corpus`, `kg`,
    `reranker`: where they are now; `retriever` and the models: the same ones at another address;
    the rest as in `run`. Raises InputError where the system would be another.
    """
    of, path = options or PaceOptions(), run_folder(path)
    if is_study(path):
        moved = {"corpus": corpus, "kg": kg, "reranker": reranker, "retriever": retriever}
        moved |= {"model": model, "expander": expander, "extractor": extractor, "checker": checker}
        design = continued_design(path, moved, Keys(keys or {}), headers)
        return _study(design, path, of, observer, progress=progress, retry_failed=retry_failed)
    with closing(open_store(path)) as reader:
        counts, begun = reader.progress(), reader.meta
        again = counts["failed"] + len(reader.cut_items()) if retry_failed else 0
    priced = of.priced if of.prices else prices_of(path)
    of = of.model_copy(update={"max_cost": limit_of(path, of.max_cost)})
    if of.max_cost is not None:
        check_begun(begun, priced)
    restraints = restraints_of(of.max_cost, priced, of.outages)
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
            checker=checker,
            kg=kg,
            concurrency=of.concurrency,
            retry_failed=retry_failed,
            observer=observer
            or _observer(shown, counts["total"], ended, restraints, progress=progress),
            restraints=restraints,
            prices=of.price_file,
            keys=Keys(keys or {}),
            headers=[f"{name}={value}" for name, value in headers.items()],
            on=of.place,
        )
    return RunResult.of(made)


@typed_arguments
def open_run(path: Run | Path | str) -> RunResult:
    """Open a run, or a study (`StudyResult`), without continuing it; its corpus and graph may be
    gone. Raises InputError if the path holds neither."""
    path = run_folder(path)
    if not is_study(path):
        return RunResult(path, state_of(path))
    states = [state_of(run) for _, run in StudyFolder.open(path).runs()]
    rows = ((state.done, state.failed, state.pending) for state in states)
    counts = (sum(each) for each in zip(*rows, strict=True))
    return StudyResult(path, RunState(*counts))


@typed_arguments
def merge(runs: Iterable[Run | Path | str], out: Path | str) -> RunResult:
    """Join runs of one system over different questions into a new run at `out`.

    Its questions are in the order of the runs. What has not ended is left to `resume`. Raises
    InputError where these are not such runs, one is damaged, or `out` is there.
    """
    merge_runs([run_folder(run) for run in runs], Path(out))
    return RunResult.of(Run(Path(out), state_of(Path(out))))


@_with_options(CostOptions)
@typed_arguments
def ask(question: str, system: System, options: CostOptions | None = None) -> AskResult:
    """Ask one question: the outcome has the answers by branch (`outcome.prediction.answers`).

    Raises InputError before anything is asked, ModelError where the model cannot be had, and
    PassEndedError where a server stays away or the next call could cost too much.
    """
    check_question(question)
    of = options or CostOptions()
    priced = of.priced
    restraints = restraints_of(of.max_cost, priced, of.outages)
    if of.max_cost is not None:
        check_affordable(system, None, priced)
    outcome = run_blocking(ask_agent(agent_to_ask(system, restraints), question))
    return AskResult(**vars(outcome), question=question)


@_with_options(JudgingOptions)
@typed_arguments
def score(
    run: Run | Path | str | None = None,
    options: JudgingOptions | None = None,
    *,
    questions: str | Path | QuestionSet | Iterable[Mapping[str, Any] | Question] | None = None,
    fields: Mapping[str, str] | Sequence[str] = (),
    separator: str | None = None,
    predictions: Path | str | None = None,
    task: str | None = None,
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
    of = options or JudgingOptions()
    path = None if run is None else run_folder(run)
    priced = of.priced if of.prices or path is None else prices_of(path)
    settings = ScoringSettings.of(of, priced, Keys(keys or {}))
    if path is not None and questions is None and predictions is None and task is None:
        keep_prices(path, of.price_file)
        return scored_run(path, settings)
    if path is None and questions is not None and predictions is not None:
        source = QuestionSource.of(questions, fields, separator)
        scored = score_answers(PredictionsFile(Path(predictions), source, task), settings)
        return ScoreResult.of(scored.scores, (item.question for item in scored.settled.items))
    raise InputError(
        "it is not clear what to score",
        where="score",
        remedy="give either a run, or questions and predictions (and a task)",
    )


@typed_arguments
def compare(
    base: Run | Path | str, *others: Run | Path | str, metrics: Any = ()
) -> ComparedRuns | ComparedSets:
    """Runs beside a base, question by question: differences with intervals and corrected tests;
    results over several sets set by set.

    `metrics`: further ones, as for `score`, beside those that the runs were begun with. Scores that
    were not saved are made of names alone; nothing is asked, and nothing is written.
    Raises InputError where the runs cannot be compared.
    """
    paths = [run_folder(run) for run in (base, *others)]
    of = compare_studies if len(paths) > 1 and all(map(is_study, paths)) else compare_runs
    return of(paths, listed_metrics(metrics))


@_with_options(StudyOptions)
@typed_arguments
def ablate(
    study: Path | str | Mapping[str, Any],
    options: StudyOptions | None = None,
    *,
    out: Path | str | None = None,
    max_requests: int | None = None,
    retry_failed: bool = False,
    keys: Mapping[str, str] | None = None,
    progress: bool = False,
) -> ComparedRuns | ComparedSets:
    """Run the systems of a study file over the same questions, or go on with it, into the folder
    `out` (default: `studies/` and its name), and compare each with its model's base, in each set
    where it has several.

    `study`: the file, or its keys and values as a dict, in which `questions` (or a set's `source`)
    may be rows or loaded questions.
    Blocks until every item has ended or the study stopped, of which it warns. Scores that need a
    model are made. `max_requests`: at a time, to one model server. Raises InputError before any
    work.
    """
    loaded = load_study(study).with_keys(Keys(keys or {}))
    design = StudyDesign.of(loaded)
    folder = Path(out) if out else Path("studies") / design.name
    pace = StudyPace.of(
        loaded, folder, options or StudyOptions(), max_requests, retry_failed=retry_failed
    )
    with ExitStack() as shown:
        watching = shown.enter_context(study_progress(pace)) if progress else None
        made = run_study(design, folder, pace, watching)
    return compared_study(made, design.scoring, Keys(loaded.study.keys))


@typed_arguments
def run_folder(run: Run | Path | str) -> Path:
    return run.path if isinstance(run, Run) else Path(run)


def _study(
    design: StudyDesign,
    folder: Path,
    of: PaceOptions,
    observer: Observer | None,
    *,
    progress: bool,
    pilot: int | None = None,
    retry_failed: bool = False,
) -> StudyResult:
    pace = sets_pace(of, folder, pilot=pilot, retry_failed=retry_failed)
    watched: StudyObserver | None = OneObserver(observer) if observer else None
    with ExitStack() as shown:
        if progress and watched is None:
            watched = shown.enter_context(study_progress(pace))
        made = run_study(design, folder, pace, watched)
    return StudyResult.of(Run(folder, made.state, made.restraints))


def study_progress(pace: StudyPace) -> StudyProgress:
    """A display of a study that is run so; its prices must be known."""
    assert pace.prices is not None
    return StudyProgress(
        pace.prices,
        pace.limits,
        pace.outages,
        max_cost=pace.max_cost,
        retry_failed=pace.retry_failed,
    )


def _observer(
    shown: ExitStack, total: int, ended: int, restraints: Restraints, *, progress: bool
) -> Observer | None:
    if not progress:
        return None
    return shown.enter_context(RunProgress(total, ended, restraints.outages))
