"""New runs made of others: runs of one system joined, and what is whole of a damaged one saved.

The runs are only read. Scores are left out: scoring makes them again from the items."""

import math
import os
import shlex
import shutil
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import orjson

from branchwise.base.atomic import new_folder, room_for
from branchwise.base.errors import InputError
from branchwise.corpora.questions import Question, QuestionSet, questions_digest
from branchwise.corpora.scratch import scratch_folder
from branchwise.runs.costs.prices import keep_limit, keep_prices, kept_prices, limit_of
from branchwise.runs.store.connection import DATABASE, DamagedError
from branchwise.runs.store.new_run import begin_file, hold, new_file, places, put_question
from branchwise.runs.store.passages import StoredPassages, references
from branchwise.runs.store.reader import Place, RunReader, open_run
from branchwise.runs.store.run_file import RunFile, RunSpec, check_of_study
from branchwise.runs.store.tables import (
    ENDED,
    INSERT_PASSAGE,
    LATER,
    Row,
    columns_of,
    create_table,
    insert_into,
    pack_ended,
)
from branchwise.runs.store.verifying import ReadableRows, Survey, check_whole, survey

_SAME = {"task": "task", "epochs": "number of epochs", "scoring": "way of scoring"}


@dataclass(frozen=True)
class _Source:
    path: Path
    meta: Mapping[str, Any]
    questions: Sequence[Question]

    @classmethod
    def read(cls, path: Path) -> "_Source":
        with closing(open_run(path)) as reader:
            meta, questions = reader.meta, list(reader.questions())
        check_whole(path)
        if meta.get("fork"):
            raise InputError("is a fork of one item", where=str(path), remedy="merge whole runs")
        if not meta["system_digest"]:
            remedy = f"continue it first: branchwise resume {path}"
            problem = "was stopped before its system was open"
            raise InputError(problem, where=str(path), remedy=remedy)
        return cls(path, meta, questions)


def merge_runs(paths: Sequence[Path], out: Path) -> None:
    """Join runs at `out`, a new folder that appears when it is complete. Questions are in the order
    of the runs. Of an item that has not ended the responses are kept, and `resume` asks for the
    rest. Limits of cost are added. Raises InputError unless these are whole runs of one system over
    different questions."""
    _check_new(out)
    if not paths:
        raise InputError("no run is named", where=str(out), remedy="name the runs to join")
    sources = [_Source.read(path) for path in paths]
    for source in sources[1:]:
        _check_alike(source, sources[0])
    _check_distinct(sources)
    prices = _prices(paths)
    limits = [limit for path in paths if (limit := limit_of(path)) is not None]
    with new_folder(out) as folder:
        with new_file(folder) as connection:
            _fill(connection, sources)
        keep_prices(folder, prices)
        keep_limit(folder, math.fsum(limits) if len(limits) == len(paths) else None)
        _check_new(out)  # what another process made meanwhile would be replaced


def _check_new(out: Path) -> None:
    if out.exists():
        raise InputError("is there already", where=str(out), remedy="choose another --out")


def _check_alike(source: _Source, first: _Source) -> None:
    expected, meta = first.meta, source.meta
    differing = [
        words for key, words in _SAME.items() if (expected.get(key) or {}) != (meta.get(key) or {})
    ]
    if expected["system_digest"] != meta["system_digest"]:
        was, now = expected["identity"], meta["identity"]
        keys = sorted(key for key in was.keys() | now.keys() if was.get(key) != now.get(key))
        differing = [f"system ({', '.join(keys)})"]
    if differing:
        problem = f"is of another {differing[0]} than {first.path}"
        remedy = "merge the runs of each by themselves"
        raise InputError(problem, where=str(source.path), remedy=remedy)


def _check_distinct(sources: Sequence[_Source]) -> None:
    known: dict[str, Path] = {}
    for source in sources:
        for question in source.questions:
            if question.id in known:
                problem = f"the question {question.id[:60]!r} is in {known[question.id]}, too"
                remedy = "merge runs of different questions"
                raise InputError(problem, where=str(source.path), remedy=remedy)
            known[question.id] = source.path


def _prices(paths: Sequence[Path]) -> Path | None:
    kept = [prices for path in paths if (prices := kept_prices(path))]
    for prices in kept[1:]:
        if prices.read_bytes() != kept[0].read_bytes():
            remedy = "give all runs the same: branchwise score DIR --prices FILE"
            raise InputError(f"has other prices than {kept[0]}", where=str(prices), remedy=remedy)
    return kept[0] if kept else None


def _spec_of(meta: Mapping[str, Any]) -> RunSpec:
    return RunSpec(**{f.name: meta[f.name] for f in fields(RunSpec) if f.name in meta})


def _fill(connection: sqlite3.Connection, sources: Sequence[_Source]) -> None:
    questions = [question for source in sources for question in source.questions]
    meta = sources[0].meta
    named = ", ".join(dict.fromkeys(source.meta["source"] for source in sources))
    spec = replace(_spec_of(meta), source=named, questions_digest=questions_digest(questions))
    layout = begin_file(connection, spec, len(questions), 0)
    for n, question in enumerate(questions):
        put_question(connection, n, question)
    ids = [question.id for question in questions]
    items = {(place.question, place.epoch): place.item for place in places(spec, ids)}
    first = 0
    for source in sources:
        with closing(RunFile(source.path)) as file, file.snapshot():
            _copy(file, connection, items, first)
        pack_ended(connection, layout)
        first += len(source.questions)
    pack_ended(connection, layout, also_rest=True)


def _copy(
    file: RunFile, connection: sqlite3.Connection, items: Mapping[tuple[int, int], int], first: int
) -> None:
    """Copy a run's items and judgements; `items`: their new numbers by question and epoch."""
    passages = StoredPassages(file)
    for number, question, epoch, status, _, _, outcome in file.each("items", "ORDER BY item"):
        item, counts = items[first + question, epoch], []
        for table in ("events", "responses"):
            rows = [(item, *row[1:]) for row in file.of_item(table, number)]
            # A set's order would differ from process to process.
            hashes = (hash for row in rows for hash in references(orjson.loads(row[-1])))
            texts = passages.of(wanted := dict.fromkeys(hashes))
            connection.executemany(INSERT_PASSAGE, [texts[hash] for hash in wanted])
            connection.executemany(insert_into(table), rows)
            counts.append(len(rows) if status in ENDED else None)
        row = (item, first + question, epoch, status, *counts, outcome)
        connection.execute(insert_into("items"), row)
    connection.execute(create_table("judgements"))
    # Runs whose judge was asked the same keep the reply of the first.
    insert = insert_into("judgements", "INSERT OR IGNORE")
    connection.executemany(insert, file.each("judgements"))


_SAVED = ("passages", "questions", "items", "opening", "events", "responses", "judgements", "reach")
"""Scores and their errors are left out: scoring makes them again from the recovered items."""


@dataclass(frozen=True)
class Recovery:
    """Rows `saved` of each kind (`items`: whole ones), questions given again, items that start
    again as (id, epoch), and responses of these that are lost, as far as their rows say."""

    run: Path
    items: int
    saved: Mapping[str, int]
    questions_given: Sequence[str]
    begun_again: Sequence[tuple[str, int]]
    responses_lost: int
    damaged: Mapping[str, int]

    def to_json(self) -> dict[str, Any]:
        again = [{"id": id, "epoch": epoch} for id, epoch in self.begun_again]
        return {**vars(self), "run": str(self.run), "begun_again": again}


def recover_run(run: Path, out: Path, questions: QuestionSet | None = None) -> Recovery:
    """Make a run of what is whole in another, which is only read; `questions`: for lost ones."""
    RunReader.check(run)
    with _copied(run) as copy:
        try:
            file = RunFile(copy, tolerant=True)
        except DamagedError:
            problem = "the run's settings are lost; without them it cannot be used"
            remedy = "restore the file, or run again"
            raise InputError(problem, where=str(run / DATABASE), remedy=remedy) from None
        with closing(file), new_file(out) as connection:
            return _Recovering(connection, file, run).fill(out, questions)


@contextmanager
def _copied(run: Path) -> Iterator[Path]:
    """A folder with a copy of the run's file and log: reading may change the latter."""
    handle = hold(run) if os.access(run, os.W_OK) else None
    try:
        with scratch_folder("branchwise-recover-") as folder:
            for name in (DATABASE, f"{DATABASE}-wal"):
                if (run / name).exists():
                    with room_for(folder / name):
                        shutil.copyfile(run / name, folder / name)
            yield folder
    finally:
        if handle is not None:
            os.close(handle)


class _Recovering:
    def __init__(self, connection: sqlite3.Connection, old: RunFile, run: Path) -> None:
        self._new, self._old, self._run = connection, old, run
        self._remains = ReadableRows(old)
        check_of_study(run, old.meta)
        self._spec = _spec_of(old.meta)
        self._layout = begin_file(connection, self._spec, old.question_count, old.opening_count)

    def fill(self, out: Path, questions: QuestionSet | None) -> Recovery:
        for table in LATER:
            self._new.execute(create_table(table))
        for table in _SAVED:
            self._new.executemany(insert_into(table, "INSERT OR IGNORE"), self._remains(table))
        self._new.execute("DELETE FROM items WHERE item > ?", (self._old.item_count,))
        self._new.execute(
            """DELETE FROM events WHERE seq >=
            (SELECT items.events FROM items WHERE items.item = events.item)"""
        )
        given = self._add_questions(questions)
        # A started item of a fork has its opening as its first events.
        sql = "SELECT seq, kind, at, body FROM events WHERE item = 1 AND seq < ?"
        rows = self._new.execute(sql, (self._old.opening_count,)).fetchall()
        self._new.executemany(insert_into("opening", "INSERT OR IGNORE"), rows)
        content = self._survey()
        if content.opening < self._old.opening_count:
            problem, where = "the events that this fork starts with are lost", self._run / DATABASE
            raise InputError(problem, where=str(where), remedy="make the fork again")
        ids = [content.questions[n] for n in range(self._old.question_count)]
        items = places(self._spec, ids)
        ended = {item for item, state in content.items.items() if state.status in ENDED}
        kept = ended.intersection(content.whole)
        again = [place for place in items if place.item not in kept]
        self._begin_again(again)
        begun, responses_lost = [], 0
        for place in again:
            state = content.items.get(place.item)
            # An item that was never run has nothing to lose.
            if state is None or state.status != "pending":
                begun.append((content.questions[place.question], place.epoch))
            if state and state.responses:
                left = self._count("responses WHERE item = ?", place.item)
                responses_lost += max(0, state.responses - left)
        tables = ("questions", "events", "responses", "passages", "judgements")
        saved = {"items": len(kept)} | {table: self._count(table) for table in tables}
        pack_ended(self._new, self._layout, also_rest=True)
        damaged = dict(+self._remains.damaged)
        return Recovery(out, len(items), saved, given, begun, responses_lost, damaged)

    def _survey(self) -> Survey:
        return survey(self._rows, self._old.meta)

    def _rows(self, table: str) -> Iterator[Row]:
        sql = f"SELECT {columns_of(table)} FROM {table}"  # noqa: S608 - names of ours
        yield from filter(None, (self._layout.read(table, row) for row in self._new.execute(sql)))

    def _add_questions(self, questions: QuestionSet | None) -> list[str]:
        lost = self._survey().lost_questions
        if not lost:
            return []
        count = self._old.question_count
        # The run's may be only the first ones of its set.
        whole = questions.questions[:count] if questions else ()
        if questions_digest(whole) != self._spec.questions_digest:
            source = shlex.quote(self._spec.source)
            problem = f"questions of the run are lost ({len(lost)} of {count})"
            raise InputError(
                f"{problem}, and these are others" if questions else problem,
                where=questions.source if questions else str(self._run / DATABASE),
                remedy=f"give exactly the run's questions: --questions {source}",
            )
        for n in lost:
            self._new.execute("DELETE FROM questions WHERE n = ?", (n,))
            put_question(self._new, n, whole[n])
        return [whole[n].id for n in lost]

    def _begin_again(self, again: Sequence[Place]) -> None:
        passages = {row[0] for row in self._rows("passages")}
        for place in again:
            self._new.execute("DELETE FROM events WHERE item = ?", (place.item,))
            sql = "SELECT rowid, body FROM responses WHERE item = ?"
            rows = self._new.execute(sql, (place.item,)).fetchall()
            broken = [
                row for row, body in rows if not passages.issuperset(references(orjson.loads(body)))
            ]
            for row in broken:
                self._new.execute("DELETE FROM responses WHERE rowid = ?", (row,))
            state = "running" if len(rows) > len(broken) else "pending"
            insert = insert_into("items", "INSERT OR REPLACE")
            self._new.execute(insert, (*place, state, None, None, None))

    def _count(self, rows: str, *values: int) -> int:
        ((count,),) = self._new.execute(f"SELECT COUNT(*) FROM {rows}", values)  # noqa: S608 - names of ours
        return int(count)
