"""Making a run: its folder, its file, its settings, its questions and its pending items."""

import fcntl
import os
import secrets
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson

from branchwise.base.atomic import give_usual_mode
from branchwise.base.errors import InputError
from branchwise.corpora.questions import Question
from branchwise.runs.store.connection import DATABASE, DRAFT, FORMAT, PAGE_SIZE, transaction
from branchwise.runs.store.passages import fold, fold_question
from branchwise.runs.store.reader import Place
from branchwise.runs.store.run_file import OPENING_COUNT, QUESTION_COUNT, RUN_ID, RunSpec
from branchwise.runs.store.tables import (
    BY_ITSELF,
    INSERT_PASSAGE,
    PACKS,
    Layout,
    create_table,
    insert_into,
    pack_passages,
    schema,
)
from branchwise.trace.events import Event

LOCK = "lock"


def create_run(
    path: Path, spec: RunSpec, questions: Sequence[Question], opening: Sequence[Event] = ()
) -> None:
    """Make a run folder with all its items pending; `opening`: a fork's first events."""
    with new_file(path) as connection:
        layout = begin_file(connection, spec, len(questions), len(opening))
        for n, question in enumerate(questions):
            put_question(connection, n, question)
        ids = [question.id for question in questions]
        rows = [(*place, "pending", None, None, None) for place in places(spec, ids)]
        connection.executemany(insert_into("items"), rows)
        if spec.fork:
            # Not yet events of the item: each attempt starts with a copy, and a killed one leaves
            # them unchanged.
            connection.execute(create_table("opening"))
        for seq, event in enumerate(opening):
            slim, passages = fold(event.data)
            connection.executemany(INSERT_PASSAGE, passages)
            row = (seq, event.kind, event.at, orjson.dumps(slim))
            connection.execute(insert_into("opening"), row)
        pack_passages(connection, layout)


@contextmanager
def new_file(path: Path) -> Iterator[sqlite3.Connection]:
    """A run's file with its tables, to be filled; it appears under its name when it is complete."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        check_vacant(path)
        lock = hold(path)
        try:
            check_vacant(path)
            with _draft(path / DRAFT) as connection:
                yield connection
            (path / DRAFT).rename(path / DATABASE)
        finally:
            os.close(lock)
    except (OSError, sqlite3.Error) as error:
        problem = f"cannot make a run here ({error})"
        remedy = "choose another folder with --out"
        raise InputError(problem, where=str(path), remedy=remedy) from error


@contextmanager
def _draft(file: Path) -> Iterator[sqlite3.Connection]:
    # Start again on what a process killed right here has left.
    file.unlink(missing_ok=True)
    connection = sqlite3.connect(file, isolation_level=None)
    try:
        # A failed draft is discarded: a rollback journal would only be left behind.
        connection.execute("PRAGMA journal_mode = OFF")
        give_usual_mode(file)
        # Some twenty tables and indexes, most of them small, take a page each.
        connection.execute(f"PRAGMA page_size = {PAGE_SIZE}")
        # Packed rows leave room inside the file, which is given back when it is closed.
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.executescript(f"BEGIN; {schema()}")
        yield connection
        connection.execute("COMMIT")
        connection.executescript("PRAGMA incremental_vacuum")
    except BaseException:
        file.unlink(missing_ok=True)
        raise
    finally:
        connection.close()


def begin_file(
    connection: sqlite3.Connection, spec: RunSpec, questions: int, opening: int
) -> Layout:
    """Write the run's settings into a new file; returns how its rows are written."""
    run_id = secrets.token_hex(8)
    meta = {"format": FORMAT, RUN_ID: run_id, QUESTION_COUNT: questions, OPENING_COUNT: opening}
    meta |= asdict(spec)
    BY_ITSELF.enable(connection)
    rows = [(key, orjson.dumps(value).decode()) for key, value in meta.items()]
    connection.executemany(insert_into("meta"), rows)
    layout = Layout.of_run(run_id)
    layout.enable(connection)
    for table in PACKS:
        connection.execute(create_table(table))
    return layout


def put_question(connection: sqlite3.Connection, n: int, question: Question) -> None:
    body, passages = fold_question(question)
    connection.execute(insert_into("questions"), (n, question.id, body))
    connection.executemany(INSERT_PASSAGE, passages)


def places(spec: RunSpec, questions: Sequence[str]) -> list[Place]:
    """The items of a run over the questions with these ids."""
    # A fork's item keeps its epoch, which identifies the original item.
    epochs = [spec.fork["epoch"]] if spec.fork else range(spec.epochs)
    pairs = ((n, epoch) for epoch in epochs for n in range(len(questions)))
    return [Place(item, *pair) for item, pair in enumerate(pairs, 1)]


def is_vacant(path: Path) -> bool:
    """Whether a folder holds no more than a process leaves that was killed before it made a run."""
    return path.is_dir() and {entry.name for entry in path.iterdir()} <= {LOCK, DRAFT}


def check_vacant(path: Path) -> None:
    """Raise InputError if a folder is there and holds more than a killed process leaves."""
    if not path.exists() or is_vacant(path):
        return
    remedy = "choose another --out"
    if (path / DATABASE).exists():
        remedy = f"continue it with `branchwise resume {path}` or {remedy}"
    raise InputError("the folder is not empty", where=str(path), remedy=remedy)


def hold(path: Path) -> int:
    """Lock the run folder for this process; the system releases it however the process ends."""
    try:
        handle = os.open(path / LOCK, os.O_CREAT | os.O_RDWR, 0o666)
    except OSError as error:
        problem = f"cannot be written ({error.strerror})"
        remedy = "make the folder writable, or work on a copy of it"
        raise InputError(problem, where=str(path), remedy=remedy) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        problem = "another process is writing this run"
        remedy = "wait for it or stop it; then resume"
        raise InputError(problem, where=str(path), remedy=remedy) from None
    return handle


def complete_spec(run: Path, identity: Mapping[str, Any], digest: str) -> None:
    """Write what answers depend on, which `RunSpec` left empty until the system was open."""
    settings = {"identity": identity, "system_digest": digest}
    rows = [(key, orjson.dumps(value).decode()) for key, value in settings.items()]
    with transaction(run, "the run cannot be written") as connection:
        BY_ITSELF.enable(connection)
        connection.executemany(insert_into("meta", "INSERT OR REPLACE"), rows)
