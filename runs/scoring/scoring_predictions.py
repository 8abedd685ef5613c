"""Scoring a predictions file: answers of any agent, without a trace."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from branchwise.agents.prompt_files import Prompts
from branchwise.agents.spec import check_ready
from branchwise.base.blocking import run_blocking
from branchwise.base.cycle_collector import without_cycle_search
from branchwise.corpora.loaders import load_questions
from branchwise.corpora.loaders.source import QuestionSource
from branchwise.eval.errors.attribution import attribute
from branchwise.eval.errors.item_errors import ItemErrors
from branchwise.eval.errors.totals import ErrorTotals, totals
from branchwise.eval.gold_sets import each_gold_set
from branchwise.eval.items import AnsweredItem
from branchwise.eval.judging.scorers import scorer_of
from branchwise.eval.judging.settle import Settled, Settling
from branchwise.eval.plugin_metrics import load_metrics
from branchwise.eval.predictions_file import MISSING, read_predictions
from branchwise.eval.scores import Scores, score_items
from branchwise.eval.scoring_choice import BY_NAMES, ScoringChoice
from branchwise.eval.tasks import Task, get_task, gold_of
from branchwise.runs.costs.prices import Prices
from branchwise.runs.costs.usage import Costs, file_costs, spent_by
from branchwise.runs.scoring.scoring import ScoringSettings, check_affordable
from branchwise.runs.store.judgements import file_judgements


@dataclass(frozen=True)
class ScoredFile:
    """Scores of a predictions file; `lexical` where both matchers were asked for.

    `missing`: ids of questions that the file does not answer. `item_errors`: what can be known
    without a trace (docs/errors.md), None for tasks whose answers are sentences. `costs`: of
    matcher and judge, None where neither took part.
    """

    scores: Scores
    settled: Settled
    lexical: Scores | None = None
    missing: tuple[str, ...] = ()
    item_errors: tuple[ItemErrors, ...] | None = None
    costs: Costs | None = None

    @property
    def errors(self) -> ErrorTotals | None:
        """How often each label came up."""
        return None if self.item_errors is None else totals(self.item_errors)

    def to_json(self) -> dict[str, Any]:
        """JSON-serialisable: the scores' own keys, and as for a run `costs`, `models`, `analysis`
        (errors and items alone), `lexical`; `without_prediction`."""
        analysis = None
        if self.errors is not None and self.item_errors is not None:
            items = [found.to_json() for found in self.item_errors]
            analysis = {"errors": self.errors.to_json(), "items": items}
        return {
            **self.scores.to_json(),
            "without_prediction": list(self.missing),
            "costs": self.costs.to_json() if self.costs else None,
            "models": self.settled.to_json(),
            "analysis": analysis,
            "lexical": self.lexical.to_json() if self.lexical else None,
        }


def score_predictions(
    questions: str | QuestionSource,
    predictions: Path,
    task_name: str | None = None,
    settings: ScoringSettings | None = None,
) -> ScoredFile:
    """Score `{"id", "answers"}` lines against a question set.

    The models' replies are kept in `PREDICTIONS.judgements.sqlite`. Raises InputError for bad
    input, ModelError where no request to a matcher or judge can be answered.
    """
    loaded = load_questions(questions, gold_of=gold_of(task_name))
    task = get_task(task_name or loaded.task)
    items = read_predictions(predictions, replace(loaded, task=task.name))
    settings = settings or ScoringSettings()
    choice = settings.choice or BY_NAMES
    choice.check_task(task.name, str(predictions))
    if settings.check:
        settings.check.require_grades(choice, task.name)
    choice = choice.resolved(None)
    check_affordable(choice, None, settings.roles, settings)
    prompts, metrics = Prompts.load(), load_metrics((*settings.metrics, *choice.metrics))
    settled = _settled(each_gold_set(items), predictions, task, choice, prompts, settings)
    settled = settled.decided(get_task(task.name, choice.variant_of(task.name)))

    def scores_of(chosen: Sequence[AnsweredItem], by: ScoringChoice) -> Scores:
        scorer = scorer_of(task, by, prompts, settled, settings.roles)
        return score_items(scorer.scored_task, chosen, scorer=scorer, metrics=metrics)

    scores, lexical = scores_of(settled.items, choice), None
    if settled.lexical is not None:
        lexical = scores_of(settled.lexical, replace(choice, matcher="lexical"))
    found = None
    if task.is_attributable:
        with without_cycle_search():
            found = tuple(attribute(item, ()) for item in settled.items)
    missing = tuple(item.question.id for item in items if item.how == MISSING)
    costs = _costs(scores, choice, settled, settings)
    return ScoredFile(scores, settled, lexical, missing, found, costs)


def _costs(
    scores: Scores, choice: ScoringChoice, settled: Settled, settings: ScoringSettings
) -> Costs | None:
    if not choice.asks:
        return None
    counts, prices = scores.counts, settings.prices or Prices.load()
    return file_costs(counts.items, counts.failed, spent_by(choice, settled), prices)


def _settled(
    items: Sequence[AnsweredItem],
    predictions: Path,
    task: Task,
    choice: ScoringChoice,
    prompts: Prompts,
    settings: ScoringSettings,
) -> Settled:
    if not choice.asks:
        return Settled(items)
    with file_judgements(predictions) as kept:
        settling = Settling(
            choice,
            kept,
            prompts,
            settings.concurrency,
            settings.progress,
            partial(check_ready, keys=settings.keys),
            settings.decoding,
            settings.keys,
            settings.roles,
            graded=task.is_graded,
            announce=settings.announce,
            check=settings.check,
            restraints=settings.restraints,
        )
        return run_blocking(settling.settle(items))
