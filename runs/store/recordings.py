"""The model responses that a run recorded, as `replay:RUN` answers with them."""

import bisect
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import orjson

from branchwise.agents.journal import Asker, Slot
from branchwise.agents.reply import ModelError
from branchwise.base.errors import InputError
from branchwise.runs.store.reader import RunReader, open_run
from branchwise.runs.store.run_file import RunFile
from branchwise.runs.store.tables import Row
from branchwise.runs.store.verifying import check_whole

_T = TypeVar("_T")


class _Place(NamedTuple):
    item: int
    occurrence: int


class RunRecordings:
    """Implements `agents.replay.Recordings` for a run folder, which is only read.

    The recorded response for a request depends on the asker, not on time or on other items:

    * an item whose question (by id) and epoch the run has is answered by that item alone, the
      n-th time that it makes a request by the n-th reply to it;
    * an item whose question the run lacks, by the run's items of the same epoch;
    * an asker that is not an item (`ask`), by all items; in the last two cases in the order of
      items, then of occurrences.

    Works beside a process that writes the run: new records are found at once.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        RunReader.check(path)
        # A lost reply would look like one that was never recorded.
        check_whole(path)
        reader = open_run(path)
        self.identity: Mapping[str, Any] = reader.meta.get("identity") or {}
        reader.close()
        self._file: RunFile | None = None
        self._items: dict[Asker, int] = {}
        self._epochs: dict[int, int] = {}
        self._questions: frozenset[str] = frozenset()
        self._known: defaultdict[tuple[str, str], list[_Place]] = defaultdict(list)
        self._packed: set[int] = set()
        self._has_trimmed: bool | None = None

    def find(self, slot: Slot) -> Mapping[str, Any] | None:
        if (place := self._place(slot)) is None:
            return None
        key = ("model", slot.key.role, slot.key.digest, place.occurrence)
        for _, *columns, body in self._of_item("responses", place.item):
            if tuple(columns) == key:
                try:
                    record = orjson.loads(body)
                except ValueError as error:
                    raise self._unreadable(error) from None
                if not isinstance(record, dict):
                    raise self._unreadable("a reply is not an object")
                return record
        return None

    def has_nothing_of(self, slot: Slot) -> bool:
        """Whether the asker's own item has no response of the slot's role."""
        item = self._own(slot.asker)
        asked = ("model", slot.key.role)
        return item is not None and asked not in {
            row[1:3] for row in self._of_item("responses", item)
        }

    def was_trimmed(self, slot: Slot) -> bool:
        """Whether the asker's own item (any item, if it has none) left out tool results."""
        if (item := self._own(slot.asker)) is not None:
            return self._is_trimmed(item)
        if self._has_trimmed is None:
            self._has_trimmed = any(map(self._is_trimmed, self._epochs))
        return self._has_trimmed

    def _is_trimmed(self, item: int) -> bool:
        return any(kind == "context_trimmed" for _, _, kind, *_ in self._of_item("events", item))

    def close(self) -> None:
        """Close the file; the next look-up opens it again."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _place(self, slot: Slot) -> _Place | None:
        if (own := self._own(slot.asker)) is not None:
            return _Place(own, slot.occurrence)
        if slot.asker is not None and slot.asker.question in self._questions:
            # An epoch that was not run: another epoch's reply would not be a new sample.
            return None
        places = self._places(slot)
        if slot.asker is not None:
            places = [at for at in places if self._epochs[at.item] == slot.asker.epoch]
        return places[slot.occurrence] if slot.occurrence < len(places) else None

    def _own(self, asker: Asker | None) -> int | None:
        if not self._items:
            rows = self._rows("SELECT item, id, epoch FROM items JOIN questions ON n = question")
            self._items = {Asker(id, epoch): item for item, id, epoch in rows}
            self._epochs = {item: epoch for item, _, epoch in rows}
            self._questions = frozenset(id for _, id, _ in rows)
        return None if asker is None else self._items.get(asker)

    def _places(self, slot: Slot) -> list[_Place]:
        """All places of a request: an index by digest is built here and grows with the run."""
        key = (slot.key.role, slot.key.digest)
        if slot.occurrence < len(self._known.get(key, ())):
            return self._known[key]
        columns = "item, kind, role, digest, occurrence"
        rows = self._rows(f"SELECT {columns} FROM responses ORDER BY rowid")  # noqa: S608 - names of ours
        for item in set(self._checked(self._opened().packed_items)) - self._packed:
            rows += [row[:-1] for row in self._of_item("responses", item)]
            self._packed.add(item)
        for item, kind, role, digest, occurrence in rows:
            known, place = self._known[role, digest], _Place(item, occurrence)
            if kind == "model" and place not in known:
                bisect.insort(known, place)
        return self._known.get(key, [])

    def _of_item(self, table: str, item: int) -> list[Row]:
        def read() -> list[Row]:
            file = self._opened()
            with file.snapshot():
                return file.of_item(table, item)

        return self._checked(read)

    def _rows(self, sql: str) -> list[Row]:
        return self._checked(lambda: list(self._opened().query(sql)))

    def _checked(self, read: Callable[[], _T]) -> _T:
        try:
            return read()
        except InputError as error:
            raise self._unreadable(error.what) from error

    def _opened(self) -> RunFile:
        if self._file is None:
            self._file = RunFile(self._path)
        return self._file

    def _unreadable(self, error: object) -> ModelError:
        return ModelError("invalid_response", f"{self._path}: cannot be read ({error})"[:500])


def open_recordings(path: Path) -> RunRecordings:
    """Open a run for replays (`agents.replay.OpenRecordings`). Raises InputError."""
    return RunRecordings(path)
