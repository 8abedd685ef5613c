"""The folder of a fork: beside its parent, under a descriptive name."""

import re
from pathlib import Path

from branchwise.runs.store.new_run import is_vacant
from branchwise.runs.studies.folder import RUNS, STUDY_FILE

MAX_PARENT, MAX_ID = 120, 40
"""Characters of the parent's name and of the question's id: forks may be forked again."""
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def default_folder(parent: Path, question: str, step: int) -> Path:
    """`PARENT-fork-ID-sN`, numbered if taken, but not if only a half-made, killed fork has it.

    A study's folder of runs holds only its own runs: a fork of one goes beside the study.
    """
    parent = parent.resolve()
    beside, name = parent.parent, parent.name[:MAX_PARENT]
    if beside.name == RUNS and (beside.parent / STUDY_FILE).is_file():
        name = f"{beside.parent.name[:MAX_PARENT]}-{name}"
        beside = beside.parent.parent
    id = _UNSAFE.sub("-", question).strip("-.")[:MAX_ID] or "question"
    path = first = beside / f"{name}-fork-{id}-s{step}"
    number = 2
    while path.exists() and not is_vacant(path):
        path = first.with_name(f"{first.name}-{number}")
        number += 1
    return path
