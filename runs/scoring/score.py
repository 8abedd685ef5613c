"""Scoring the answers of a run or of a predictions file, and where a run's answers were lost.

Models align and judge what names leave open. What is found of a run is saved in its store."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from branchwise.agents.decoding import Decoding
from branchwise.agents.headers import checked_headers
from branchwise.agents.prompt_files import Prompts
from branchwise.agents.restraints import UNRESTRAINED, Restraints
from branchwise.agents.spec import ModelSpec, check_ready
from branchwise.base.errors import InputError
from branchwise.base.keys import NO_KEYS, Keys
from branchwise.base.process import Progress, run_blocking, silent, without_cycle_search
from branchwise.corpora.loaders import load_questions
from branchwise.corpora.loaders.source import QuestionSource
from branchwise.corpora.questions import Question
from branchwise.eval.errors.attribution import attribute
from branchwise.eval.errors.item_errors import ItemErrors
from branchwise.eval.errors.module_work import module_work, total_work
from branchwise.eval.items import AnsweredItem, best_gold_sets, each_gold_set
from branchwise.eval.judging.grading import Announce, GradeRequest
from branchwise.eval.judging.settle import (
    DEFAULT_DECODING,
    JudgeCheck,
    RoleProgress,
    Settled,
    Settling,
    scorer_of,
)
from branchwise.eval.plugin_metrics import MetricPlugin, Named, metrics_of
from branchwise.eval.predictions_file import MISSING, read_predictions
from branchwise.eval.reach import QUICKLY, Reach, find_reach, reach_key
from branchwise.eval.scores import Scores, score_items
from branchwise.eval.scoring_choice import BY_NAMES, CheckChoice, ScoringChoice
from branchwise.eval.sources import evidence_words, run_sources
from branchwise.eval.tasks import Task, get_task, gold_of, is_attributable
from branchwise.graphs.own_settings import PROTOCOL, SCORERS, RoleDecoding, asked_by, checked_roles
from branchwise.graphs.system import System
from branchwise.runs.continuing import tell_kept_keys, with_kept_keys
from branchwise.runs.costs.prices import Prices, prices_of
from branchwise.runs.costs.spending import Spending, check_bounded_scoring, restraints_of
from branchwise.runs.costs.usage import (
    NO_COSTS,
    SPENT,
    file_costs,
    run_costs,
    run_left_out,
    run_remarks,
    spent_by,
)
from branchwise.runs.options import JudgingOptions
from branchwise.runs.scoring.examination import analyse
from branchwise.runs.scoring.saved import SavedScores, made_of, save_scored, settings_digest
from branchwise.runs.scoring.scored import ScoredAnswers, TracedRun
from branchwise.runs.store import RunReader, open_run
from branchwise.runs.store.connection import reading
from branchwise.runs.store.results import file_judgements, run_judgements

if TYPE_CHECKING:
    from branchwise.runs.experiment import Run


@dataclass(frozen=True)
class ScoringSettings:
    """How answers are scored. `choice`: None is the run's own. `metrics`: of plug-ins, by their
    specs or themselves, beside those that the run is scored with. `prices`: None are those kept
    with the run, else the built-in ones.

    `asks`: whether models may be asked for what is not kept. `read_passages`: look for answers in
    the whole corpus where gold names no support, also where that takes over a minute. `saves`: keep
    the result beside the run.
    `decoding`: how matcher and judge are asked; its patience is in no score. `keys`: for their
    servers, before those that the run names. `roles`: decoding of matcher and judge, each setting
    before the run's own. `announce`: is told what a judge of free text is to be asked; `check`:
    what it is to grade twice. `restraints` hold requests to both back. `reuses`: take what was
    saved where nothing has changed since.
    """

    choice: ScoringChoice | None = None
    prices: Prices | None = None
    concurrency: int = 8
    asks: bool = True
    read_passages: bool = False
    saves: bool = True
    decoding: Decoding = DEFAULT_DECODING
    metrics: tuple[Named, ...] = ()
    keys: Keys = NO_KEYS
    roles: RoleDecoding = field(default_factory=dict)
    progress: RoleProgress | None = None
    announce: Announce | None = None
    check: CheckChoice | None = None
    passage_progress: Progress = silent
    restraints: Restraints = UNRESTRAINED
    reuses: bool = True

    @classmethod
    def of(cls, options: JudgingOptions, prices: Prices, keys: Keys) -> "ScoringSettings":
        """As a user chose them. Raises InputError."""
        return cls(
            options.chosen,
            prices,
            options.concurrency,
            read_passages=options.scan_corpus,
            decoding=options.decoding,
            metrics=options.metrics,
            keys=keys,
            roles=options.scorers,
            check=options.check,
            restraints=restraints_of(options.max_cost, prices, options.outages),
        )


@dataclass(frozen=True)
class PredictionsFile:
    """`{"id", "answers"}` lines of any agent, and the questions; `task`: None is their own.

    The replies of models that score them are kept in `PREDICTIONS.judgements.sqlite`.
    """

    path: Path
    questions: str | QuestionSource
    task: str | None = None


@dataclass(frozen=True)
class _Answers:
    path: Path
    task: Task
    items: Sequence[AnsweredItem]
    choice: ScoringChoice
    metrics: tuple[MetricPlugin, ...]
    prompts: Prompts
    keys: Keys
    roles: RoleDecoding
    headers: Mapping[str, str] = field(default_factory=dict)
    system: Mapping[str, Any] | None = None  # the run's; None for a file
    pending: int = 0


def score_answers(
    source: "Run | Path | str | PredictionsFile", settings: ScoringSettings = ScoringSettings()
) -> ScoredAnswers:
    """Score a run or a predictions file, with everything behind the scores: errors, costs, what
    models settled, and for a run ceilings and what was saved.

    Raises:
        InputError: neither of them, bad input, or an impossible choice (`ScoringChoice.resolved`).
        ModelError: no request to a matcher or judge can be answered; what was answered is kept.
    """
    if isinstance(source, PredictionsFile):
        return _score_file(source, settings)
    with closing(open_run(Path(source) if isinstance(source, str | Path) else source.path)) as run:
        run.check_file()
        # Before anything is read: what is written meanwhile makes what was saved another's.
        saving = _saving(run, settings)
        if saving and (reused := _reused(run, saving, settings)):
            return reused
        scored, key = _score_run(run, settings)
    if settings.saves:
        # After the reader closes: the last connection to close checkpoints the write-ahead log.
        save_scored(scored, key, saving)
    return scored


def _score_file(file: PredictionsFile, settings: ScoringSettings) -> ScoredAnswers:
    loaded = load_questions(file.questions, gold_of=gold_of(file.task))
    task = get_task(file.task or loaded.task)
    items = read_predictions(file.path, replace(loaded, task=task.name))
    choice = _checked(settings.choice or BY_NAMES, settings, task.name, file.path)
    metrics = metrics_of((*settings.metrics, *choice.metrics), (), str(file.path))
    prompts, prices = Prompts.load(), settings.prices or Prices.load()
    own = (choice, metrics, prompts, settings.keys, settings.roles)
    answers = _Answers(file.path, task, items, *own)
    settled, scores, lexical = _scores(answers, settings)
    costs, counts = NO_COSTS, scores.counts
    if choice.asks:
        costs = file_costs(counts.items, counts.failed, spent_by(choice, settled), prices)
    errors = None
    if task.is_attributable:
        with without_cycle_search():
            errors = tuple(attribute(item, ()) for item in settled.items)
    missing = tuple(item.question.id for item in items if item.how == MISSING)
    return ScoredAnswers(
        file.path, scores, costs, settled, lexical, missing=missing, untraced_errors=errors
    )


def _score_run(run: RunReader, settings: ScoringSettings) -> tuple[ScoredAnswers, str | None]:
    """The scored run, and the key to save its reach under; None: nothing new."""
    keys = with_kept_keys(settings.keys, run.system, str(run.path))
    task, system = get_task(run.task), System.model_validate(run.system)
    questions = list(run.questions())
    items: list[AnsweredItem] = []
    outcomes: list[Mapping[str, Any]] = []
    for item, outcome in _ended(run, questions):
        items.append(item)
        outcomes.append({name: outcome[name] for name in SPENT if name in outcome})
    choice = _run_choice(run, settings)
    folder = run.system.get("prompts")  # the run's own, where they are still there
    prompts = Prompts.load(Path(folder) if folder and Path(folder).is_dir() else None)
    asked = (*settings.metrics, *(settings.choice.metrics if settings.choice else ()))
    metrics = metrics_of(asked, run.meta.get("scoring", {}).get("metrics", ()), str(run.path))
    with reading(run.path):
        kept, given = checked_roles(run.system.get("role_decoding")), settings.roles
        both = {role: {**kept.get(role, {}), **given.get(role, {})} for role in SCORERS}
        roles: RoleDecoding = checked_roles(both)
        if system.decoding.api != "auto":
            roles = asked_by(system.decoding.api, roles)
        headers = checked_headers(run.system.get("headers") or {})
    path, scoring = run.path, (choice, metrics, prompts, keys, roles, headers, run.system)
    answers = _Answers(path, task, items, *scoring, run.progress()["pending"])
    settled, scores, lexical = _scores(answers, settings)
    prices = settings.prices or prices_of(run.path)
    with reading(run.path):
        costs = run_costs(outcomes, run.system, prices, spent_by(choice, settled))
        left_out, remarks = run_left_out(outcomes, settled), run_remarks(outcomes, settled)
    analysis = key = None
    if task.is_attributable:
        reach, key = _reach(run, questions, settings)
        analysis = analyse(path, settled.items, scores, reach)
        modules = analysis.modules
    else:
        # Of the traces only these events are read, one at a time: memory may not hold all.
        modules = total_work(module_work([event]) for event in run.module_events())
    modules = modules.of_system(run.system, run.meta.get("identity"))
    evidence = evidence_words(run.meta) if task.names_evidence else None
    behind = (costs, settled, lexical, analysis, modules, left_out, remarks, system, evidence)
    return ScoredAnswers(path, scores, *behind), key


def _ended(
    run: RunReader, questions: Sequence[Question]
) -> Iterator[tuple[AnsweredItem, Mapping[str, Any]]]:
    protocol = System.model_validate(run.system).asked(PROTOCOL)
    for item, outcome in run.ended_items(questions):
        yield replace(item, protocol=protocol), outcome


def _run_choice(run: RunReader, settings: ScoringSettings) -> ScoringChoice:
    choice = settings.choice or ScoringChoice(**run.meta.get("scoring", {}))
    return _checked(choice, settings, run.task, run.path, run.system)


def _checked(
    choice: ScoringChoice,
    settings: ScoringSettings,
    task: str,
    path: Path,
    system: Mapping[str, Any] | None = None,
) -> ScoringChoice:
    choice.check_task(task, str(path))
    if settings.check:
        settings.check.require_grades(choice, task)
    return choice.resolved(system)


def _scores(answers: _Answers, settings: ScoringSettings) -> tuple[Settled, Scores, Scores | None]:
    choice, task, roles = answers.choice, answers.task, answers.roles
    spending = settings.restraints.allowance
    if isinstance(spending, Spending) and choice.asks:
        beside = settings.check.beside if settings.check else None
        check_bounded_scoring(choice, answers.system, roles, spending.prices, beside=beside)
    settled = _settled(answers, each_gold_set(answers.items), settings)
    settled = settled.decided(get_task(task.name, choice.variant_of(task.name)))

    def scores_of(items: Sequence[AnsweredItem], by: ScoringChoice) -> Scores:
        scorer = scorer_of(task, by, answers.prompts, settled, roles)
        scores = score_items(scorer.scored_task, items, scorer=scorer, metrics=answers.metrics)
        return replace(scores, counts=replace(scores.counts, pending=answers.pending))

    scores, lexical = scores_of(settled.items, choice), None
    if settled.lexical is not None:
        lexical = scores_of(settled.lexical, replace(choice, matcher="lexical"))
    return settled, scores, lexical


def _settled(
    answers: _Answers, items: Sequence[AnsweredItem], settings: ScoringSettings
) -> Settled:
    if not answers.choice.asks:
        return Settled(items)
    path, options = answers.path, f" {settings.choice.options}" if settings.choice else ""

    def unasked(spec: ModelSpec) -> None:
        problem = f"not everything that {spec.model} was to settle has been asked yet"
        remedy = f"ask first: branchwise score {path}{options}"
        raise InputError(problem, where=str(path), remedy=remedy)

    def ready(spec: ModelSpec) -> None:
        tell_kept_keys(answers.keys, settings.keys, str(path))
        check_ready(spec, answers.keys)

    scored = get_task(answers.task.name, answers.choice.variant_of(answers.task.name))
    with (file_judgements if answers.system is None else run_judgements)(path) as kept:
        settling = Settling(
            answers.choice,
            kept,
            answers.prompts,
            settings.concurrency,
            settings.progress,
            ready if settings.asks else unasked,
            settings.decoding,
            answers.keys,
            answers.roles,
            answers.headers,
            graded=scored if scored.is_graded else None,
            announce=settings.announce,
            check=settings.check,
            restraints=settings.restraints,
        )
        return run_blocking(settling.settle(items))


def check_stored(
    path: Path, stored: Mapping[str, Mapping[GradeRequest, float]], settings: ScoringSettings
) -> JudgeCheck:
    """Grades by the chosen judge beside those that a file of outputs has, by question id."""
    if settings.check is None or settings.choice is None:
        raise InputError("nothing is to be graded", remedy="name a --judge and --judge-check N")
    choice, spending = settings.choice.resolved(None), settings.restraints.allowance
    if isinstance(spending, Spending):
        check_bounded_scoring(choice, None, settings.roles, spending.prices)
    with file_judgements(path) as kept:
        settling = Settling(
            choice,
            kept,
            Prompts.load(),
            settings.concurrency,
            settings.progress,
            partial(check_ready, keys=settings.keys),
            settings.decoding,
            settings.keys,
            settings.roles,
            announce=settings.announce,
            restraints=settings.restraints,
        )
        return run_blocking(settling.check_stored(stored, settings.check.items))


def _reach(
    run: RunReader, questions: Sequence[Question], settings: ScoringSettings
) -> tuple[Reach, str | None]:
    sources = run_sources(run.meta)
    keys = [reach_key(questions, sources)]
    if not settings.read_passages:
        keys.append(f"{keys[0]}-quickly")  # what was read without a limit serves, too
    for key in keys:
        if kept := run.kept_reach(key):
            return Reach.from_json(kept), None
    seconds = inf if settings.read_passages else QUICKLY
    reach = find_reach(questions, sources, seconds=seconds, progress=settings.passage_progress)
    return reach, keys[-1] if reach.final else None


def _saving(run: RunReader, settings: ScoringSettings) -> tuple[str, str, str] | None:
    """Digests of what scores are made of, and of the settings that serve; None: not saved."""
    choice, kept = _run_choice(run, settings), run.meta.get("scoring", {})
    measured = settings.metrics or choice.metrics or kept.get("metrics")
    if not settings.reuses or choice.asks or measured or not is_attributable(run.task):
        return None
    prices = (settings.prices or prices_of(run.path)).to_json()
    whole, own = (
        settings_digest(choice.to_json(), reads, prices) for reads in (True, settings.read_passages)
    )
    return made_of(run.state()), whole, own


def _reused(
    run: RunReader, saving: tuple[str, str, str], settings: ScoringSettings
) -> ScoredAnswers | None:
    made, *names = saving
    kept = (SavedScores.read(run.scored_run(name)) for name in names)
    saved, path = next((scores for scores in kept if scores and scores.of == made), None), run.path
    if saved is None:
        return None

    def read() -> TracedRun:
        analysis = score_answers(path, replace(settings, saves=False, reuses=False)).analysis
        assert analysis is not None, "as it was when it was saved"
        return TracedRun(analysis.items, analysis.item_errors)

    def read_errors() -> tuple[ItemErrors, ...]:
        with closing(open_run(path)) as again, reading(path):
            errors = tuple(map(ItemErrors.from_json, again.every_saved_error(saved.scores.digest)))
        return errors if len(errors) == len(saved.scores.items) else ()

    def read_answered() -> Sequence[AnsweredItem]:
        with closing(open_run(path)) as again:
            task = get_task(again.task, _run_choice(again, settings).variant_of(again.task))
            ended = _ended(again, list(again.questions()))
            items = best_gold_sets(task, [item for item, _ in ended])
        return items if len(items) == len(saved.scores.items) else ()

    return ScoredAnswers(
        path,
        saved.scores,
        saved.costs,
        Settled(()),
        analysis=saved.analysis(read, read_errors, read_answered),
        modules=saved.modules,
        left_out=saved.left_out,
        remarks=saved.remarks,
        system=System.model_validate(run.system),
    )
