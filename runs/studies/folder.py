"""A study's folder: the record of the study, and a run folder for each system."""

import fcntl
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Self

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from branchwise.base.atomic import write_bytes
from branchwise.base.errors import InputError
from branchwise.base.files import first_problem
from branchwise.corpora.questions import Question
from branchwise.runs.costs.kept_prices import keep_prices
from branchwise.runs.store import RunSpec, create_run
from branchwise.runs.store.connection import DATABASE

STUDY_FILE = "study.json"
DRAFT_FILE = f"{STUDY_FILE}.new"
RUNS, LOCK = "runs", "lock"
FORMAT = 2
"""The version of `study.json`; others are refused."""
_FIELDS = {
    "name": "the name",
    "task": "the task",
    "questions_digest": "the questions",
    "epochs": "the epochs",
}
_MAX_LISTED = 3


class SystemRecord(BaseModel):
    """A system of a study: `changes` from its base in the file's words, settings, and digest.

    `model`, `setting` and `base` as in `NamedSystem`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1, max_length=200)
    slug: Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]*$", max_length=100)]
    changes: Mapping[str, Any]
    system: Mapping[str, Any]
    digest: str
    model: str
    setting: str
    base: str


class StudyRecord(BaseModel):
    """`study.json`: which systems answer which questions. A base stands before what changes it.

    `study`: the study file as it was read when the folder was made.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int = FORMAT
    version: str
    name: str
    task: str
    source: str
    questions_digest: str
    epochs: int = Field(ge=1)
    systems: tuple[SystemRecord, ...] = Field(min_length=1)
    study: Mapping[str, Any] = {}

    def difference(self, other: "StudyRecord") -> str | None:
        """In a few words, why the other record is of another study; None if it is not.

        Addresses, folders and versions may differ: no answer depends on them.
        """
        found = [
            f"{words} ({_told(self, field)} there, {_told(other, field)} here)"
            for field, words in _FIELDS.items()
            if getattr(self, field) != getattr(other, field)
        ]
        there = {system.name: (system.slug, system.digest) for system in self.systems}
        here = {system.name: (system.slug, system.digest) for system in other.systems}
        changed = [name for name in here if name in there and here[name] != there[name]]
        for what, names in (
            ("only there", [name for name in there if name not in here]),
            ("only here", [name for name in here if name not in there]),
            ("changed", changed),
        ):
            if names:
                more = f" and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else ""
                found.append(f"systems {what}: {', '.join(names[:_MAX_LISTED])}{more}")
        return "; ".join(found) or None


def _told(record: StudyRecord, field: str) -> str:
    return str(getattr(record, field) or "none")[:40]


class StudyFolder:
    """A study's folder: `study.json`, and an ordinary run folder below `runs/` for each system."""

    def __init__(self, path: Path, record: StudyRecord) -> None:
        self.path, self.record = path, record

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open to read. Raises InputError where the folder contains no study."""
        file = path / STUDY_FILE
        if not file.is_file():
            what = "is not a study folder" if path.exists() else "no such study"
            raise InputError(
                what, where=str(path), remedy="name a folder that `branchwise ablate --out` made"
            )
        return cls(path, _read(file))

    @classmethod
    def create(cls, path: Path, record: StudyRecord) -> Self:
        """Make the folder, or open the one that already holds this study, to be filled.

        Nothing is removed. Raises InputError if the folder holds something else.
        """
        try:
            path.mkdir(parents=True, exist_ok=True)
            if (path / STUDY_FILE).exists():
                return cls(path, _checked(path / STUDY_FILE, record))
            _check_vacant(path)
            if (path / DRAFT_FILE).exists():
                return cls(path, _checked(path / DRAFT_FILE, record))
            write_bytes(path / DRAFT_FILE, _document(record))
            (path / RUNS).mkdir(exist_ok=True)
        except OSError as error:
            raise InputError(
                f"cannot create a study here ({error.strerror or error})",
                where=str(path),
                remedy="choose another folder with --out",
            ) from None
        return cls(path, record)

    @staticmethod
    def check(path: Path, record: StudyRecord) -> None:
        """Raise InputError where `create` does, without making anything."""
        if (path / STUDY_FILE).exists():
            _checked(path / STUDY_FILE, record)
        elif path.exists():
            _check_vacant(path)

    def fill(self, specs: Mapping[str, RunSpec], questions: Sequence[Question]) -> None:
        """Make the run folders that are missing, by slug; the study is whole when this returns.

        A run that a killed process left half-made is made again. Raises InputError.
        """
        for slug, spec in specs.items():
            path = self.run_path(slug)
            if not (path / DATABASE).exists():
                create_run(path, spec, questions)
        if (self.path / DRAFT_FILE).exists():
            # Last: with this file everything is there.
            (self.path / DRAFT_FILE).rename(self.path / STUDY_FILE)

    def keep_prices(self, path: Path | None) -> None:
        """Keep the user's prices, so that a report knows what the runs cost. Raises InputError."""
        keep_prices(self.path, path)

    def run_path(self, slug: str) -> Path:
        """The run folder of a system."""
        return self.path / RUNS / slug

    def runs(self) -> list[tuple[str, Path]]:
        """Name and run folder of each system, the base first."""
        return [(system.name, self.run_path(system.slug)) for system in self.record.systems]


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
        raise InputError(
            f"cannot be read as a study ({line.splitlines()[0][:200]})",
            where=str(file),
            remedy="restore the file, or choose another folder with --out",
        ) from None


def _checked(file: Path, record: StudyRecord) -> StudyRecord:
    """What the file says, where it is the same study; the addresses are those of now."""
    there = _read(file)
    if difference := there.difference(record):
        raise InputError(
            f"contains another study: {difference}",
            where=str(file.parent),
            remedy="choose another folder with --out",
        )
    return there


def _check_vacant(path: Path) -> None:
    """Raise InputError if the folder holds more than what a killed creation leaves."""
    if not path.is_dir():
        raise InputError("is not a folder", where=str(path), remedy="choose another --out")
    names = {entry.name for entry in path.iterdir()}
    # What `write_bytes` leaves where it is killed.
    ours = {name for name in names if name.startswith(f".{DRAFT_FILE}.")} | {LOCK}
    if DRAFT_FILE in names:
        ours |= {DRAFT_FILE, RUNS}
    if names - ours:
        raise InputError("the folder is not empty", where=str(path), remedy="choose another --out")


def _document(record: StudyRecord) -> bytes:
    return orjson.dumps(record.model_dump(mode="json"), option=orjson.OPT_INDENT_2) + b"\n"


@contextmanager
def study_lock(path: Path) -> Iterator[None]:
    """Lock the study for this process; the system releases the lock however the process ends.

    Raises InputError where another process holds it, or the folder is not one for a study.
    """
    if path.exists() and not (path / STUDY_FILE).exists():
        # Before a lock file is put into a folder that is not a study's.
        _check_vacant(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
        handle = os.open(path / LOCK, os.O_CREAT | os.O_RDWR, 0o666)
    except OSError as error:
        raise InputError(
            f"cannot be written ({error.strerror})",
            where=str(path),
            remedy="choose another folder with --out",
        ) from None
    try:
        _hold(handle, path)
        yield
    finally:
        os.close(handle)


def _hold(handle: int, path: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InputError(
            "another process is running this study",
            where=str(path),
            remedy="wait for it or stop it",
        ) from None
