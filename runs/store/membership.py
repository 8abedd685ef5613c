"""Whether a run in a study's folder is the one that its study names."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from branchwise.base.errors import InputError


def check_of_study(run: Path, meta: Mapping[str, Any]) -> None:
    """Raise InputError where the folder is another system's, or holds other questions: folders
    that were swapped or copied would be shown under wrong names.

    `meta`: the run's settings. A run that no study names is its own, and so is one whose study
    cannot be read, which says so itself when it is asked for.
    """
    from branchwise.runs.studies.folder import RUNS, STUDY_FILE, StudyFolder

    place = Path(os.path.abspath(run))  # noqa: PTH100 - a link to a run stands where it stands
    folder = place.parent.parent
    if place.parent.name != RUNS or not (folder / STUDY_FILE).is_file():
        return
    try:
        record = StudyFolder.open(folder).record
    except InputError:
        return
    expected = next((one for one in record.systems if one.slug == place.name), None)
    if expected is None:
        return
    remedy = "put each run's own folder back, or remove this one and repeat `branchwise ablate`"
    if meta["system_digest"] != expected.digest:
        names = [one.name for one in record.systems if one.digest == meta["system_digest"]]
        other = f"of the system {names[0]!r}" if names else "of a system that the study lacks"
        what = f"the run is {other}, and the study has {expected.name!r} here"
        raise InputError(what, where=str(run), remedy=remedy)
    if (meta["questions_digest"], meta["epochs"]) != (record.questions_digest, record.epochs):
        what = f"the run of {expected.name!r} has other questions than the study {record.name!r}"
        raise InputError(what, where=str(run), remedy=remedy)
