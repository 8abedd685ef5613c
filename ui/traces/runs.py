"""A run as it is viewed: its rows, its summary, its traces, each read on demand."""

import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import orjson

from branchwise.base.errors import InputError
from branchwise.base.text import counted
from branchwise.corpora.folder import Corpus
from branchwise.corpora.open import needs_corpus, open_retriever
from branchwise.corpora.passages import Passage
from branchwise.corpora.questions import Question
from branchwise.eval.errors.attribution import examine
from branchwise.eval.sources import run_sources
from branchwise.eval.tasks import is_attributable
from branchwise.runs.store import RunReader, open_run
from branchwise.runs.store.reader import RawItem
from branchwise.runs.studies.folder import named_runs
from branchwise.tools.registry import SEARCH_TOOL
from branchwise.trace.conversation import read_conversation
from branchwise.trace.events import Event
from branchwise.ui.traces.answers import trace_of
from branchwise.ui.traces.lines import ItemLine, RunLine, means_of, system_words
from branchwise.ui.traces.records import (
    ENDED,
    RunScores,
    Watch,
    answered,
    as_input_errors,
    line_of,
    readable_items,
    unread,
)
from branchwise.ui.traces.trace import Trace

if TYPE_CHECKING:
    from branchwise.corpora.retrieval import Retriever

PAGE = 64
"""Rows read at a time: more than most screens show."""
FIRST_SECONDS, LATER_SECONDS = 0.2, 0.05
"""How long rows wait for scores that were not saved: in all, and again after the file changed."""
DEPTH = 1_000
"""How many passages of each search are looked at for a passage's rank."""
MOST_LOOKED_AT = 200_000
"""Passages of a corpus that are looked through for one that no search brought: about a second."""
_NO_SEARCH = "no search was made"


class RunView:
    """One run, read on demand, never written. All methods may be called on any thread. They
    raise InputError where the file is damaged beyond single records; a damaged record is its
    row's `error`. `is_damaged`: whether anything that was read until now is."""

    def __init__(self, reader: RunReader, name: str | None = None) -> None:
        self._reader, self.path, self.task = reader, reader.path, reader.task
        self.name = name or reader.name
        self.meta: Mapping[str, Any] = reader.meta
        """What the run was made with: its system, its identity, its task."""
        self._lock, self._labelling = threading.RLock(), threading.Lock()
        self._closed = self.is_damaged = False
        self._labeller: RunReader | None = None
        self._retriever: Retriever | None = None
        with self._reading():
            places = reader.rows.places()
            self._items = [place.item for place in places]
            self._questions = {place.item: place.question for place in places}
            self._row_of = {item: row for row, item in enumerate(self._items)}
            self._scores = RunScores(reader)
            self._watch = Watch(reader.rows)
        columns = self._scores.columns
        self.heads = tuple(column.short or column.title for column in columns)
        """The names of a row's metrics, which depend on the task."""
        self._lines: list[ItemLine | None] = [None] * len(self._items)
        self._unscored: set[int] = set()
        self._allowance = FIRST_SECONDS
        self._worked_out: dict[int, tuple[str, ...]] = {}

    @classmethod
    def open(cls, path: Path, name: str | None = None) -> Self:
        """Open a run folder; `name` if it differs from the folder's. Raises InputError."""
        reader = open_run(path)
        try:
            return cls(reader, name)
        except BaseException:
            reader.close()
            raise

    @property
    def count(self) -> int:
        """Number of items, ended or not; fixed when the run was made."""
        return len(self._items)

    def line(self, row: int) -> ItemLine:
        """A row by its number from 0, in the store's order. Raises IndexError for another.
        Scores that were not saved are computed for a fifth of a second in all, else by
        `label_some`."""
        if not 0 <= row < self.count:
            raise IndexError(row)
        line = self._lines[row]
        if line is not None and (self._allowance <= 0 or row not in self._unscored):
            # Without the lock: drawing rows must not wait for labelling.
            return line
        with self._reading():
            self._load(row)
            if row in self._unscored:
                self._score_some([row])
            return self._known(row)

    def leave_scoring(self) -> None:
        """Until `refresh`, only `label_some` and `trace` compute scores: rows never wait."""
        self._allowance = 0.0

    def lines(self) -> Sequence[ItemLine]:
        with self._reading():
            for row in range(self.count):
                self._load(row)
            self._score_some(sorted(self._unscored))
            return [self._known(row) for row in range(self.count)]

    def find(self, question: str, epoch: int = 0) -> int | None:
        with self._reading():
            item = self._reader.rows.number(question, epoch)
        return None if item is None else self._row_of[item]

    def summary(self, *, quick: bool = False) -> RunLine:
        """The run on one line; `quick`: without means that were not saved."""
        with self._reading():
            progress, scores = self._reader.progress(), self._scores
            total, done, failed = progress["total"], progress["done"], progress["failed"]
            fresh = (scores.items, scores.failed) == (done + failed, failed)
            means = scores.means if fresh else ()
            if not fresh and not quick:
                means = means_of(self.lines(), scores.columns)
            if self.is_damaged and not fresh:
                # Of the rows that are left: a mean that looks like the run's.
                means = ()
            words, parent = system_words(self.meta["system"]), (self.meta.get("fork") or {})
            counts = total, done, failed
            return RunLine(self.name, words, *counts, self.heads, means, parent.get("run"))

    def trace(self, row: int, *, judge: bool = True) -> Trace:
        """An item's trace, of any status; without `judge`, errors are left to `answers.judged`."""
        with self._reading():
            self.line(row)
            if row in self._unscored:
                self._score(row)
            line = self._known(row)
            raw, question = _raw(self._reader, line.number), self._question(line)
            outcome = errors = None
            if raw and raw.outcome and line.status in ENDED and answered(raw, question):
                outcome = orjson.loads(raw.outcome)
                failed = outcome.get("error") is not None
                errors = self._scores.kept_errors(line.number, failed=failed)
            by_gold_set = self._scores.by_gold_set
            trace = trace_of(
                self._reader, line, question, outcome, errors, judge=judge, by_gold_set=by_gold_set
            )
            self.is_damaged = self.is_damaged or trace.is_damaged
            return trace

    def refresh(self) -> frozenset[int]:
        """Rows that changed in the file since the last call; a running item's also where its
        trace grew. Costs next to nothing if the file was not written to."""
        with self._reading():
            changed = self._watch.changed()
            if changed is None:
                return frozenset()
            if self._scores.reload():
                statuses = self._watch.statuses
                changed |= {item for item, status in statuses.items() if status in ENDED}
            rows = frozenset(self._row_of[item] for item in changed if item in self._row_of)
            for row in rows:
                self._lines[row] = None
                self._worked_out.pop(row, None)
            self._unscored -= rows
            self._allowance = max(self._allowance, LATER_SECONDS)
            return rows

    def label_some(self, seconds: float) -> frozenset[int]:
        """Compute missing labels and scores of ended items for about `seconds`, of one at least,
        those looked at first. Returns the rows that have become known; empty once all are."""
        with self._labelling:
            until, done = time.monotonic() + seconds, set()
            for row in self._wanting():
                if self._closed:
                    break
                if self._label(row):
                    done.add(row)
                # Never empty here, even if the item changed meanwhile: empty means that all are
                # known.
                if done and time.monotonic() >= until:
                    break
            return frozenset(done)

    def rank_words(self, trace: Trace, passage: str) -> str:
        """How high the searches of a trace, made again and deeper, rank a passage that none
        brought. Empty where the run's index is elsewhere, gone, or of another corpus."""
        return self.unfound(trace, passage)[0]

    def unfound(self, trace: Trace, id: str) -> tuple[str, Passage | None]:
        """The same, and the passage: None where no search has it and the corpus is a long one."""
        queries = _searched(trace.events)
        try:
            corpus = _searched_corpus(self.meta)
            if corpus is None:
                return "" if queries else _NO_SEARCH, None
            name = self.meta["system"].get("retriever")
            self._retriever = self._retriever or open_retriever(corpus.path, name)
            ranks: dict[int, Passage] = {}
            for hits in self._retriever.search(queries, DEPTH) if queries else ():
                ranks |= {n: hit.passage for n, hit in enumerate(hits, 1) if hit.passage.id == id}
            passage = next(iter(ranks.values()), None) or _passage_of(corpus, id)
        except InputError:
            return "" if queries else _NO_SEARCH, None
        searches = counted(len(queries), "search", "searches")
        if not queries:
            return _NO_SEARCH, passage
        if not ranks:
            return f"not among the first {DEPTH:,} of {searches}", passage
        return f"rank {min(ranks):,} at best in {searches}", passage

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; waits for one item where another thread is labelling."""
        self._closed = True
        with self._labelling, self._lock:
            if self._labeller:
                self._labeller.close()
            self._reader.close()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with self._lock, as_input_errors(self.path):
            yield

    def _known(self, row: int) -> ItemLine:
        line = self._lines[row]
        assert line is not None, "the page was just read"
        return line

    def _load(self, row: int) -> None:
        """Read the page of a row that is not known, with what was saved of its rows."""
        if self._lines[row] is not None:
            return
        page = range(row - row % PAGE, min(row - row % PAGE + PAGE, self.count))
        first, last = self._items[page[0]], self._items[page[-1]]
        items = readable_items(self._reader.rows.between, first, last)
        failed = {raw.item: raw.status == "failed" for raw in items if raw.status in ENDED}
        labels = self._scores.kept_labels(first, last, failed)
        for raw in items:
            self._take(self._row_of[raw.item], line_of(raw), labels.get(raw.item))
        for row in page:
            if self._lines[row] is None:
                self.is_damaged = True
                self._lines[row] = unread(self._items[row], "its record is damaged or gone")

    def _take(self, row: int, line: ItemLine, labels: tuple[str, ...] | None) -> None:
        if line.status in ENDED:
            failed = line.status == "failed"
            failures = self._watch.failures
            values = self._scores.kept(line.id, line.epoch, failed=failed, failures=failures)
            if values is None:
                self._unscored.add(row)
            labels = labels if is_attributable(self.task) else ()
            labels = self._worked_out.get(row) if labels is None else labels
            line = replace(line, scores=values or (), labels=labels)
        self._lines[row] = line

    def _score_some(self, rows: Iterable[int]) -> None:
        """Compute metrics while the allowance lasts, so that rows are never held up twice."""
        started = time.monotonic()
        for row in rows:
            if time.monotonic() - started >= self._allowance:
                break
            self._score(row)
        self._allowance = max(0.0, self._allowance - (time.monotonic() - started))

    def _score(self, row: int) -> None:
        line = self._known(row)
        raw = _raw(self._reader, line.number)
        item = answered(raw) if raw else None
        self._unscored.discard(row)
        if item is not None:
            self._lines[row] = replace(line, scores=self._scores.by_names(item))

    def _wanting(self) -> Iterable[int]:
        """Ended rows with something left to compute, in the order in which they were read."""
        for row in sorted(range(self.count), key=lambda row: self._lines[row] is None):
            if self._lines[row] is None:
                with self._reading():
                    self._load(row)
            line = self._lines[row]
            if line and line.status in ENDED and (line.labels is None or row in self._unscored):
                yield row

    def _label(self, row: int) -> bool:
        """Whether it succeeded: the item may have been restarted in the meantime."""
        with as_input_errors(self.path):
            if self._labeller is None:
                self._labeller = open_run(self.path)
            line = self._lines[row]
            if line is None:
                return False
            labels: tuple[str, ...] = ()
            with suppress(InputError):  # a damaged item has none: its row or its trace says so
                raw = _raw(self._labeller, line.number)
                item = answered(raw) if raw else None
                if item is not None and is_attributable(self.task):
                    events = self._labeller.events(line.number, contents=False)
                    errors = examine(self._scores.by_gold_set(item), events).errors
                    labels = tuple(sorted(map(str, errors.labels)))
            with self._lock:
                if self._lines[row] is not line:
                    return False
                self._worked_out[row] = labels
                self._lines[row] = replace(line, labels=labels)
                if row in self._unscored:
                    self._score(row)
        return True

    def _question(self, line: ItemLine) -> Question:
        """With its passages; of a damaged record what the row has."""
        try:
            return self._reader.question(self._questions[line.number])
        except (InputError, ValueError, TypeError, KeyError, AttributeError):
            return Question(id=line.id, question=line.question)


def _raw(reader: RunReader, item: int) -> RawItem | None:
    return next(iter(reader.rows.between(item, item)), None)


def _searched_corpus(meta: Mapping[str, Any]) -> Corpus | None:
    """The corpus that a run searched; None where it is elsewhere, or another one by now. Raises
    InputError where it cannot be read."""
    source = run_sources(meta).corpus
    if source is None or source.path is None or not needs_corpus(meta["system"].get("retriever")):
        return None
    corpus = Corpus.open(source.path)
    return corpus if source.sha256 in (None, corpus.sha256) else None


def _passage_of(corpus: Corpus, id: str) -> Passage | None:
    """A passage by its id, looked for among the first `MOST_LOOKED_AT`."""
    rows = range(min(len(corpus), MOST_LOOKED_AT))
    return next((corpus.passage(row) for row in rows if corpus.id(row) == id), None)


def _searched(events: Iterable[Event]) -> list[str]:
    """The different queries of a trace's searches, in order, failed ones left out."""
    queries: dict[str, None] = {}
    for call in read_conversation(events).calls:
        made = call.result.call
        if (
            made.tool == SEARCH_TOOL
            and call.result.error is None
            and isinstance(made.args, Mapping)
        ):
            more = made.args.get("more_queries") or ()
            every = [made.args.get("query"), *(more if isinstance(more, list) else ())]
            queries |= dict.fromkeys(q for q in every if isinstance(q, str) and q.strip())
    return list(queries)


def open_runs(paths: Sequence[Path]) -> list[RunView]:
    """Open runs in the order given, each once; a study's folder stands for its runs, base first.
    Raises InputError as `RunView.open`, and where no path is given."""
    if not paths:
        raise InputError("no run is named", remedy="name a run folder")
    opened: list[RunView] = []
    try:
        for path, name in named_runs(paths):
            opened.append(RunView.open(path, name))
    except BaseException:
        for view in opened:
            view.close()
        raise
    return opened
