"""Putting the shards of a run together: what they recorded, item by item, into one ordinary run.

A merge can be repeated and continued: what the run holds already is left alone, so a second merge
of the same shards changes nothing, and one that was killed is completed. The shards are only read.
"""

import os
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, fields
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple, Self

import orjson

from branchwise.corpora.errors import InputError
from branchwise.eval.store.bodies import MAX_BODY
from branchwise.eval.store.completing import complete_spec
from branchwise.eval.store.connection import DATABASE, connect, fold_log
from branchwise.eval.store.damage import DamagedError, reading
from branchwise.eval.store.packing import pack_ended, pack_passages, packed_item
from branchwise.eval.store.passage_references import references
from branchwise.eval.store.passages import StoredPassages
from branchwise.eval.store.reader import RunReader, open_run
from branchwise.eval.store.run_file import RUN_ID, SHARD, RunFile
from branchwise.eval.store.run_store import create_run, hold
from branchwise.eval.store.shards import Shard
from branchwise.eval.store.spec import RunSpec
from branchwise.eval.store.tables import ENDED, Row
from branchwise.eval.store.verifying import check_whole
from branchwise.eval.store.writer import StoreError

_SAME = {
    "system_digest": "other systems",
    "questions_digest": "other questions",
    "epochs": "other epochs",
    "task": "other tasks",
    "scoring": "to be scored in other ways",
}
"""What all shards of a run have in common, and what they are of where they do not."""


@dataclass(frozen=True)
class ShardRun:
    """A run folder that is a shard: `ended` of its `items` have. `meta`: its settings."""

    path: Path
    shard: Shard
    items: int
    ended: int
    meta: Mapping[str, Any]

    @classmethod
    def read(cls, file: RunFile) -> Self:
        """What a shard says of itself. Raises InputError for a run that is none."""
        reader = RunReader(file)
        shard, counts = Shard.recorded(reader.meta), reader.progress()
        if shard is None:
            raise InputError(
                "is a whole run, not a shard",
                where=str(reader.path),
                remedy="name folders that `branchwise run --shard I/N` or `ablate --shard` made",
            )
        ended = counts["done"] + counts["failed"]
        return cls(reader.path, shard, counts["total"], ended, reader.meta)


@dataclass(frozen=True)
class Merged:
    """A run that was put together. `items` of it in all, `ended` of them; `shards`: those that were
    given; `missing`: the items of each shard that was never merged, by its number; `twice`: how
    many items were answered again in another folder, and paid for again."""

    path: Path
    of: int
    items: int
    ended: int
    shards: tuple[ShardRun, ...]
    missing: Mapping[int, int]
    twice: int


def merge_shards(paths: Sequence[Path], out: Path) -> Merged:
    """Put shards of one run together at `out`, a new folder or one that was merged from others.

    Of an item that ended in two folders the first ending stays; what the other cost is kept as paid
    twice. Raises InputError if the folders are not shards of one run, if one is given twice, or if
    `out` holds something else; StoreError if it cannot be written.
    """
    with ExitStack() as stack:
        files = [_opened(path) for path in paths]
        for file in files:
            stack.callback(file.close)
        shards = check_shards([ShardRun.read(file) for file in files])
        known = [f for f in files if f.meta["system_digest"]]
        _make(out, (known or files)[0])
        with _writing(out) as ours:
            for file in files:
                _Fold(ours, file).all()
    return _merged(out, shards)


def _opened(path: Path) -> RunFile:
    RunReader.check(path)
    return RunFile(path)


def check_shards(shards: Sequence[ShardRun]) -> tuple[ShardRun, ...]:
    """The shards. Raises InputError unless they are different ones of one run."""
    for earlier, shard in combinations(shards, 2):
        here, there = str(shard.path), str(earlier.path)
        if shard.meta[RUN_ID] == earlier.meta[RUN_ID]:
            what = f"is the same run as {there}: shard {shard.shard} is given twice"
            raise InputError(what, where=here, remedy="name each folder once")
        if of := difference(earlier.meta, shard.meta):
            what = f"the shards are of {of} (see {there})"
            raise InputError(what, where=here, remedy="merge the shards of each run by themselves")
        if shard.shard.of != earlier.shard.of:
            what = f"is shard {shard.shard}, and {there} is shard {earlier.shard}: these overlap"
            raise InputError(what, where=here, remedy="merge shards of one N")
    return tuple(shards)


def difference(one: Mapping[str, Any], other: Mapping[str, Any]) -> str | None:
    """In what the settings of two runs differ, in words; None if both are parts of one run.

    A run that was stopped before its system was open does not say which it is: its settings do.
    """
    for key, words in _SAME.items():
        if key == "system_digest" and not (one[key] and other[key]):
            if one["system"] != other["system"]:
                return words
        elif (one.get(key) or {}) != (other.get(key) or {}):
            return words
    return None


def _make(out: Path, first: RunFile) -> None:
    """Make the whole run with all its items pending, or check that it is the one that is there."""
    if not (out / DATABASE).exists():
        known = {f.name: first.meta[f.name] for f in fields(RunSpec) if f.name in first.meta}
        create_run(out, RunSpec(**{**known, SHARD: {}}), list(RunReader(first).questions()))
        return
    with closing(open_run(out)) as reader:
        what = difference(reader.meta, first.meta)
        if what is None and (reader.meta.get(SHARD) or reader.meta.get("fork")):
            what = "another kind"
        if what is None and not reader.meta["system_digest"] and first.meta["system_digest"]:
            complete_spec(out, first.meta["identity"], first.meta["system_digest"])
        if what:
            raise InputError(
                f"this folder holds something else: a run of {what}",
                where=str(out),
                remedy="choose another --out",
            )


@contextmanager
def _writing(out: Path) -> Iterator[RunFile]:
    """The run's file, locked; everything that is done with it is one transaction. Raises
    StoreError."""
    handle = hold(out)
    try:
        check_whole(out)
        with closing(connect(out / DATABASE)) as connection:
            ours = RunFile.over(out, connection)
            ours.layout.enable(connection)
            connection.execute("BEGIN IMMEDIATE")
            yield ours
            pack_ended(connection, ours.layout)
            pack_passages(connection, ours.layout)
            connection.execute("COMMIT")
            connection.executescript("PRAGMA incremental_vacuum")
            fold_log(connection)
    except sqlite3.Error as error:
        raise StoreError(f"{out}: the shards cannot be merged: {error}") from error
    finally:
        os.close(handle)


class _Version(NamedTuple):
    """An item as one folder has it."""

    status: str
    outcome: bytes | None
    events: tuple[Row, ...]
    responses: tuple[Row, ...]

    @property
    def has_ended(self) -> bool:
        return self.status in ENDED

    @property
    def replies(self) -> frozenset[Row]:
        """The responses without the item's number, which is the folder's own."""
        return frozenset(row[1:] for row in self.responses)

    def gives_way_to(self, other: "_Version") -> bool:
        """Whether the other takes this one's place: it goes on from it (what was recorded here is
        recorded there), or this one has not ended and has less."""
        if self.status == "done" or other.status == "pending":
            return False
        mine, others = self.replies, other.replies
        if mine < others or (mine == others and other.has_ended and not self.has_ended):
            return True
        return not self.has_ended and (other.has_ended or len(mine) < len(others))


class _Fold:
    """Takes what one shard recorded into a run, inside the caller's transaction."""

    def __init__(self, ours: RunFile, theirs: RunFile) -> None:
        self._ours, self._theirs = ours, theirs
        self._new, self._layout = ours.connection, ours.layout
        self._passages = StoredPassages(theirs)
        places = ours.query("SELECT question, epoch, item FROM items")
        self._numbers = {(n, epoch): item for n, epoch, item in places}

    def all(self) -> None:
        """Every item, and what models judged and what was looked up."""
        with self._theirs.snapshot():
            sql = "SELECT item, question, epoch FROM items WHERE status <> 'pending' ORDER BY item"
            for number, question, epoch in list(self._theirs.query(sql)):
                if (question, epoch) not in self._numbers:
                    raise DamagedError(self._theirs.run, f"item {number} is of no question")
                self._item(self._numbers[question, epoch], number)
            for table in ("judgements", "reach"):
                for row in self._theirs.each(table):
                    self._add(table, row)

    def _item(self, item: int, number: int) -> None:
        ours, theirs = _version(self._ours, item), _version(self._theirs, number)
        if ours.gives_way_to(theirs):
            self._put(item, theirs)
            self._pay(item, ours, theirs)
        else:
            self._pay(item, theirs, ours)

    def _add(self, table: str, row: Row) -> None:
        """A row of a table that is made on first use, unless it is there."""
        self._new.execute(self._layout.create(table))
        self._new.execute(self._layout.insert(table, "INSERT OR IGNORE"), row)

    def _put(self, item: int, theirs: _Version) -> None:
        for table in ("events", "responses", "packed_items"):
            self._new.execute(f"DELETE FROM {table} WHERE item = ?", (item,))  # noqa: S608 - names of ours
        events, responses = (
            [(item, *row[1:]) for row in rows] for rows in (theirs.events, theirs.responses)
        )
        self._put_passages([*events, *responses])
        counts = (len(events), len(responses)) if theirs.has_ended else (None, None)
        self._new.execute(self._layout.end_item(), (theirs.status, *counts, theirs.outcome, item))
        body = packed_item(responses, events)
        if theirs.has_ended and len(body) <= MAX_BODY:
            self._new.execute(self._layout.insert("packed_items"), (item, body))
        else:
            self._new.executemany(self._layout.insert("events"), events)
            self._new.executemany(self._layout.insert("responses"), responses)

    def _put_passages(self, rows: Sequence[Row]) -> None:
        with reading(self._theirs.run):
            wanted = {hash for row in rows for hash in references(orjson.loads(row[-1]))}
        found = self._passages.of(wanted)
        self._new.executemany(self._layout.insert_passage(), [found[hash] for hash in wanted])

    def _pay(self, item: int, given_up: _Version, kept: _Version) -> None:
        """Keep what the replies cost that are in no trace now."""
        for row in sorted(given_up.replies - kept.replies, key=lambda row: row[:-1]):
            kind, role, *_, body = row
            if kind != "model":
                continue
            with reading(self._theirs.run):
                reply = orjson.loads(body)
                paid = {"role": role, "usage": reply["usage"], "seconds": reply["seconds"]}
            key = sha256(orjson.dumps([*row[:-1], body.hex()])).hexdigest()
            self._add("paid_twice", (item, key, orjson.dumps(paid)))


def _version(file: RunFile, item: int) -> _Version:
    rows = file.rows("items", "WHERE item = ?", (item,))
    if len(rows) != 1:
        raise DamagedError(file.run, f"item {item} is there {len(rows)} times")
    ((_, _, _, status, _, _, outcome),) = rows
    if status == "pending":
        return _Version(status, None, (), ())
    events, responses = file.of_item("events", item), file.of_item("responses", item)
    return _Version(status, outcome, tuple(events), tuple(responses))


def _merged(out: Path, shards: tuple[ShardRun, ...]) -> Merged:
    of, given = shards[0].shard.of, {one.shard.number for one in shards}
    with closing(open_run(out)) as reader:
        counts = reader.progress()
        ids = [mark.id for mark in reader.question_marks()]
        left = reader.items_with_status(("pending", "running"))
        missing = Counter(Shard.of_item(ids[n], epoch, of).number for _, n, epoch, _ in left)
        twice = len({item for item, _ in reader.paid_twice()})
    absent = {number: items for number, items in sorted(missing.items()) if number not in given}
    ended = counts["done"] + counts["failed"]
    return Merged(out, of, counts["total"], ended, shards, absent, twice)
