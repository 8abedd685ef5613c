"""What a run's store holds, read from a copy, so that looking changes nothing."""

import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from branchwise.runs.store import open_run
from branchwise.runs.store.connection import DATABASE
from branchwise.runs.store.tables import BY_ITSELF

STATES = ("pending", "running", "done", "failed")
# What two runs of the same thing may differ in: time, and the number of the server's answer.
_OF_THE_MOMENT = frozenset({"seconds", "replayed", "wait", "waited"})
Key = tuple[Any, ...]


class Stored(NamedTuple):
    """What stores hold, by the name of the run and more.

    `responses`: bodies by (run, item, kind, role, digest, occurrence), judges' among them.
    `ended`: outcomes by (run, item). `trace`: everything of ended items, and `results` all that
    scoring has left, without what is of the moment.
    """

    responses: dict[Key, bytes]
    ended: dict[Key, bytes]
    trace: dict[Key, Any]
    results: dict[Key, Any]

    @property
    def answers(self) -> Iterator[int]:
        """The server's numbers of all recorded answers of models."""
        for key, body in self.responses.items():
            if key[2] == "model":
                yield int(orjson.loads(body)["usage"]["reasoning"])


def databases(folder: Path) -> list[Path]:
    """The stores of a run's or a study's folder."""
    found = (path for path in folder.rglob(DATABASE))
    return sorted(found)


def read(folder: Path, scratch: Path) -> Stored:
    """Read all stores in `folder`, as a process that comes after a kill will find them."""
    stored = Stored({}, {}, {}, {})
    for path in databases(folder):
        name = str(path.parent.relative_to(folder))
        shutil.rmtree(scratch, ignore_errors=True)
        shutil.copytree(path.parent, scratch)
        _read_one(scratch, name, stored)
    return stored


def _read_one(path: Path, name: str, into: Stored) -> None:
    with closing(open_run(path)) as reader:
        for item, n, epoch, status in reader.items_with_status(STATES):
            for (key, occurrence), body in reader.responses(item).items():
                place = (name, item, key.kind, key.role, key.digest, occurrence)
                into.responses[place] = orjson.dumps(body)
            if status in ("done", "failed"):
                events = [(event.kind, _lasting(event.data)) for event in reader.events(item)]
                into.trace[name, item] = [reader.question(n).id, epoch, status, events]
        for row in reader.items():
            if row.outcome is not None:
                into.ended[name, row.item] = orjson.dumps(row.outcome)
                into.trace[name, row.item].append(_lasting(row.outcome))
    with closing(sqlite3.connect(path / DATABASE)) as connection:
        BY_ITSELF.enable(connection)
        for table in ("scores", "item_errors", "reach"):
            for *key, body in _rows(connection, table):
                into.results[name, table, *key] = _lasting(orjson.loads(body))
        for role, digest, sample, body in _rows(connection, "judgements"):
            into.responses[name, None, "model", role, digest, sample] = body


def _rows(connection: sqlite3.Connection, table: str) -> Iterator[tuple[Any, ...]]:
    """The rows of a table of results: its key, and its body at last."""
    columns = connection.execute(f"PRAGMA table_info({table})").fetchall()
    if columns:
        chosen = [name for _, name, _, _, _, in_key in columns if in_key] + ["plain(body)"]
        yield from connection.execute(f"SELECT {', '.join(chosen)} FROM {table}")


def _lasting(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: _lasting(v) for k, v in value.items() if not _is_of_the_moment(k, v)}
    return [_lasting(one) for one in value] if isinstance(value, list | tuple) else value


def _is_of_the_moment(key: str, value: Any) -> bool:
    return key in _OF_THE_MOMENT or (key == "reasoning" and isinstance(value, int))
