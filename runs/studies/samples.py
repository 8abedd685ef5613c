"""From which ended items each system is estimated: those of a pilot, or of an earlier run."""

from collections.abc import Mapping
from pathlib import Path

from branchwise.base.errors import InputError
from branchwise.runs.estimates import Sample
from branchwise.runs.options import ESTIMATE_FROM
from branchwise.runs.store.connection import DATABASE
from branchwise.runs.studies.archive import folder_runs
from branchwise.runs.studies.folder import STUDY_FILE


def samples_of(
    digests: Mapping[str, str], folder: Path | None, source: Path | None
) -> dict[str, Sample]:
    """The samples of systems by their names; `digests` say what they are.

    `folder`: where they are run, which may hold a pilot; `source`: the run or study to estimate
    from instead. Raises InputError where that holds nothing of any of them.
    """
    place = source or folder
    if place is None or (source is None and not _holds_runs(place)):
        return {}
    found: dict[str, Sample] = {}
    runs = [run for run, _ in folder_runs(place)]
    for name, digest in digests.items():
        samples = [Sample.read(run, digest, kept=source is None) for run in runs]
        known = [one for one in samples if one is not None]
        if known:
            found[name] = max(known, key=lambda one: len(one.outcomes))
    if source is not None and not found:
        raise InputError(
            f"it has no answers of {'these systems' if len(digests) > 1 else 'this system'}",
            where=f"{ESTIMATE_FROM} {source}",
            remedy="name a run of the same model, settings and corpus, or ask a few: --pilot 5",
        )
    return found


def _holds_runs(folder: Path) -> bool:
    return (folder / STUDY_FILE).is_file() or (folder / DATABASE).is_file()
