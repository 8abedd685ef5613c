"""Scoring a predictions file: anyone's answers, without a trace."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from branchwise.agents.prompt_files import Prompts
from branchwise.corpora.loaders import load_questions
from branchwise.eval.blocking import run_blocking
from branchwise.eval.items import AnsweredItem
from branchwise.eval.judging.scorers import scorer_of
from branchwise.eval.judging.settle import Settled, Settling
from branchwise.eval.predictions_file import read_predictions
from branchwise.eval.scores import Scores, score_items
from branchwise.eval.scoring_choice import BY_NAMES, ScoringChoice
from branchwise.eval.store.judgements import file_judgements
from branchwise.eval.tasks import get_task


@dataclass(frozen=True)
class ScoredFile:
    """Scores of a predictions file; `lexical` where both matchers were asked for."""

    scores: Scores
    settled: Settled
    lexical: Scores | None = None

    def to_json(self) -> dict[str, Any]:
        """JSON-serialisable: the scores' own keys, `models` and `lexical`."""
        return {
            **self.scores.to_json(),
            "models": self.settled.to_json(),
            "lexical": self.lexical.to_json() if self.lexical else None,
        }


def score_predictions(
    questions: str,
    predictions: Path,
    task_name: str | None = None,
    choice: ScoringChoice = BY_NAMES,
    *,
    concurrency: int = 8,
) -> ScoredFile:
    """Score `{"id", "answers"}` lines against a question set.

    What models said is kept in `PREDICTIONS.judgements.sqlite`. Raises InputError for bad input,
    ModelError where no request to a matcher or judge can be answered.
    """
    loaded = load_questions(questions)
    task = get_task(task_name or loaded.task)
    items = read_predictions(predictions, replace(loaded, task=task.name))
    choice.check_task(task.name, str(predictions))
    resolved = choice.resolved(None)
    prompts = Prompts.load()
    settled = _settled(items, predictions, resolved, prompts, concurrency)

    def scores_of(chosen: Sequence[AnsweredItem], by: ScoringChoice) -> Scores:
        return score_items(task, chosen, scorer=scorer_of(task, by, prompts))

    lexical = None
    if settled.lexical is not None:
        lexical = scores_of(settled.lexical, replace(resolved, matcher="lexical"))
    return ScoredFile(scores_of(settled.items, resolved), settled, lexical)


def _settled(
    items: Sequence[AnsweredItem],
    predictions: Path,
    choice: ScoringChoice,
    prompts: Prompts,
    concurrency: int,
) -> Settled:
    if not choice.asks:
        return Settled(items)
    with file_judgements(predictions) as kept:
        return run_blocking(Settling(choice, kept, prompts, concurrency).settle(items))
