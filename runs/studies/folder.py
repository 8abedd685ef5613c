"""A study's folder: its record, and a run folder for each system and question set."""

import fcntl
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Self

import orjson
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from branchwise.base.atomic import write_bytes
from branchwise.base.errors import InputError, warn
from branchwise.base.files import first_problem
from branchwise.corpora.questions import QuestionSet
from branchwise.runs.costs.prices import keep_limit, keep_prices, kept_prices, limit_of
from branchwise.runs.store import RunReader, RunSpec, create_run
from branchwise.runs.store.connection import DATABASE
from branchwise.runs.store.merging import Recovery, recover_run
from branchwise.runs.store.new_run import is_vacant
from branchwise.runs.studies.names import run_name

STUDY_FILE = "study.json"
DRAFT_FILE = f"{STUDY_FILE}.new"
RUNS, LOCK = "runs", "lock"
FORMAT = 3
"""The version of `study.json`; others are refused."""
_OF_SETS = {"task": "the task", "questions_digest": "the questions", "epochs": "the epochs"}
_MAX_LISTED = 3
_ANOTHER_FOLDER = "choose another folder with --out"


class SetRecord(BaseModel):
    """A question set of a study, as of `StudySet`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1, max_length=200)
    task: str
    source: str
    questions_digest: str
    epochs: int = Field(ge=1)


class SystemRecord(BaseModel):
    """A system of a study, as of `NamedSystem`, and the set that it answers in the run at `slug`:
    its changes, settings and digest, which the set's task is part of."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1, max_length=200)
    slug: Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]*$", max_length=100)]
    changes: Mapping[str, Any]
    system: Mapping[str, Any]
    digest: str
    model: str
    setting: str
    base: str
    set: str


class StudyRecord(BaseModel):
    """`study.json`: which systems (a base before what changes it) answer which question sets.
    `systems`: those of each set, set by set."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int = FORMAT
    version: str
    name: str
    sets: tuple[SetRecord, ...] = Field(min_length=1)
    systems: tuple[SystemRecord, ...] = Field(min_length=1)
    study: Mapping[str, Any] = {}

    @field_validator("systems")
    @classmethod
    def _of_known_sets(
        cls, systems: tuple[SystemRecord, ...], info: ValidationInfo
    ) -> tuple[SystemRecord, ...]:
        known = {each.name for each in info.data.get("sets", ())}
        if unknown := next((each for each in systems if each.set not in known), None):
            raise ValueError(f"the system {unknown.name[:80]!r} is of no set")
        return systems

    def run_name(self, system: SystemRecord) -> str:
        """What the system's run is called among those of the study."""
        systems = len({other.name for other in self.systems})
        return run_name(system.set, system.name, len(self.sets), systems)

    @property
    def digests(self) -> dict[str, tuple[str, str]]:
        """By the runs' names the digests of their systems and questions."""
        return {
            self.run_name(each): (each.digest, self.set_of(each).questions_digest)
            for each in self.systems
        }

    def set_of(self, system: SystemRecord) -> SetRecord:
        return next(each for each in self.sets if each.name == system.set)

    def difference(self, other: "StudyRecord") -> str | None:
        """In a few words, why the other record is of another study; addresses may differ."""
        differences = [] if self.name == other.name else [_both("the name", self.name, other.name)]
        ours, theirs = ([each.name for each in of.sets] for of in (self, other))
        if ours != theirs and (len(ours), len(theirs)) != (1, 1):
            differences.append(_both("the sets", ", ".join(ours), ", ".join(theirs)))
        else:
            for old_set, new_set in zip(self.sets, other.sets, strict=True):
                of = f" of {old_set.name}" if len(ours) > 1 else ""
                differences += [
                    _both(f"{words}{of}", there, here)
                    for field, words in _OF_SETS.items()
                    if (there := getattr(old_set, field)) != (here := getattr(new_set, field))
                ]
        old, new = (
            {of.run_name(system): (system.slug, system.digest) for system in of.systems}
            for of in (self, other)
        )
        for change, names in (
            ("only there", [name for name in old if name not in new]),
            ("only here", [name for name in new if name not in old]),
            ("changed", [name for name in new if name in old and new[name] != old[name]]),
        ):
            if names:
                more = f" and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else ""
                differences.append(f"systems {change}: {', '.join(names[:_MAX_LISTED])}{more}")
        return "; ".join(differences) or None


def _both(words: str, there: object, here: object) -> str:
    return f"{words} ({str(there or 'none')[:40]} there, {str(here or 'none')[:40]} here)"


class NamedRun(NamedTuple):
    """A run by its system's name among those of its `set`; `set` is empty for the only one."""

    name: str
    path: Path
    set: str = ""


class StudyFolder:
    def __init__(self, path: Path, record: StudyRecord) -> None:
        self.path, self.record = path, record

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open to read. Raises InputError where the folder contains no study."""
        file = path / STUDY_FILE
        if not file.is_file():
            problem = "is not a study folder" if path.exists() else "no such study"
            remedy = "name a folder that `branchwise ablate --out` made"
            if (path / DRAFT_FILE).is_file():
                problem, remedy = (
                    "was stopped while it was made",
                    "repeat the command that began it",
                )
            raise InputError(problem, where=str(path), remedy=remedy)
        return cls(path, _read(file))

    @classmethod
    def create(cls, path: Path, record: StudyRecord) -> Self:
        """Make the folder, or open the one that already holds this study, to be filled."""
        try:
            path.mkdir(parents=True, exist_ok=True)
            if (path / STUDY_FILE).exists():
                return cls(path, _checked(path / STUDY_FILE, record))
            _check_vacant(path)
            if (path / DRAFT_FILE).exists():
                return cls(path, _checked(path / DRAFT_FILE, record))
            document = orjson.dumps(record.model_dump(mode="json"), option=orjson.OPT_INDENT_2)
            write_bytes(path / DRAFT_FILE, document + b"\n")
            (path / RUNS).mkdir(exist_ok=True)
        except OSError as error:
            problem = f"cannot create a study here ({error.strerror or error})"
            raise InputError(problem, where=str(path), remedy=_ANOTHER_FOLDER) from None
        return cls(path, record)

    @staticmethod
    def check(path: Path, record: StudyRecord) -> None:
        """Raise InputError where `create` does, without making anything."""
        if (path / STUDY_FILE).exists():
            _checked(path / STUDY_FILE, record)
        elif path.exists():
            _check_vacant(path)

    def fill(self, runs: Mapping[str, tuple[RunSpec, QuestionSet]]) -> None:
        """Make the run folders that are missing, by slug; the study is whole when this returns."""
        for slug, (spec, questions) in runs.items():
            path = self.run_path(slug)
            if not (path / DATABASE).exists():
                create_run(path, spec, questions.questions)
        if (self.path / DRAFT_FILE).exists():
            # Last: with this file everything is there.
            (self.path / DRAFT_FILE).rename(self.path / STUDY_FILE)

    def run_path(self, slug: str) -> Path:
        return self.path / RUNS / slug

    def runs(self) -> list[tuple[str, Path]]:
        """Name and run folder of each system, the base first; of several sets set by set."""
        record = self.record
        return [(record.run_name(each), self.run_path(each.slug)) for each in record.systems]

    def by_set(self) -> list[NamedRun]:
        """The same runs with their sets apart."""
        several = len(self.record.sets) > 1
        return [
            NamedRun(each.name, self.run_path(each.slug), each.set if several else "")
            for each in self.record.systems
        ]


def _read(file: Path) -> StudyRecord:
    try:
        fields = orjson.loads(file.read_bytes())
        if isinstance(fields, dict) and fields.get("format", 0) != FORMAT:
            is_newer = fields.get("format", 0) > FORMAT
            raise InputError(
                f"the study was written by {'a newer' if is_newer else 'an earlier'} version"
                f" ({fields.get('version')})",
                where=str(file),
                remedy="upgrade branchwise to read it" if is_newer else "run it again",
            )
        return StudyRecord.model_validate(fields)
    except (OSError, ValueError, TypeError, ValidationError) as error:
        line = first_problem(error) if isinstance(error, ValidationError) else str(error)
        problem = f"cannot be read as a study ({line.splitlines()[0][:200]})"
        remedy = f"restore the file, or {_ANOTHER_FOLDER}"
        raise InputError(problem, where=str(file), remedy=remedy) from None


def _checked(file: Path, record: StudyRecord) -> StudyRecord:
    there = _read(file)
    if difference := there.difference(record):
        problem = f"contains another study: {difference}"
        raise InputError(problem, where=str(file.parent), remedy=_ANOTHER_FOLDER)
    begun = there.study.get("metrics", ())
    if further := [spec for spec in record.study.get("metrics", ()) if spec not in begun]:
        scored = f"branchwise report {file.parent} --metric {' --metric '.join(further)}"
        warn(f"{file.parent}: was begun without {', '.join(further)}; see `{scored}`")
    return there


def _check_vacant(path: Path) -> None:
    if not path.is_dir():
        raise InputError("is not a folder", where=str(path), remedy="choose another --out")
    names = {entry.name for entry in path.iterdir()}
    # What `write_bytes` leaves where it is killed.
    ours = {name for name in names if name.startswith(f".{DRAFT_FILE}.")} | {LOCK}
    if DRAFT_FILE in names:
        ours |= {DRAFT_FILE, RUNS}
    if names - ours:
        raise InputError("the folder is not empty", where=str(path), remedy="choose another --out")


@contextmanager
def study_lock(path: Path) -> Iterator[None]:
    """Lock the study for this process; the system releases the lock however the process ends."""
    if path.exists() and not (path / STUDY_FILE).exists():
        # Before a lock file is put into a folder that is not a study's.
        _check_vacant(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
        handle = os.open(path / LOCK, os.O_CREAT | os.O_RDWR, 0o666)
    except OSError as error:
        problem = f"cannot be written ({error.strerror})"
        raise InputError(problem, where=str(path), remedy=_ANOTHER_FOLDER) from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            problem = "another process is running this study"
            raise InputError(problem, where=str(path), remedy="wait for it or stop it") from None
        yield
    finally:
        os.close(handle)


def folder_runs(path: Path) -> list[tuple[Path, str | None]]:
    """The runs of a folder, a run's or a study's, each with the digest that the study expects."""
    if not (path / STUDY_FILE).is_file():
        RunReader.check(path)
        return [(path, None)]
    study = StudyFolder.open(path)
    for _, run in study.runs():
        RunReader.check(run)
    return [(study.run_path(system.slug), system.digest) for system in study.record.systems]


def recover_folder(path: Path, out: Path, questions: QuestionSet | None) -> Iterator[Recovery]:
    """Save what is intact of a run, or of each run of a study, whose file is written last."""
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
            yield recover_run(study.run_path(system.slug), out / RUNS / system.slug, questions)
        keep_prices(out, kept_prices(path))
        write_bytes(out / STUDY_FILE, (path / STUDY_FILE).read_bytes())
    except OSError as error:
        problem = f"cannot be written ({error.strerror or error})"
        raise InputError(problem, where=str(out), remedy="choose another --out") from error


def named_runs(paths: Sequence[Path]) -> list[tuple[Path, str]]:
    """Run folders in order, each once, with distinct names; a study's stands for its runs."""
    named: dict[Path, tuple[Path, str]] = {}
    for path in paths:
        is_study = (path / STUDY_FILE).is_file()
        for name, run in StudyFolder.open(path).runs() if is_study else [("", path)]:
            named.setdefault(run.resolve(), (run, name or run.resolve().name))
    names = [name for _, name in named.values()]
    return [
        (run, name if names.count(name) == 1 else f"{resolved.parent.name}/{name}")
        for resolved, (run, name) in named.items()
    ]


MAX_PARENT, MAX_ID = 120, 40
"""Characters of the parent's name and of the question's id: forks may be forked again."""
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def default_folder(parent: Path, question: str, step: int) -> Path:
    """`PARENT-fork-ID-sN`, numbered if taken; a fork of a study's run goes beside the study."""
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
