"""A run folder open for reading: works beside a writer, after a kill, and on an ended run."""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from branchwise.agents.journal import CallKey
from branchwise.agents.prediction import Prediction
from branchwise.corpora.errors import InputError
from branchwise.corpora.questions import Question
from branchwise.eval.evidence import Evidence
from branchwise.eval.items import AnsweredItem
from branchwise.eval.store.connection import (
    DATABASE,
    DRAFT,
    FORMAT,
    connect_to_read,
    log_is_out_of_reach,
)
from branchwise.eval.store.folding import references, unfold, unfold_question
from branchwise.eval.store.item_rows import ItemRows
from branchwise.eval.store.passages import StoredPassages

_MAX_NAMED = 5


class Event(NamedTuple):
    """One step of a trace. `at`: seconds since 1970. `data`: as it was given to the journal."""

    seq: int
    kind: str
    at: float
    data: Mapping[str, Any]


class ItemRow(NamedTuple):
    """An item of any status; `outcome` is there once it has ended."""

    item: int
    question: Question
    epoch: int
    status: str
    outcome: Mapping[str, Any] | None


class RunReader:
    """Read access to one run. Use `open_run`; close it, or let it go."""

    def __init__(self, path: Path, connection: sqlite3.Connection, meta: Mapping[str, Any]) -> None:
        self.path, self._connection, self.meta = path, connection, meta
        self.name = path.resolve().name
        self.task: str = meta["task"]
        self.system: Mapping[str, Any] = meta["system"]
        self.rows = ItemRows(connection)
        self._passages = StoredPassages(connection)

    @staticmethod
    def check(path: Path) -> None:
        """Raise InputError unless the folder holds a run."""
        if not (path / DATABASE).is_file():
            what = "is not a run folder" if path.exists() else "there is no such run"
            remedy = "name a folder that `branchwise run --out` made"
            if (path / DRAFT).exists():
                what, remedy = "the run was killed as it was made", "make it again: nothing is lost"
            if runs := sorted(str(file.parent) for file in path.glob(f"runs/*/{DATABASE}")):
                # A study's folder.
                more = f" and {len(runs) - _MAX_NAMED} more" if len(runs) > _MAX_NAMED else ""
                remedy = f"name one of its runs: {', '.join(runs[:_MAX_NAMED])}{more}"
            raise InputError(what, where=str(path), remedy=remedy)

    @classmethod
    def open(cls, path: Path) -> "RunReader":
        """Open a run; InputError where the folder holds none, or one of a newer version."""
        cls.check(path)
        connection: sqlite3.Connection | None = None
        try:
            connection = connect_to_read(path / DATABASE)
            rows = connection.execute("SELECT key, value FROM meta").fetchall()
            meta = {key: orjson.loads(value) for key, value in rows}
            written_by = int(meta["format"])
        except (sqlite3.Error, ValueError, TypeError, KeyError) as error:
            if connection:
                connection.close()
            remedy = "restore the file, or run again into another folder"
            if log_is_out_of_reach(path / DATABASE):
                remedy = (
                    "the run was cut off: to read it, copy the folder to where it can be written"
                )
            raise InputError(
                f"{DATABASE} cannot be read as a run ({error})", where=str(path), remedy=remedy
            ) from error
        if written_by > FORMAT:
            raise InputError(
                f"the run was written by a newer version ({meta.get('version')})",
                where=str(path),
                remedy="upgrade branchwise to read it",
            )
        return cls(path, connection, meta)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def progress(self) -> dict[str, int]:
        """Number of items: total, done, failed, pending (running ones count as pending)."""
        counts = dict(
            self._connection.execute("SELECT status, COUNT(*) FROM items GROUP BY status")
        )
        done, failed = counts.get("done", 0), counts.get("failed", 0)
        total = sum(counts.values())
        return {"total": total, "done": done, "failed": failed, "pending": total - done - failed}

    def question(self, n: int) -> Question:
        """The question with number `n` (position in the set)."""
        sql = "SELECT body FROM questions WHERE n = ?"
        body = self._connection.execute(sql, (n,)).fetchone()[0]
        return unfold_question(body, self._passages)

    def questions(self) -> Iterator[Question]:
        """All questions in order."""
        bodies = self._connection.execute("SELECT body FROM questions ORDER BY n").fetchall()
        for (body,) in bodies:
            yield unfold_question(body, self._passages)

    def items_with_status(self, statuses: Sequence[str]) -> list[tuple[int, int, int, str]]:
        """(item, question number, epoch, status) of the items in these states, in order."""
        marks = ", ".join("?" * len(statuses))
        sql = f"SELECT item, question, epoch, status FROM items WHERE status IN ({marks})"  # noqa: S608 - only question marks are inserted
        return self._connection.execute(f"{sql} ORDER BY item", statuses).fetchall()

    def items(self) -> Iterator[ItemRow]:
        """All items in order, ended or not."""
        questions = dict(enumerate(self.questions()))
        sql = "SELECT item, question, epoch, status, outcome FROM items ORDER BY item"
        for item, n, epoch, status, outcome in self._connection.execute(sql):
            loaded = orjson.loads(outcome) if outcome else None
            yield ItemRow(item, questions[n], epoch, status, loaded)

    def answered_items(self) -> Iterator[AnsweredItem]:
        """The items that ended, as scorers read them."""
        for row in self.items():
            if row.outcome is not None:
                yield AnsweredItem(
                    item=row.item,
                    question=row.question,
                    prediction=Prediction.model_validate(row.outcome["prediction"]),
                    epoch=row.epoch,
                    evidence=Evidence(tuple(row.outcome["evidence"])),
                    how=row.outcome["how"],
                    error=row.outcome.get("error"),
                )

    def events(self, item: int, *, contents: bool = True) -> Iterator[Event]:
        """The trace of an item, in order, passages filled in.

        Without `contents`, a tool result that only shows the passages of its artifact has "" for
        `content`: for readers of artifacts, who are done a sixth sooner.
        """
        sql = "SELECT seq, kind, at, body FROM events WHERE item = ? ORDER BY seq"
        rows = self._connection.execute(sql, (item,)).fetchall()
        unfolded = self._unfolded([row[3] for row in rows], contents=contents)
        for (seq, kind, at, _), data in zip(rows, unfolded, strict=True):
            yield Event(seq, kind, at, data)

    def opening(self) -> Iterator[Event]:
        """The events that a fork's item begins with; none in other runs."""
        if not self.meta.get("fork"):
            return
        sql = "SELECT seq, kind, at, body FROM opening ORDER BY seq"
        rows = self._connection.execute(sql).fetchall()
        for (seq, kind, at, _), data in zip(
            rows, self._unfolded([row[3] for row in rows]), strict=True
        ):
            yield Event(seq, kind, at, data)

    def module_events(self) -> Iterator[Event]:
        """What expansion, extraction and nodes did in the items that ended, in order, without the
        rest of traces; passages are left folded."""
        if not any(self.system.get(name) for name in ("expand", "extract", "nodes")):
            return
        sql = """SELECT seq, kind, at, events.body FROM items JOIN events USING (item)
            WHERE status IN ('done', 'failed') AND kind IN ('expansion', 'extraction', 'node')
            ORDER BY item, seq"""
        for seq, kind, at, body in self._connection.execute(sql):
            yield Event(seq, kind, at, orjson.loads(body))

    def responses(self, item: int) -> dict[tuple[CallKey, int], Mapping[str, Any]]:
        """The recorded responses of an item by key and occurrence."""
        sql = "SELECT kind, role, digest, occurrence, body FROM responses WHERE item = ?"
        rows = self._connection.execute(sql, (item,)).fetchall()
        return {
            (CallKey(kind, role, digest), occurrence): response
            for (kind, role, digest, occurrence, _), response in zip(
                rows, self._unfolded([row[4] for row in rows]), strict=True
            )
        }

    def model_usage(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Role and tokens of every recorded model reply, of items that have not ended, too."""
        sql = "SELECT role, body FROM responses WHERE kind = 'model'"
        for role, body in self._connection.execute(sql):
            yield role, orjson.loads(body)["usage"]

    def saved_scores(self, scorer_digest: str) -> Mapping[str, Any] | None:
        """Scores that were saved under this scorer's digest."""
        return self._result("SELECT body FROM scores WHERE digest = ?", (scorer_digest,))

    def saved_errors(self, scorer_digest: str, item: int) -> Mapping[str, Any] | None:
        """Where an item's answers were lost, as it was kept with these scores."""
        sql = "SELECT body FROM item_errors WHERE scorer = ? AND item = ?"
        return self._result(sql, (scorer_digest, item))

    def kept_reach(self, key: str) -> Mapping[str, Any] | None:
        """What was looked up of the run's corpus and graph (`eval.ceilings.reach`)."""
        return self._result("SELECT body FROM reach WHERE key = ?", (key,))

    def _result(self, sql: str, key: tuple[Any, ...]) -> Mapping[str, Any] | None:
        try:
            row = self._connection.execute(sql, key).fetchone()
        except sqlite3.OperationalError as error:
            # Tables of results are made when they are first filled.
            if "no such table" not in str(error):
                raise
            return None
        return orjson.loads(row[0]) if row else None

    def _unfolded(
        self, bodies: Iterable[bytes], *, contents: bool = True
    ) -> Iterator[dict[str, Any]]:
        """Records of one item as they were given; all their passages are read at once."""
        try:
            records = [orjson.loads(body) for body in bodies]
            self._passages.load(hash for record in records for hash in references(record))
            unfolded = [unfold(record, self._passages, contents=contents) for record in records]
        except (ValueError, LookupError, TypeError) as error:
            raise InputError(
                f"a record of the run is damaged ({type(error).__name__}: {str(error)[:100]})",
                where=str(self.path / DATABASE),
                remedy="restore the file, or run again into another folder",
            ) from error
        yield from unfolded


def open_run(path: Path) -> RunReader:
    """Open a run folder for reading; raises InputError where it holds no run."""
    return RunReader.open(path)
