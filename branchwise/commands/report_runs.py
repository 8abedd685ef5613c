"""Which runs `branchwise report` shows, what it calls them, and which one is the base."""

import re
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from branchwise.base.errors import InputError, did_you_mean
from branchwise.report.terminal.console import error_console
from branchwise.runs.store import open_run
from branchwise.runs.studies.folder import STUDY_FILE, NamedRun, StudyFolder, SystemRecord

BaseOption = Annotated[
    str | None,
    typer.Option(
        "--base",
        metavar="NAME",
        help="The system that the others are compared with. Default: the first, or the study's.",
    ),
]
SystemNames = Annotated[
    list[str] | None,
    typer.Option(
        "--systems",
        metavar="NAME=NEW,...",
        help="What systems are called in tables and figures: base=Baseline,+expansion=Expanded.",
    ),
]


class NamedRuns(NamedTuple):
    """Runs by their names in tables; of a study, also its `title` and `records` of its systems."""

    runs: list[NamedRun]
    title: str | None = None
    records: tuple[SystemRecord, ...] = ()

    def named(self, names: Mapping[str, str]) -> "NamedRuns":
        """With other names, of those that have one in `names`."""
        runs = [run._replace(name=names.get(run.name, run.name)) for run in self.runs]
        records = []
        for record in self.records:
            former = {"name": record.name, "base": record.base}
            renamed = {field: names.get(name, name) for field, name in former.items()}
            records.append(record.model_copy(update=renamed))
        return self._replace(runs=runs, records=tuple(records))

    def against(self, base: str) -> "NamedRuns":
        """With one base for all, which comes first."""
        runs = sorted(self.runs, key=lambda run: run.name != base)
        records = tuple(record.model_copy(update={"base": base}) for record in self.records)
        return self._replace(runs=runs, records=records)


def named_runs(
    paths: Sequence[Path], base: str | None = None, systems: Sequence[str] = ()
) -> NamedRuns:
    """The runs of a study, if its folder is the only one given, else these runs; a study's folder
    among several stands for its runs, called by the folder where it has one system."""
    if len(paths) == 1 and (paths[0] / STUDY_FILE).is_file():
        study = StudyFolder.open(paths[0])
        runs = NamedRuns(study.by_set(), study.record.name, study.record.systems)
    else:
        labels = zip(_labels(paths), paths, strict=True)
        runs = NamedRuns([run for label, path in labels for run in _expanded(label, path)])
    known = [*dict.fromkeys(run.name for run in runs.runs)]
    names = _read_names(systems, known)
    if base is not None:
        given = {str(run.path): run.name for run in runs.runs}
        former = {new: old for old, new in names.items()} | given
        base = former.get(base, base)
        _check_known(base, known, "--base")
        runs = runs.against(base)
    renamed = runs.named(names)
    for name in names.values():
        sets = [run.set for run in renamed.runs if run.name == name]
        if len(set(sets)) < len(sets):
            problem = f"two systems would be called {name[:80]!r}"
            raise InputError(problem, where="--systems", remedy="choose another name")
    return renamed


def _expanded(label: str, path: Path) -> list[NamedRun]:
    if not (path / STUDY_FILE).is_file():
        return [NamedRun(label, path)]
    runs = StudyFolder.open(path).by_set()
    if len({run.name for run in runs}) == 1:
        return [run._replace(name=label) for run in runs]
    return [run._replace(name=f"{label}: {run.name}") for run in runs]


def _labels(paths: Sequence[Path]) -> list[str]:
    """The systems' names of a study's runs, else folder names; whole paths where two are equal."""
    for names in ([*map(_name, paths)], [path.resolve().name for path in paths]):
        if len(set(names)) == len(names):
            return names
    return [str(path) for path in paths]


def _name(path: Path) -> str:
    folder = path.resolve()
    study = folder.parent.parent
    if (study / STUDY_FILE).is_file():
        with suppress(InputError):
            for name, run in StudyFolder.open(study).runs():
                if run.resolve() == folder:
                    return name
    return folder.name


def _read_names(systems: Sequence[str], known: Sequence[str]) -> dict[str, str]:
    """ "base=Baseline,k=9, +expansion=Both": new names by the old ones, which may hold commas and
    signs themselves: of several that fit, the longest. Raises InputError."""
    longest_first = "|".join(map(re.escape, sorted(known, key=len, reverse=True)))
    olds = re.compile(rf"(?:^|,)\s*({longest_first})\s*=")
    names: dict[str, str] = {}
    for text in systems:
        before, *pairs = olds.split(text)
        own = dict(zip(pairs[::2], map(str.strip, pairs[1::2]), strict=True))
        names |= own
        # After a comma in a new name another pair was to begin.
        strays = [before, *(new.partition(",")[2] for new in own.values() if "=" in new)]
        strays += [f"{old}=" for old, new in own.items() if not new]
        for stray in filter(None, map(str.strip, strays)):
            old, _, new = stray.rpartition("=")
            if not old.strip() or not new.strip():
                problem, remedy = f"{stray[:60]!r} names no system", "write base=Baseline,k=9=Nine"
                raise InputError(problem, where="--systems", remedy=remedy)
            _check_known(old.strip(), known, "--systems")
    return names


def _check_known(name: str, known: Sequence[str], option: str) -> None:
    if name not in known:
        remedy = did_you_mean(repr(name), [*map(repr, known)])
        raise InputError(f"unknown system {name[:80]!r}", where=option, remedy=remedy)


def warn_if_pending(path: Path) -> None:
    """Say on standard error that a run is incomplete. Raises InputError if nothing ended."""
    with closing(open_run(path)) as reader:
        counts = reader.progress()
    study = path.resolve().parents[1]
    again = f"resume {study if (study / STUDY_FILE).is_file() else path}"
    if counts["pending"] == counts["total"]:
        raise InputError(
            "no item has ended yet", where=str(path), remedy=f"continue with: branchwise {again}"
        )
    if counts["pending"]:
        left = f"{counts['pending']} of {counts['total']} items have not ended and are not counted"
        line = f"{path}: {left}; continue with: branchwise {again}"
        error_console().print(line, markup=False, soft_wrap=True)
