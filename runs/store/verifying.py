"""Whether a run is whole: its file, every row by its checksum, and every item by its rows."""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from branchwise.agents.prediction import Prediction
from branchwise.base.errors import InputError
from branchwise.corpora.questions import Question
from branchwise.runs.costs.usage import KEPT_COUNTS
from branchwise.runs.store.connection import DamagedError, check_line, words_of
from branchwise.runs.store.passages import references
from branchwise.runs.store.run_file import QUESTION_COUNT, RunFile, check_schema, count_items
from branchwise.runs.store.tables import (
    ENDED,
    LATER,
    PACKED,
    PLACES,
    Row,
    columns_of,
    hash_number,
    unpacked,
)

_MAX_EVENTS = 1 << 20
_MAX_NAMED = 5
_NOT_A_RECORD = (ValueError, LookupError, TypeError, AttributeError)

Rows = Callable[[str], Iterable[Row]]
"""By table: its intact rows, without checksums, in any order, perhaps with repeats."""


class ItemState(NamedTuple):
    """An item's row: where it belongs, and once it has ended how many other rows it has."""

    question: int
    epoch: int
    status: str
    events: int | None
    responses: int | None


@dataclass
class Survey:
    """What is there, by number; `events`: a bit for each of an item; `lacking`: damaged items."""

    item_count: int
    question_count: int
    questions: dict[int, str] = field(default_factory=dict)
    items: dict[int, ItemState] = field(default_factory=dict)
    lacking: set[int] = field(default_factory=set)
    responses: dict[int, set[tuple[Any, ...]]] = field(default_factory=lambda: defaultdict(set))
    opening: int = 0
    unread: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    events: dict[int, int] = field(default_factory=lambda: defaultdict(int))

    def is_whole(self, item: int) -> bool:
        """Whether everything written for the item exists."""
        state = self.items.get(item)
        if state is None or state.question not in self.questions or item in self.lacking:
            return False
        if state.status == "pending":
            # With its first row it would be running.
            return not self.events.get(item) and not self.responses.get(item)
        if state.status not in ENDED:
            return True
        # From the first on, none is missing.
        is_full = self.events[item] == (1 << (state.events or 0)) - 1
        return is_full and state.responses == len(self.responses[item])

    @property
    def whole(self) -> list[int]:
        return [item for item in range(1, self.item_count + 1) if self.is_whole(item)]

    @property
    def lost_questions(self) -> list[int]:
        return [n for n in range(self.question_count) if n not in self.questions]


def survey(rows: Rows, meta: Mapping[str, Any]) -> Survey:
    question_count = int(meta[QUESTION_COUNT])
    content = Survey(count_items(meta, question_count), question_count)
    passages = {row[0] for row in rows("passages")}

    def has_passages(
        table: str, body: bytes, read: Callable[[Any], list[str]] = references
    ) -> bool:
        try:
            return passages.issuperset(read(orjson.loads(body)))
        except _NOT_A_RECORD:
            content.unread[table] += 1
            return False

    def passages_of_question(record: Any) -> list[str]:
        Question.model_validate({**record, "passages": ()})
        return list(record["passages"])

    for n, id, body in rows("questions"):
        if has_passages("questions", body, passages_of_question):
            content.questions[n] = id
    for item, question, epoch, status, events, responses, outcome in rows("items"):
        if is_outcome(outcome) if status in ENDED else outcome is None:
            content.items[item] = ItemState(question, epoch, status, events, responses)
        else:
            content.unread["items"] += 1
    for item, seq, _, _, body in rows("events"):
        if not has_passages("events", body) or not 0 <= seq < _MAX_EVENTS:
            content.lacking.add(item)
        else:
            content.events[item] |= 1 << seq
    for item, *key, body in rows("responses"):
        if not has_passages("responses", body):
            content.lacking.add(item)
        content.responses[item].add(tuple(key))
    for _, _, _, body in rows("opening"):
        content.opening += has_passages("opening", body)
    return content


def is_outcome(outcome: bytes | None) -> bool:
    """Whether this is a valid outcome, as scorers read it."""
    try:
        record = orjson.loads(outcome or b"")
        Prediction.model_validate(record["prediction"])
        texts = isinstance(record["how"], str) and isinstance(record.get("error"), str | None)
        usages = record["usage"].values()
        counts = [usage.get(name, 0) for usage in usages for name in KEPT_COUNTS]
        numbers = all(isinstance(count, int | float) for count in counts)
        return texts and numbers and isinstance(record["evidence"], list)
    except _NOT_A_RECORD:
        return False


@dataclass(frozen=True)
class Verdict:
    """The verdict on a run. `items`: None if the file no longer says."""

    run: Path
    items: int | None
    whole: int
    ended: int
    problems: tuple[str, ...]

    @property
    def is_whole(self) -> bool:
        return not self.problems

    @property
    def share(self) -> str:
        if self.items is None:
            return "no item can be read"
        return f"{self.whole} of {self.items} items are whole"

    def to_json(self) -> dict[str, Any]:
        return {
            "run": str(self.run),
            "is_whole": self.is_whole,
            "items": self.items,
            "whole": self.whole,
            "ended": self.ended,
            "problems": list(self.problems),
        }


def verify_run(run: Path, *, system_digest: str | None = None) -> Verdict:
    """Read the whole file. Raises InputError without a verdict: no run, a newer one, in use."""
    try:
        file = RunFile(run, tolerant=True)
    except DamagedError as error:
        return Verdict(run, None, 0, 0, (error.damage,))
    try:
        with file.snapshot():
            verdict = _verdict(file)
        if system_digest in (None, file.meta["system_digest"]):
            return verdict
        return replace(verdict, problems=("the run belongs to another system", *verdict.problems))
    except DamagedError as error:
        return Verdict(run, None, 0, 0, (error.damage,))
    finally:
        file.close()


def check_whole(run: Path) -> None:
    verdict = verify_run(run)
    if not verdict.is_whole:
        raise DamagedError(run, verdict.problems[0], verdict.share)


class ReadableRows:
    """The intact rows of a damaged file; `unreadable`: what SQLite said, by table."""

    def __init__(self, file: RunFile) -> None:
        self._file = file
        self.damaged: Counter[str] = Counter()
        self.unreadable: dict[str, str] = {}

    def __call__(self, table: str) -> Iterator[Row]:
        yield from self.intact(table)
        if table in PACKED:
            yield from self._packed(table, PACKED[table])

    def intact(self, table: str) -> Iterator[Row]:
        # A table may be read twice: its damage counts once.
        self.damaged[table] = 0
        for row in self._raw(table):
            if values := self._file.layout.read(table, row):
                yield values
            else:
                self.damaged[table] += 1

    def _packed(self, table: str, packs: str) -> Iterator[Row]:
        for pack in self.intact(packs):
            with suppress(ValueError, TypeError, LookupError):
                yield from [row for name, row in unpacked(packs, pack) if name == table]

    def _raw(self, table: str) -> Iterator[Row]:
        """From the first row up to the damage, then from the last one down to it."""
        last = None
        try:
            for rowid, *row in self._from_table(table, "ORDER BY rowid"):
                last = rowid
                yield tuple(row)
            return
        except sqlite3.Error as error:
            if table in LATER and "no such table" in str(error):
                return
            self.unreadable[table] = words_of(error)
        after = "" if last is None else f"WHERE rowid > {int(last)}"
        try:
            for _, *row in self._from_table(table, f"{after} ORDER BY rowid DESC"):
                yield tuple(row)
        except sqlite3.Error:
            return

    def _from_table(self, table: str, rest: str) -> sqlite3.Cursor:
        # The table itself: an index may say otherwise.
        sql = f"SELECT rowid, {columns_of(table)} FROM {table} NOT INDEXED {rest}"  # noqa: S608 - names of ours
        return self._file.connection.execute(sql)


def _verdict(file: RunFile) -> Verdict:
    rows = ReadableRows(file)
    content = survey(rows, file.meta)
    for table in ("scores", "item_errors", "reach", "judgements", "scored_runs"):
        for _ in rows(table):
            pass
    ended = sum(state.status in ENDED for state in content.items.values())
    lines = [f"{table} cannot be read to the end: {why}" for table, why in rows.unreadable.items()]
    lines += [f"damaged rows of {table}: {count}" for table, count in (+rows.damaged).items()]
    lines += [*_of_items(content, file.opening_count), *_of_places(file), *_of_file(file)]
    problems = tuple(dict.fromkeys(lines))
    return Verdict(file.run, content.item_count, len(content.whole), ended, problems)


def _of_items(content: Survey, opening: int) -> Iterator[str]:
    for table, count in content.unread.items():
        if count:
            yield f"unreadable rows of {table}: {count}"
    if lost := content.lost_questions:
        yield f"lost questions: {_numbers(lost)}"
    if broken := [n for n in range(1, content.item_count + 1) if not content.is_whole(n)]:
        yield f"damaged items: {_numbers(broken)}"
    if len(content.items) > content.item_count:
        yield f"{len(content.items)} items are there, not {content.item_count}"
    if content.opening != opening:
        yield f"{content.opening} events of the opening are there, not {opening}"


def _of_places(file: RunFile) -> Iterator[str]:
    """Packed passages that their table does not lead to."""
    lost = 0
    for block, body in ReadableRows(file).intact("passage_blocks"):
        with suppress(ValueError, TypeError, LookupError, sqlite3.Error):
            hashes = [hash_number(row[0]) for _, row in unpacked("passage_blocks", (block, body))]
            marks = ", ".join("?" * len(hashes))
            sql = f"SELECT hash, place FROM packed_passages WHERE hash IN ({marks})"  # noqa: S608 - only question marks are inserted
            places = dict(file.connection.execute(sql, hashes).fetchall())
            expected = {hash: block * PLACES + n for n, hash in enumerate(hashes)}
            lost += sum(places.get(hash) != place for hash, place in expected.items())
    if lost:
        yield f"packed passages that nothing leads to: {lost}"


def _of_file(file: RunFile) -> Iterator[str]:
    try:
        check_schema(file.connection, file.run)
        for (line,) in file.connection.execute(f"PRAGMA integrity_check({_MAX_NAMED})"):
            if problem := check_line(str(line)):
                yield problem
    except InputError as error:
        yield getattr(error, "damage", error.what)
    except sqlite3.Error as error:
        yield words_of(error)


def _numbers(numbers: list[int]) -> str:
    more = f" and {len(numbers) - _MAX_NAMED} more" if len(numbers) > _MAX_NAMED else ""
    return ", ".join(map(str, numbers[:_MAX_NAMED])) + more
