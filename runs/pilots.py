"""A pilot: a few questions of a run, asked first, from which the rest is estimated.

Its replies are the run's own: the run goes on in the same folder and asks for none of them again.
"""

import random
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from branchwise.corpora.questions import Question

_MARK = "pilot"


def pilot_ids(questions: Sequence[Question], count: int) -> frozenset[str]:
    """The questions of a pilot: one of each share of the set, from few gold answers to many.

    Stratified by what is known of a question beforehand; within a share it is a draw that depends
    on the ids alone.
    """
    ordered = sorted(questions, key=_size)
    shares = min(count, len(ordered))
    drawn = random.Random("\n".join(sorted(question.id for question in questions)))
    bounds = [len(ordered) * n // shares for n in range(shares + 1)]
    chosen = (ordered[drawn.randrange(first, end)] for first, end in pairwise(bounds))
    return frozenset(question.id for question in chosen)


def _size(question: Question) -> tuple[int, int, str]:
    answers = sum(len(branch.answers) for branch in question.branches)
    return answers, len(question.question), question.id


def mark_pilot(run: Path) -> None:
    """Say that a run folder holds a pilot so far, which the same command continues."""
    (run / _MARK).touch()


def unmark_pilot(run: Path) -> None:
    """The run goes on as a whole."""
    (run / _MARK).unlink(missing_ok=True)


def is_pilot(run: Path) -> bool:
    """Whether a run folder holds a pilot so far."""
    return (run / _MARK).is_file()
