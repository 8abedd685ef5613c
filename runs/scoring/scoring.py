"""Scoring a run: read its items, let models align and judge, compute scores, find what was lost.

The results are saved beside the run.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from branchwise.agents.decoding import Decoding
from branchwise.agents.headers import checked_headers
from branchwise.agents.prompt_files import Prompts
from branchwise.agents.restraints import UNRESTRAINED, Restraints
from branchwise.agents.spec import ModelSpec, check_ready
from branchwise.base.blocking import run_blocking
from branchwise.base.errors import InputError
from branchwise.base.keys import NO_KEYS, Keys
from branchwise.base.progress import Progress as PassageProgress
from branchwise.base.progress import silent
from branchwise.base.warning import warn
from branchwise.corpora.questions import Question
from branchwise.eval.ceilings.breakdowns import (
    Breakdown,
    Places,
    breakdown,
    grouping_of,
    groupings_of,
    places_of,
)
from branchwise.eval.ceilings.reach import QUICKLY, Reach, find_reach, reach_key
from branchwise.eval.ceilings.sources import evidence_words, run_sources
from branchwise.eval.errors.answer_errors import ANSWER_ERRORS
from branchwise.eval.errors.classes import ErrorClasses, FoundErrors, found_errors
from branchwise.eval.errors.item_errors import ItemErrors
from branchwise.eval.errors.module_work import ModuleWork, module_work, total_work
from branchwise.eval.gold_sets import best_gold_sets, each_gold_set
from branchwise.eval.grouping import META, ScoredItem
from branchwise.eval.inert import Inert, inert_parts
from branchwise.eval.items import AnsweredItem
from branchwise.eval.judging.grading import Announce
from branchwise.eval.judging.judge_check import CheckChoice
from branchwise.eval.judging.scorers import scorer_of
from branchwise.eval.judging.settle import DEFAULT_DECODING, RoleProgress, Settled, Settling
from branchwise.eval.plugin_metrics import MetricPlugin, Named, metrics_of
from branchwise.eval.scores import Scores, score_items
from branchwise.eval.scoring_choice import ScoringChoice
from branchwise.eval.tasks import get_task, is_attributable, is_graded
from branchwise.graphs.protocol import QuestionProtocol
from branchwise.graphs.role_decoding import SCORERS, RoleDecoding, asked_by, checked_roles
from branchwise.graphs.system import DEFAULT_SYSTEM, System
from branchwise.runs.costs.kept_prices import prices_of
from branchwise.runs.costs.prices import Prices
from branchwise.runs.costs.spending import Spending, check_bounded_scoring
from branchwise.runs.costs.usage import SPENT, Costs, run_costs, spent_by
from branchwise.runs.left_out import OmittedField, RemarkedReplies, run_left_out, run_remarks
from branchwise.runs.options import JudgingOptions
from branchwise.runs.run_keys import tell_kept_keys, with_kept_keys
from branchwise.runs.scoring.analysis import Analysis, TracedRun, analyse
from branchwise.runs.scoring.saved_scores import SavedScores, made_of, settings_digest
from branchwise.runs.store import RunReader, StoreError, open_run
from branchwise.runs.store.damage import reading
from branchwise.runs.store.judgements import run_judgements
from branchwise.runs.store.results import keep_reach, save_scored_run, save_scores

if TYPE_CHECKING:
    from branchwise.runs.experiment import Run


@dataclass(frozen=True)
class ScoringSettings:
    """How a run is scored. `choice`: None is the run's own. `metrics`: of plug-ins, by their specs
    or themselves, beside those that the run is scored with. `prices`: None are those kept with the
    run, else the built-in ones.

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
    passage_progress: PassageProgress = silent
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
            restraints=options.restraints(prices),
        )


@dataclass(frozen=True)
class ScoredRun:
    """A run's scores and what they are based on.

    `lexical`: the scores by names alone, where both matchers were asked for. `analysis` is None
    for tasks whose answers are sentences. `modules`: what tools, query expansion, evidence
    extraction and plug-ins' nodes did, for every task. `left_out`: what requests lacked since a
    server refuses it; `remarks`: what is to be told of replies.
    `system`: what answered, as it was recorded. `evidence`: what was searched, in words, for tasks
    whose questions bring no passages; None for others, and where it is not known.
    """

    path: Path
    scores: Scores
    costs: Costs
    settled: Settled
    lexical: Scores | None = None
    analysis: Analysis | None = None
    modules: ModuleWork = field(default_factory=ModuleWork)
    left_out: tuple[OmittedField, ...] = ()
    remarks: tuple[RemarkedReplies, ...] = ()
    system: System = DEFAULT_SYSTEM
    evidence: str | None = None

    @cached_property
    def inert(self) -> Inert:
        """What of the system, and of what scored it, did nothing."""
        return inert_parts(self.modules, self.settled)

    @property
    def told_of_calls(self) -> list[str]:
        """A line for each field that requests lacked, and for replies that ended oddly."""
        return [*(one.words for one in self.left_out), *(one.words for one in self.remarks)]

    @property
    def protocol(self) -> QuestionProtocol:
        """How its questions were put."""
        return self.system.protocol

    @property
    def answered(self) -> Sequence[AnsweredItem]:
        """Its items as they were scored."""
        return self.analysis.answered if self.analysis else self.settled.items

    @cached_property
    def items(self) -> tuple[ScoredItem, ...]:
        """Its items with their metrics; with traces where answers are entities."""
        if self.analysis:
            return self.analysis.items
        metrics = {(row.id, row.epoch): row.metrics for row in self.scores.items}
        return tuple(
            ScoredItem(item, metrics=metrics[item.question.id, item.epoch])
            for item in self.settled.items
        )

    @property
    def error_classes(self) -> ErrorClasses[Any] | None:
        """The classes of `errors`; None where the task's answers are not examined for any."""
        if self.analysis:
            return ANSWER_ERRORS
        return self.scores.scorer.scored_task.error_classes

    @cached_property
    def errors(self) -> tuple[FoundErrors, ...]:
        """What went wrong with each item."""
        classes = self.error_classes
        if classes is None:
            return ()
        if self.analysis:
            return tuple(
                found_errors(one.id, one.epoch, one.ambiguous, classes, one)
                for one in self.analysis.item_errors
            )
        task = self.scores.scorer.scored_task
        return tuple(
            found_errors(*one.key, one.item.question.ambiguous, classes, task.examined(one.item))
            for one in self.items
        )

    def breakdown(self, by: str) -> Breakdown | None:
        """Scores by a property of the question; None where its task is not broken down by it."""
        task = self.scores.scorer.scored_task
        if by not in groupings_of(task) and not by.startswith(META):
            return None
        if self.analysis:
            return self.analysis.breakdown(by)
        return breakdown(grouping_of(task, by), self.scores.items, self.places(by), task.headline)

    def places(self, by: str) -> Places:
        """Its items' bins by a property of the question."""
        if self.analysis:
            return self.analysis.places(by)
        return places_of(grouping_of(self.scores.scorer.scored_task, by), self.items)

    def to_json(self) -> dict[str, Any]:
        """JSON-serialisable: the scores' own keys, and `costs`, `models`, `modules`,
        `did_nothing`, `left_out`, `remarks`, `analysis`, `lexical`, and `evidence` if that is told.
        """
        return {
            **self.scores.to_json(),
            "costs": self.costs.to_json(),
            "models": self.settled.to_json(),
            "modules": self.modules.to_json(),
            "did_nothing": [one.words for one in self.inert.values()],
            "left_out": [one.to_json() for one in self.left_out],
            "remarks": [one.to_json() for one in self.remarks],
            "analysis": self.analysis.to_json() if self.analysis else None,
            "lexical": self.lexical.to_json() if self.lexical else None,
            **({} if self.evidence is None else {"evidence": self.evidence}),
        }


def score_run(run: "Run | Path | str", settings: ScoringSettings = ScoringSettings()) -> ScoredRun:
    """Score a run, with everything behind the scores: errors, ceilings, costs, what models settled.

    Raises:
        InputError: not a run, or an impossible choice (`ScoringChoice.resolved`).
        ModelError: no request to a matcher or judge can be answered; what was answered is kept.
    """
    reader = open_run(Path(run) if isinstance(run, str | Path) else run.path)
    try:
        reader.check_file()
        # Before anything is read: what is written meanwhile makes what was saved another's.
        saving = _saving(reader, settings)
        if saving and (saved := _saved(reader, saving, settings)):
            return saved
        scored, looked_up = _scored(reader, settings)
    finally:
        reader.close()
    if settings.saves:
        # After the reader closes: the last connection to close checkpoints the write-ahead log.
        _save(scored, looked_up, saving)
    return scored


class _Saving(NamedTuple):
    """Where a scored run is saved: the digests of its settings, and of what it is made of; `whole`:
    of the settings with which the corpus was read however long it took, which serve as well."""

    settings: str
    of: str
    whole: str


def _saving(reader: RunReader, settings: ScoringSettings) -> _Saving | None:
    """None where a run is not saved (`eval.saved_scores`)."""
    choice, kept = _choice(reader, settings), reader.meta.get("scoring", {})
    measured = settings.metrics or choice.metrics or kept.get("metrics")
    if not settings.reuses or choice.asks or measured or not is_attributable(reader.task):
        return None
    of = made_of(reader.state())
    prices = settings.prices or prices_of(reader.path)
    said, whole = (
        settings_digest(choice.to_json(), reads, prices.to_json())
        for reads in (settings.read_passages, True)
    )
    return _Saving(said, of, whole)


def _saved(reader: RunReader, saving: _Saving, settings: ScoringSettings) -> ScoredRun | None:
    """The run as it was scored, where nothing has changed since."""
    found = (_read_saved(reader.scored_run(one)) for one in (saving.whole, saving.settings))
    saved = next((one for one in found if one and one.of == saving.of), None)
    if saved is None:
        return None
    path = reader.path

    def read() -> TracedRun:
        again = score_run(path, replace(settings, saves=False, reuses=False)).analysis
        assert again is not None, "as it was when it was saved"
        return TracedRun(again.items, again.item_errors)

    def read_errors() -> tuple[ItemErrors, ...]:
        with closing(open_run(path)) as again, reading(path):
            found = again.every_saved_error(saved.scores.digest)
            errors = tuple(map(ItemErrors.from_json, found))
        return errors if len(errors) == len(saved.scores.items) else ()

    def read_answered() -> Sequence[AnsweredItem]:
        with closing(open_run(path)) as again:
            task = get_task(again.task, _choice(again, settings).variant_of(again.task))
            items = [item for item, _ in _answered(again, list(again.questions()))]
            found = best_gold_sets(task, items)
        return found if len(found) == len(saved.scores.items) else ()

    return ScoredRun(
        path,
        saved.scores,
        saved.costs,
        Settled(()),
        analysis=saved.analysis(read, read_errors, read_answered),
        modules=saved.modules,
        left_out=saved.left_out,
        remarks=saved.remarks,
        system=System.model_validate(reader.system),
    )


def _read_saved(body: bytes | None) -> SavedScores | None:
    try:
        return SavedScores.read(body) if body is not None else None
    except ValueError:
        return None


class _LookedUp(NamedTuple):
    """What the run's tools could have given, and the key to save it under; None if it is already
    saved or not to be."""

    reach: Reach
    key: str | None


class _Asking(NamedTuple):
    """Who aligns and judges, and how they are asked: what the run and the user say of it."""

    choice: ScoringChoice
    prompts: Prompts
    keys: Keys
    roles: RoleDecoding
    headers: Mapping[str, str]


def _scored(reader: RunReader, settings: ScoringSettings) -> tuple[ScoredRun, _LookedUp | None]:
    keys = with_kept_keys(settings.keys, reader.system, str(reader.path))
    task = get_task(reader.task)
    system = System.model_validate(reader.system)
    questions = list(reader.questions())
    items: list[AnsweredItem] = []
    outcomes: list[Mapping[str, Any]] = []
    for item, outcome in _answered(reader, questions):
        items.append(item)
        outcomes.append({name: outcome[name] for name in SPENT if name in outcome})
    choice = _choice(reader, settings)
    prompts, metrics = _prompts(reader), _metrics(reader, settings)
    with reading(reader.path):
        kept = checked_roles(reader.system.get("role_decoding"))
        roles: RoleDecoding = {
            role: {**kept.get(role, {}), **settings.roles.get(role, {})} for role in SCORERS
        }
        roles = checked_roles(roles)
        if system.decoding.api != "auto":
            roles = asked_by(system.decoding.api, roles)
        headers = checked_headers(reader.system.get("headers") or {})
    check_affordable(choice, reader.system, roles, settings)
    asking = _Asking(choice, prompts, keys, roles, headers)
    scored_task = get_task(task.name, choice.variant_of(task.name))
    settled = _settled(reader, each_gold_set(items), asking, settings).decided(scored_task)
    pending = reader.progress()["pending"]

    def scores_of(chosen: Sequence[AnsweredItem], by: ScoringChoice) -> Scores:
        scorer = scorer_of(task, by, prompts, settled, roles)
        found = score_items(scorer.scored_task, chosen, scorer=scorer, metrics=metrics)
        return replace(found, counts=replace(found.counts, pending=pending))

    scores = scores_of(settled.items, choice)
    lexical = None
    if settled.lexical is not None:
        lexical = scores_of(settled.lexical, replace(choice, matcher="lexical"))
    prices = settings.prices or prices_of(reader.path)
    with reading(reader.path):
        costs = run_costs(outcomes, reader.system, prices, spent_by(choice, settled))
        left_out, remarks = run_left_out(outcomes, settled), run_remarks(outcomes, settled)
    analysis = looked_up = None
    if task.is_attributable:
        looked_up = _reach(reader, questions, settings)
        analysis = analyse(reader.path, settled.items, scores, looked_up.reach)
    modules = _modules(reader, analysis)
    run = ScoredRun(
        reader.path, scores, costs, settled, lexical, analysis, modules, left_out, remarks, system
    )
    if task.names_evidence:
        run = replace(run, evidence=evidence_words(reader.meta))
    return run, looked_up


def _answered(
    reader: RunReader, questions: Sequence[Question]
) -> Iterator[tuple[AnsweredItem, Mapping[str, Any]]]:
    """Items that ended, and their outcomes."""
    protocol = System.model_validate(reader.system).protocol
    for item, outcome in reader.ended_items(questions):
        yield replace(item, protocol=protocol), outcome


def _modules(reader: RunReader, analysis: Analysis | None) -> ModuleWork:
    """Counted from traces that were read for errors; otherwise only these events are read."""
    found = analysis.modules if analysis else None
    if found is None:
        # One at a time: together they may be more than memory holds.
        found = total_work(module_work([event]) for event in reader.module_events())
    return found.of_system(reader.system, reader.meta.get("identity"))


def check_affordable(
    choice: ScoringChoice,
    system: Mapping[str, Any] | None,
    roles: RoleDecoding,
    settings: ScoringSettings,
) -> None:
    """Raise InputError where there is a limit of cost and calls of matcher or judge have none."""
    spending = settings.restraints.allowance
    if isinstance(spending, Spending) and choice.asks:
        beside = settings.check.beside if settings.check else None
        check_bounded_scoring(choice, system, roles, spending.prices, beside=beside)


def _choice(reader: RunReader, settings: ScoringSettings) -> ScoringChoice:
    choice = settings.choice or ScoringChoice(**reader.meta.get("scoring", {}))
    choice.check_task(reader.task, str(reader.path))
    if settings.check:
        settings.check.require_grades(choice, reader.task)
    return choice.resolved(reader.system)


def _metrics(reader: RunReader, settings: ScoringSettings) -> tuple[MetricPlugin, ...]:
    """The metrics requested now, added to those that the run was started with."""
    asked = (*settings.metrics, *(settings.choice.metrics if settings.choice else ()))
    kept = reader.meta.get("scoring", {}).get("metrics", ())
    return metrics_of(asked, kept, str(reader.path))


def _prompts(reader: RunReader) -> Prompts:
    """The run's own, where their folder is still there."""
    folder = reader.system.get("prompts")
    return Prompts.load(Path(folder) if folder and Path(folder).is_dir() else None)


def _settled(
    reader: RunReader,
    items: Sequence[AnsweredItem],
    asking: _Asking,
    settings: ScoringSettings,
) -> Settled:
    choice, keys = asking.choice, asking.keys
    if not choice.asks:
        return Settled(items)

    options = f" {settings.choice.options}" if settings.choice else ""

    def unasked(spec: ModelSpec) -> None:
        raise InputError(
            f"not everything that {spec.model} was to settle has been asked yet",
            where=str(reader.path),
            remedy=f"ask first: branchwise score {reader.path}{options}",
        )

    def ready(spec: ModelSpec) -> None:
        tell_kept_keys(keys, settings.keys, str(reader.path))
        check_ready(spec, keys)

    with run_judgements(reader.path) as kept:
        settling = Settling(
            choice,
            kept,
            asking.prompts,
            settings.concurrency,
            settings.progress,
            ready if settings.asks else unasked,
            settings.decoding,
            keys,
            asking.roles,
            asking.headers,
            graded=is_graded(reader.task),
            announce=settings.announce,
            check=settings.check,
            restraints=settings.restraints,
        )
        return run_blocking(settling.settle(items))


def _reach(
    reader: RunReader, questions: Sequence[Question], settings: ScoringSettings
) -> _LookedUp:
    """What the run's tools could have given: kept from before, or looked up now."""
    sources = run_sources(reader.meta)
    key = reach_key(questions, sources)
    # What was read without a limit serves any.
    quickly = [] if settings.read_passages else [f"{key}-quickly"]
    for one in (key, *quickly):
        if kept := reader.kept_reach(one):
            return _LookedUp(Reach.from_json(kept), None)
    seconds = inf if settings.read_passages else QUICKLY
    found = find_reach(questions, sources, seconds=seconds, progress=settings.passage_progress)
    return _LookedUp(found, [key, *quickly][-1] if found.final else None)


def _save(scored: ScoredRun, looked_up: _LookedUp | None, saving: _Saving | None) -> None:
    analysis, lexical = scored.analysis, scored.lexical
    errors: Iterable[tuple[int, Mapping[str, Any]]] = ()
    if analysis:
        pairs = zip(analysis.items, analysis.item_errors, strict=True)
        errors = ((traced.item.item or 0, found.to_json()) for traced, found in pairs)
    try:
        if looked_up and looked_up.key:
            keep_reach(scored.path, looked_up.key, looked_up.reach.to_json())
        # What reads saved scores does not load plug-ins, and finds them without their metrics.
        plain = scored.scores.without_plugins()
        save_scores(scored.path, plain.digest, plain.to_json(), errors)
        further = [one for one in (scored.scores, lexical) if one and one.scorer.metrics]
        for scores in (*([lexical.without_plugins()] if lexical else []), *further):
            save_scores(scored.path, scores.digest, scores.to_json())
        if saving and (looked_up is None or looked_up.reach.final):
            body = SavedScores.of_run(saving.of, scored).to_bytes()
            save_scored_run(scored.path, saving.settings, body)
    except StoreError as error:
        warn(str(error))
