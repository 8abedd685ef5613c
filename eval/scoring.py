"""Scoring a run: read its items, score them with its task, keep the result beside it."""

import warnings
from pathlib import Path

from branchwise.eval.experiment import Run
from branchwise.eval.scores import Scores, score_items
from branchwise.eval.store import StoreError, open_run
from branchwise.eval.tasks import get_task


def score(run: Run | Path | str) -> Scores:
    """Score every item of a run that has ended, and save the scores in the run folder.

    Failed items count 0; items that have not ended are not counted (`branchwise resume` first).
    Where the folder cannot be written (an archive, a full disk), a warning says so.
    """
    path = run.path if isinstance(run, Run) else Path(run)
    reader = open_run(path)
    try:
        scores = score_items(get_task(reader.task), reader.answered_items())
    finally:
        # Before the scores are written: the last to close folds the WAL back.
        reader.close()
    try:
        reader.save_scores(scores.digest, scores.to_json())
    except StoreError as error:
        warnings.warn(str(error), stacklevel=2)
    return scores
