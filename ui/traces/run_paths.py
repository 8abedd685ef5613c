"""Which run folders are meant by the paths that somebody names, and what to call each."""

from collections.abc import Sequence
from pathlib import Path

from branchwise.eval.studies.folder import STUDY_FILE, StudyFolder


def named_runs(paths: Sequence[Path]) -> list[tuple[Path, str]]:
    """Run folders in order, each once, with names that tell them apart.

    A study's folder stands for its runs, base first, under its systems' names. Raises InputError
    where a study cannot be read.
    """
    found: dict[Path, tuple[Path, str]] = {}
    for path in paths:
        runs = [("", path)]
        if (path / STUDY_FILE).is_file():
            runs = StudyFolder.open(path).runs()
        for name, run in runs:
            found.setdefault(run.resolve(), (run, name or run.resolve().name))
    names = [name for _, name in found.values()]
    return [
        (run, name if names.count(name) == 1 else f"{resolved.parent.name}/{name}")
        for resolved, (run, name) in found.items()
    ]
