"""A run folder open for reading: works beside a writer, after a kill, and on an ended run."""

import hashlib
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from sys import intern
from typing import Any, NamedTuple

import orjson

from branchwise.agents.journal import CallKey
from branchwise.agents.prediction import Prediction
from branchwise.agents.reply import CUT
from branchwise.base.errors import InputError
from branchwise.corpora.questions import Question
from branchwise.eval.items import AnsweredItem, Evidence
from branchwise.graphs.ledger import AGENT
from branchwise.runs.store.connection import DATABASE, DRAFT, DamagedError, check_line, reading
from branchwise.runs.store.passages import StoredPassages, references, unfold, unfold_question
from branchwise.runs.store.run_file import RunFile
from branchwise.runs.store.tables import COLUMNS, ENDED, PACKED, Row, columns_of
from branchwise.trace.events import Event


class Place(NamedTuple):
    """Where an item stands: its number, its question's number in the set, its epoch."""

    item: int
    question: int
    epoch: int


class RawItem(NamedTuple):
    """An item as stored: `body` is the question's record, passages as references."""

    item: int
    id: str
    epoch: int
    status: str
    body: bytes
    outcome: bytes | None


class ItemRows:
    """Light queries on one run: each reads to its end, so that no cursor pins the file's state."""

    def __init__(self, file: RunFile) -> None:
        self._file = file

    def version(self) -> int:
        """Changes whenever another connection has committed; costs almost nothing."""
        ((version,),) = self._file.query("PRAGMA data_version")
        return int(version)

    def places(self) -> list[Place]:
        # In the index's order, so that rows with their outcomes are not read.
        sql = "SELECT item, question, epoch FROM items ORDER BY question, epoch"
        places = sorted(Place(*row) for row in self._file.query(sql))
        if self._file.item_count != len(places):
            raise DamagedError(self._file.run, f"{len(places)} items of {self._file.item_count}")
        return places

    def statuses(self) -> dict[int, str]:
        """Item to status, from the index alone."""
        # The condition is always true; it makes SQLite use the index.
        return dict(self._file.query("SELECT item, status FROM items WHERE status >= ''"))

    def between(self, first: int, last: int) -> list[RawItem]:
        """The items with these numbers and those between them."""
        width = len(COLUMNS["items"]) + 1
        columns = f"{columns_of('items')}, {columns_of('questions')}"
        sql = f"""SELECT {columns} FROM items JOIN questions ON n = question
            WHERE item BETWEEN ? AND ? ORDER BY item"""  # noqa: S608 - names of ours
        items = []
        for row in self._file.query(sql, (first, last)):
            item, _, epoch, status, _, _, outcome = self._file.checked("items", row[:width])
            _, id, body = self._file.checked("questions", row[width:])
            items.append(RawItem(item, id, epoch, status, body, outcome))
        return items

    def number(self, id: str, epoch: int) -> int | None:
        sql = "SELECT item FROM questions JOIN items ON question = n WHERE id = ? AND epoch = ?"
        row = next(self._file.query(sql, (id, epoch)), None)
        return row[0] if row else None

    def last_events(self, items: Iterable[int]) -> dict[int, tuple[int, float]]:
        """Number and time of the last event of those of `items`, all running, that have one."""
        sql = "SELECT seq, at FROM events WHERE item = ? ORDER BY seq DESC LIMIT 1"
        rows = ((item, self._file.query(sql, (item,))) for item in items)
        return {item: (seq, at) for item, last in rows for seq, at in last}

    def failures(self) -> dict[int, bytes]:
        rows = self._file.each("items", "WHERE status = 'failed'")
        return {item: outcome for item, *_, outcome in rows}

    def errors_between(self, scorer: str, first: int, last: int) -> dict[int, bytes]:
        """What `RunReader.saved_errors` reads of one item, for many items, as stored."""
        rest = "WHERE scorer = ? AND item BETWEEN ? AND ?"
        rows = self._file.each("item_errors", rest, (scorer, first, last))
        return {item: body for _, item, body in rows}

    def scores_version(self, scorers: Iterable[str]) -> tuple[int | None, ...]:
        """A checksum of what each scorer has saved; None for nothing."""
        saved = [self._file.rows("scores", "WHERE digest = ?", (digest,)) for digest in scorers]
        return tuple(zlib.crc32(rows[0][1]) if rows else None for rows in saved)


class ItemRow(NamedTuple):
    """An item of any status; `outcome` is present once it has ended."""

    item: int
    question: Question
    epoch: int
    status: str
    outcome: Mapping[str, Any] | None


def is_cut(outcome: Mapping[str, Any]) -> bool:
    """Whether a reply of the agent met the token limit, as an item's final record says."""
    return CUT in ((outcome.get("usage") or {}).get(AGENT) or {}).get("remarks", {})


class QuestionMark(NamedTuple):
    """A question's id, and what its set says of it (`Question.meta`)."""

    id: str
    meta: Mapping[str, Any]


class RunReader:
    """Read access to one run. Use `open_run`; close it, or let it go."""

    def __init__(self, file: RunFile) -> None:
        self.packed_rows = file.packed_rows
        self._file, self.path, self.meta = file, file.run, file.meta
        self.name = file.run.resolve().name
        self.task: str = self.meta["task"]
        self.system: Mapping[str, Any] = self.meta["system"]
        self.rows = ItemRows(file)
        self._passages = StoredPassages(file)

    @staticmethod
    def check(path: Path) -> None:
        if not (path / DATABASE).is_file():
            problem = "is not a run folder" if path.exists() else "no such run"
            remedy = "name a folder made by `branchwise run --out`"
            if (path / DRAFT).exists():
                problem = "the run was killed while it was being created"
                remedy = "make it again: nothing is lost"
            if runs := sorted(str(file.parent) for file in path.glob(f"runs/*/{DATABASE}")):
                # A study's folder.
                more = f" and {len(runs) - 5} more" if len(runs) > 5 else ""
                remedy = f"name one of its runs: {', '.join(runs[:5])}{more}"
            raise InputError(problem, where=str(path), remedy=remedy)

    def close(self) -> None:
        self._file.close()

    def check_file(self) -> None:
        """Raise DamagedError if the file's pages do not fit together, and hide rows perhaps."""
        for (line,) in self._file.query("PRAGMA integrity_check(1)"):
            if problem := check_line(str(line)):
                raise DamagedError(self.path, problem)

    def progress(self) -> dict[str, int]:
        """Number of items: total, done, failed, pending (running ones count as pending)."""
        sql = "SELECT status, COUNT(*) FROM items {} GROUP BY status"
        with self._file.snapshot():
            counts: dict[str, int] = dict(self._file.query(sql.format("")))
            of_table: dict[str, int] = dict(self._file.query(sql.format("NOT INDEXED")))
        if counts != of_table:
            raise DamagedError(self.path, "the items and their index by status disagree")
        total, ended = sum(counts.values()), {state: counts.get(state, 0) for state in ENDED}
        return {"total": total, **ended, "pending": total - sum(ended.values())}

    def question(self, n: int) -> Question:
        with reading(self.path):
            ((_, _, body),) = self._file.rows("questions", "WHERE n = ?", (n,))
            return unfold_question(body, self._passages.of)

    def question_marks(self) -> Iterator[QuestionMark]:
        """What all questions say of themselves, without their gold and passages."""
        for _, id, body in self._file.each("questions", "ORDER BY n"):
            with reading(self.path):
                yield QuestionMark(id, orjson.loads(body)["meta"])

    def questions(self) -> Iterator[Question]:
        count = 0
        for _, _, body in self._file.each("questions", "ORDER BY n"):
            with reading(self.path):
                question = unfold_question(body, self._passages.of)
            count += 1
            yield question
        self._check_count("questions", count, self._file.question_count)

    def cut_items(self) -> list[int]:
        """The items that were answered, and of whose agent a reply met the token limit."""
        with reading(self.path):
            rows = self._file.each("items", "WHERE status = 'done' ORDER BY item")
            return [row[0] for row in rows if is_cut(orjson.loads(row[-1]))]

    def items_with_status(self, statuses: Sequence[str]) -> list[tuple[int, int, int, str]]:
        """(item, question number, epoch, status) of the items in these states, in order."""
        marks = ", ".join("?" * len(statuses))
        sql = f"SELECT item, question, epoch, status FROM items WHERE status IN ({marks})"  # noqa: S608 - only question marks are inserted
        return [*self._file.query(f"{sql} ORDER BY item", statuses)]

    def items(self, questions: Sequence[Question] | None = None) -> Iterator[ItemRow]:
        """All items in order, ended or not. `questions`: all of them, where they are at hand."""
        questions = list(self.questions()) if questions is None else questions
        count = 0
        for item, n, epoch, status, _, _, outcome in self._file.each("items", "ORDER BY item"):
            with reading(self.path):
                if (outcome is not None) is not (status in ENDED):
                    has = "an" if outcome else "no"
                    raise ValueError(f"an item is {status}, and has {has} outcome")
                record = None if outcome is None else orjson.loads(outcome)
                row = ItemRow(item, questions[n], epoch, status, record)
                if status == "pending":
                    sql = "SELECT 1 FROM responses WHERE item = ? LIMIT 1"
                    if list(self._file.query(sql, (item,))) or self._file.packed_rows(item):
                        problem = f"item {item} has started, but its row says otherwise"
                        raise DamagedError(self.path, problem)
            count += 1
            yield row
        self._check_count("items", count, self._file.item_count)

    def answered_items(self) -> Iterator[AnsweredItem]:
        """The ended items, as scorers read them."""
        for answered, _ in self.ended_items():
            yield answered

    def ended_items(
        self, questions: Sequence[Question] | None = None
    ) -> Iterator[tuple[AnsweredItem, Mapping[str, Any]]]:
        """The same, each with its outcome."""
        for row in self.items(questions):
            if row.outcome is not None:
                with reading(self.path):
                    answered = AnsweredItem(
                        item=row.item,
                        question=row.question,
                        prediction=Prediction.model_validate(row.outcome["prediction"]),
                        epoch=row.epoch,
                        # Ids that come in many items are held once.
                        evidence=Evidence(tuple(map(intern, row.outcome["evidence"]))),
                        how=row.outcome["how"],
                        error=row.outcome.get("error"),
                        cut=is_cut(row.outcome),
                    )
                yield answered, row.outcome

    def events(self, item: int, *, contents: bool = True) -> Iterator[Event]:
        """The trace of an item; without `contents`, a result that only shows passages has none."""
        with reading(self.path), self._file.snapshot():
            events = self._events([row[1:] for row in self._event_rows(item)], contents=contents)
        yield from events

    def opening(self) -> Iterator[Event]:
        if not self.meta.get("fork"):
            return
        with reading(self.path), self._file.snapshot():
            rows = self._file.rows("opening", "ORDER BY seq")
            self._check_count("events of the opening", len(rows), self._file.opening_count)
            events = self._events(rows)
        yield from events

    def module_events(self) -> Iterator[Event]:
        """What tools, expansion, extraction and nodes did in ended items, and which requests were
        sent again; passages stay folded."""
        for item, _, _, _ in sorted(self.items_with_status(("done", "failed"))):
            with self._file.snapshot():
                rows = self._event_rows(item)
            for _, seq, kind, at, body in rows:
                if kind in ("expansion", "tool", "extraction", "node", "retry"):
                    with reading(self.path):
                        data = orjson.loads(body)
                    yield Event(seq, kind, at, data)

    def responses(self, item: int) -> dict[tuple[CallKey, int], Mapping[str, Any]]:
        """The recorded responses of an item by key and occurrence."""
        with reading(self.path), self._file.snapshot():
            rows = self._file.of_item("responses", item)
            self._check_item(item, responses=len(rows))
            unfolded = self._unfolded([row[5] for row in rows])
        return {
            (CallKey(*key), occurrence): response
            for (_, *key, occurrence, _), response in zip(rows, unfolded, strict=True)
        }

    def model_usage(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Role and tokens of every recorded model reply, including those of unended items."""
        with self._file.snapshot():
            rows = self._file.rows("responses", "WHERE kind = 'model'")
            packed = self._file.packed_items()
        for item in packed:
            rows += [row for table, row in self._file.packed_rows(item) if table == "responses"]
        for _, kind, role, _, _, body in rows:
            if kind == "model":
                with reading(self.path):
                    usage = orjson.loads(body)["usage"]
                yield role, usage

    def saved_scores(self, scorer_digest: str) -> Mapping[str, Any] | None:
        return self._result("scores", "WHERE digest = ?", (scorer_digest,))

    def saved_errors(self, scorer_digest: str, item: int) -> Mapping[str, Any] | None:
        """Where an item's answers were lost, as saved with these scores."""
        return self._result("item_errors", "WHERE scorer = ? AND item = ?", (scorer_digest, item))

    def every_saved_error(self, scorer_digest: str) -> Iterator[Mapping[str, Any]]:
        rest = "WHERE scorer = ? ORDER BY item"
        for _, _, body in self._file.each("item_errors", rest, (scorer_digest,)):
            with reading(self.path):
                yield orjson.loads(body)

    def kept_reach(self, key: str) -> Mapping[str, Any] | None:
        """What was found in the run's corpus and graph (`eval.reach`)."""
        return self._result("reach", "WHERE key = ?", (key,))

    def scored_run(self, settings: str) -> bytes | None:
        """What scoring saved of the whole run, under the digest of its settings."""
        rows = self._file.rows("scored_runs", "WHERE settings = ?", (settings,))
        return rows[0][-1] if rows else None

    def state(self) -> str:
        """A digest of all that scoring reads, but what models judged, by the rows' checksums."""
        digest = hashlib.sha256()
        tables = ["meta", "questions", "items", "events", "responses", *sorted({*PACKED.values()})]
        with self._file.snapshot():
            for table in tables:
                rows = self._file.query(f"SELECT rowid, checksum FROM {table} ORDER BY rowid")  # noqa: S608 - names of ours
                digest.update(orjson.dumps([table, list(rows)]))
        return digest.hexdigest()

    def _result(self, table: str, rest: str, key: tuple[Any, ...]) -> Mapping[str, Any] | None:
        rows = self._file.rows(table, rest, key)
        with reading(self.path):
            return orjson.loads(rows[0][-1]) if rows else None

    def _event_rows(self, item: int) -> list[Row]:
        rows = self._file.of_item("events", item)
        self._check_item(item, events=len(rows))
        return rows

    def _check_item(self, item: int, **counts: int) -> None:
        for row in self._file.rows("items", "WHERE item = ?", (item,)):
            expected = dict(zip(COLUMNS["items"], row, strict=True))
            for table, count in counts.items():
                self._check_count(f"{table} of item {item}", count, expected[table])

    def _check_count(self, rows: str, count: int, expected: int | None) -> None:
        if expected is not None and count != expected:
            raise DamagedError(self.path, f"{count} {rows} are there, not {expected}")

    def _events(self, rows: Sequence[Row], *, contents: bool = True) -> list[Event]:
        unfolded = self._unfolded([row[-1] for row in rows], contents=contents)
        both = zip(rows, unfolded, strict=True)
        return [Event(seq, kind, at, data) for (seq, kind, at, _), data in both]

    def _unfolded(self, bodies: Iterable[bytes], *, contents: bool = True) -> list[dict[str, Any]]:
        """Records of one item as originally given; all their passages are read at once."""
        records = [orjson.loads(body) for body in bodies]
        stored = self._passages.of(hash for record in records for hash in references(record))
        return [unfold(record, stored, contents=contents) for record in records]


def open_run(path: Path) -> RunReader:
    """Open a run folder for reading. Raises InputError: no run, a damaged or a newer one."""
    RunReader.check(path)
    return RunReader(RunFile(path))
