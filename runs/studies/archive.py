"""The runs of folders that may be a run's or a study's: to look at, verify or recover."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from branchwise.base.atomic import write_bytes
from branchwise.base.errors import InputError
from branchwise.corpora.questions import QuestionSet
from branchwise.runs.costs.kept_prices import keep_limit, keep_prices, kept_prices, limit_of
from branchwise.runs.store import RunReader
from branchwise.runs.store.salvage import Recovery, recover_run
from branchwise.runs.studies.folder import RUNS, STUDY_FILE, StudyFolder


def folder_runs(path: Path) -> list[tuple[Path, str | None]]:
    """The runs of a folder, each with the digest that its system has in the study, if in any.

    Raises InputError where it is neither a run's folder nor a study's, or where a run is missing.
    """
    if not (path / STUDY_FILE).is_file():
        RunReader.check(path)
        return [(path, None)]
    study = StudyFolder.open(path)
    runs = [(study.run_path(system.slug), system.digest) for system in study.record.systems]
    for run, _ in runs:
        RunReader.check(run)
    return [*runs]


def recover_folder(path: Path, out: Path, questions: QuestionSet | None) -> Iterator[Recovery]:
    """Save what is intact of a run, or of each run of a study; yields the outcome of each.

    A study's file is written last: the folder is a study only once all its runs are there. Raises
    InputError as `recover_run`, and where a study's folder is not empty.
    """
    if not (path / STUDY_FILE).is_file():
        yield recover_run(path, out, questions)
        keep_prices(out, kept_prices(path))
        keep_limit(out, limit_of(path))
        return
    study = StudyFolder.open(path)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError("the folder is not empty", where=str(out), remedy="choose another --out")
    try:
        for system in study.record.systems:
            run = study.run_path(system.slug)
            yield recover_run(run, out / RUNS / system.slug, questions)
        keep_prices(out, kept_prices(path))
        write_bytes(out / STUDY_FILE, (path / STUDY_FILE).read_bytes())
    except OSError as error:
        raise InputError(
            f"cannot be written ({error.strerror or error})",
            where=str(out),
            remedy="choose another --out",
        ) from error


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
