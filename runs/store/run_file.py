"""A run's identity, and its file open for reading: every row that it returns is checked."""

import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import orjson

from branchwise.base.errors import InputError
from branchwise.runs.store.connection import (
    DATABASE,
    FORMAT,
    DamagedError,
    connect_to_read,
    reading,
)
from branchwise.runs.store.tables import (
    BY_ITSELF,
    COLUMNS,
    LATER,
    Layout,
    Row,
    columns_of,
    expected_schema,
    read_schema,
    unpacked,
)


@dataclass(frozen=True)
class RunSpec:
    """A run's identity. `system`: the settings as given, paths included; `identity`: all that
    answers depend on, `system_digest` its SHA-256; `scoring`: who aligns and judges, empty for
    names alone; `fork`: its parent, step and changes."""

    task: str
    source: str
    questions_digest: str
    system: Mapping[str, Any]
    identity: Mapping[str, Any]
    system_digest: str
    epochs: int
    version: str
    scoring: Mapping[str, Any] = field(default_factory=dict)
    fork: Mapping[str, Any] = field(default_factory=dict)


RUN_ID, QUESTION_COUNT, OPENING_COUNT = "run_id", "question_count", "opening_count"
"""Keys of `meta` in addition to those of `RunSpec` and the format: a number of the run's own, so
that no row of another run passes for its own, and how many questions and opening events it has."""

_AT_ONCE = 256


class RunFile:
    """A run's rows, read and checked; `tolerant`: of a damaged file, whose texts may be invalid."""

    def __init__(self, run: Path, *, tolerant: bool = False) -> None:
        self.run = run
        with reading(run):
            self.connection = connect_to_read(run / DATABASE)
            try:
                if tolerant:
                    self.connection.text_factory = lambda text: text.decode(
                        errors="surrogateescape"
                    )
                self.layout, self.meta = read_meta(self.connection, run)
                if not tolerant:
                    check_schema(self.connection, run)
                    check_of_study(run, self.meta)
            except BaseException:
                self.connection.close()
                raise

    @property
    def question_count(self) -> int:
        return int(self.meta[QUESTION_COUNT])

    @property
    def item_count(self) -> int:
        return count_items(self.meta, self.question_count)

    @property
    def opening_count(self) -> int:
        return int(self.meta[OPENING_COUNT])

    def rows(self, table: str, rest: str = "", values: Sequence[Any] = ()) -> list[Row]:
        """Rows of a table without their checksums. `rest`: what follows the table's name."""
        return list(self.each(table, rest, values))

    def each(self, table: str, rest: str = "", values: Sequence[Any] = ()) -> Iterator[Row]:
        """The same, read as needed. A table that is made later may be missing."""
        if table in LATER and not self.has(table):
            return
        columns = columns_of(table)
        for row in self.query(f"SELECT {columns} FROM {table} {rest}", values):  # noqa: S608 - names of ours
            yield self.checked(table, row)

    def checked(self, table: str, row: Row) -> Row:
        """The row as it was written, without its checksum. Raises DamagedError."""
        if values := self.layout.read(table, row):
            return values
        raise DamagedError(self.run, f"a row of {table} is not what was written")

    def of_item(self, table: str, item: int) -> list[Row]:
        """An item's events by their numbers, or its responses, packed or not."""
        order = "ORDER BY seq" if table == "events" else ""
        return self.rows(table, f"WHERE item = ? {order}", (item,)) or [
            row for name, row in self.packed_rows(item) if name == table
        ]

    def packed_rows(self, item: int) -> list[tuple[str, Row]]:
        """Table and row of everything that is packed of an item; none where it is not packed."""
        packs = self.rows("packed_items", "WHERE item = ?", (item,))
        with reading(self.run):
            return [packed for pack in packs for packed in unpacked("packed_items", pack)]

    def packed_items(self) -> list[int]:
        return [item for (item,) in self.query("SELECT item FROM packed_items ORDER BY item")]

    def query(self, sql: str, values: Sequence[Any] = ()) -> Iterator[Row]:
        with reading(self.run):
            cursor = self.connection.execute(sql, values)
        while True:
            with reading(self.run):
                rows = cursor.fetchmany(_AT_ONCE)
            if not rows:
                return
            yield from rows

    def has(self, table: str) -> bool:
        sql = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?"
        return next(self.query(sql, (table,)), None) is not None

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Queries see one state of the file, whatever is written meanwhile."""
        with reading(self.run):
            self.connection.execute("BEGIN")
        try:
            yield
        finally:
            # Nothing was written; open cursors continue.
            with suppress(sqlite3.Error):
                self.connection.commit()

    def close(self) -> None:
        self.connection.close()


def read_meta(connection: sqlite3.Connection, run: Path) -> tuple[Layout, Mapping[str, Any]]:
    """How the file's rows are written, and its settings. Raises what `reading` makes errors of."""
    rows = connection.execute("SELECT * FROM meta").fetchall()
    # The first format's rows had no checksums: they are not damaged, but of another version.
    has_checksums = all(len(row) > len(COLUMNS["meta"]) for row in rows)
    if has_checksums and not all(BY_ITSELF.read("meta", row) for row in rows):
        raise DamagedError(run, "the run's settings are not what was written")
    meta = {row[0]: orjson.loads(row[1]) for row in rows}
    if (written_by := int(meta["format"])) != FORMAT:
        is_newer = written_by > FORMAT
        version = f"{'a newer' if is_newer else 'an earlier'} version ({meta.get('version')})"
        remedy = "upgrade branchwise to read it" if is_newer else "run again"
        raise InputError(f"the run was written by {version}", where=str(run), remedy=remedy)
    required = {RUN_ID, QUESTION_COUNT, OPENING_COUNT, *(field.name for field in fields(RunSpec))}
    if missing := required - meta.keys():
        raise DamagedError(run, f"settings of the run are missing: {', '.join(sorted(missing))}")
    return Layout.of_run(meta[RUN_ID]), meta


def count_items(meta: Mapping[str, Any], questions: int) -> int:
    return questions * (1 if meta.get("fork") else int(meta["epochs"]))


def check_schema(connection: sqlite3.Connection, run: Path) -> None:
    """Raise DamagedError if the file's tables are not those of a run."""
    must, may = expected_schema()
    schema = read_schema(connection)
    if not must <= schema <= must | may:
        raise DamagedError(run, "its tables are not those of a run")


def layout_of(connection: sqlite3.Connection, run: Path) -> Layout:
    """How the rows of the run's file are written; raises as `read_meta`."""
    layout, _ = read_meta(connection, run)
    check_schema(connection, run)
    return layout


def check_of_study(run: Path, meta: Mapping[str, Any]) -> None:
    """Refuse a run that its study names as another's: swapped folders would have wrong names."""
    from branchwise.runs.studies.folder import RUNS, STUDY_FILE, StudyFolder

    folder = Path(os.path.abspath(run))  # noqa: PTH100 - a link to a run stands where it stands
    study = folder.parent.parent
    if folder.parent.name != RUNS or not (study / STUDY_FILE).is_file():
        return
    try:
        record = StudyFolder.open(study).record
    except InputError:
        return
    expected = next((system for system in record.systems if system.slug == folder.name), None)
    if expected is None:
        return
    name = record.run_name(expected)
    remedy = "put each run's own folder back, or remove this one and repeat `branchwise ablate`"
    if meta["system_digest"] != expected.digest:
        same = (each for each in record.systems if each.digest == meta["system_digest"])
        names = [record.run_name(system) for system in same]
        other = f"of the system {names[0]!r}" if names else "of a system that the study lacks"
        problem = f"the run is {other}, and the study has {name!r} here"
        raise InputError(problem, where=str(run), remedy=remedy)
    asked = record.set_of(expected)
    if (meta["questions_digest"], meta["epochs"]) != (asked.questions_digest, asked.epochs):
        problem = f"the run of {name!r} has other questions than the study {record.name!r}"
        raise InputError(problem, where=str(run), remedy=remedy)
