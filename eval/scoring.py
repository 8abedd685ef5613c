"""Scoring a run: read its items, score them with its task, keep the result beside it."""

import warnings
from dataclasses import replace
from pathlib import Path

from branchwise.eval.experiment import Run
from branchwise.eval.scores import Scores, score_items
from branchwise.eval.store import RunReader, StoreError, open_run
from branchwise.eval.tasks import get_task


def score(run: Run | Path | str) -> Scores:
    """Score every item of a run that has ended, and save the scores in the run folder.

    Failed items count 0; items that have not ended are in no mean (`Counts.pending` says how
    many; `branchwise resume` first). Where the folder cannot be written, a warning says so.
    """
    reader = open_run(run.path if isinstance(run, Run) else Path(run))
    scores = _scored(reader)
    try:
        # Behind the reader's end: the last connection to close folds the write-ahead log back.
        reader.save_scores(scores.digest, scores.to_json())
    except StoreError as error:
        warnings.warn(str(error), stacklevel=2)
    return scores


def read_scores(path: Path) -> Scores:
    """The same without saving."""
    return _scored(open_run(path))


def _scored(reader: RunReader) -> Scores:
    try:
        scores = score_items(get_task(reader.task), reader.answered_items())
        counts = replace(scores.counts, pending=reader.progress()["pending"])
        return replace(scores, counts=counts)
    finally:
        reader.close()
