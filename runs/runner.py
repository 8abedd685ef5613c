"""Runs the pending items of stores: many at once, each recorded the moment it ends."""

import asyncio
import heapq
import re
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from branchwise.agents.outages import PassEndedError
from branchwise.base.process import rare_cycle_search
from branchwise.corpora.questions import Question
from branchwise.eval.tasks import Task
from branchwise.runs.answering import Answering, HasAnswers, status_of
from branchwise.runs.estimates import pilot_ids
from branchwise.runs.store import PendingItem, RunStore

if TYPE_CHECKING:
    from branchwise.graphs.agent import Agent


class Observer(Protocol):
    """Is notified of a run's progress; the command line's progress bar is one."""

    def opens(self, parts: str) -> None:
        """What is opened before the first question is asked; "": all is."""
        ...

    def ended(self, question: Question, record: dict[str, Any]) -> None:
        """An item ended and is committed."""
        ...


class Silent:
    def opens(self, parts: str) -> None:
        return None

    def ended(self, question: Question, record: dict[str, Any]) -> None:
        return None


_STEP, _LATE = 0.004, 0.02
"""Seconds between two items that begin, and by which the event loop may be late meanwhile."""

ENDLESS = 10
"""Questions in a row that fail alike, no other having been answered, after which a pass ends: one
that its server fails at is not so many."""
_PASSING = frozenset(
    {"server", "timeout", "connection", "cut", "interrupted", "invalid_response", "rate_limit"}
)
"""Kinds of failures that are the server's, each of which was asked again already."""
INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class RunState:
    """The items after a pass; `here` ended in it, `is_endless`: stopped as all failed alike."""

    done: int
    failed: int
    pending: int = 0
    here: int = 0
    stopped: str | None = None
    is_endless: bool = False

    @property
    def total(self) -> int:
        return self.done + self.failed + self.pending


@dataclass(frozen=True)
class Part:
    """One system's part in a pass; `name` prefixes the reason where it stopped the pass."""

    store: RunStore
    agent: "Agent"
    task: Task
    observer: Observer = field(default_factory=Silent)
    name: str = ""


class EndlessFailureError(PassEndedError):
    """Question after question failed alike."""


class Engine(Protocol):
    """Where items are answered; `started` for a pass. `has_answers`: by part."""

    def started(
        self, parts: Sequence[Part], has_answers: Sequence[HasAnswers]
    ) -> AbstractAsyncContextManager["AnswerItem"]: ...


AnswerItem = Callable[[int, PendingItem], Awaitable[dict[str, Any]]]
"""Answers an item of the part with this number; returns its record once that is committed."""


class InThisProcess:
    @asynccontextmanager
    async def started(
        self, parts: Sequence[Part], has_answers: Sequence[HasAnswers]
    ) -> AsyncIterator[AnswerItem]:
        async def answer(number: int, pending: PendingItem) -> dict[str, Any]:
            journal = parts[number].store.begin(pending)
            answering = systems[number]
            record = await answering.record_of(pending.question, journal, journal.opening)
            await journal.finish(status_of(record), record)
            return record

        systems = [
            Answering(part.agent, part.task, part.name, asked)
            for part, asked in zip(parts, has_answers, strict=True)
        ]
        yield answer


async def run_parts(
    parts: Sequence[Part],
    *,
    concurrency: int,
    retry_failed: bool = False,
    pilot: int | None = None,
    engine: Engine | None = None,
) -> RunState:
    """Run every item of all parts that has not ended, `concurrency` at a time; with `pilot` only
    that many questions, once each. Items of one number follow each other: systems advance together.
    Ctrl-C leaves what is in flight to be continued. A refused key, a spent allowance and a server
    that stays away stop the pass. Closes the agents. Raises StoreError."""
    passes = [_Pass(number, part) for number, part in enumerate(parts)]
    pending = [pass_.pending(retry_failed, pilot) for pass_ in passes]
    items = heapq.merge(*pending, key=lambda todo: todo[1].item)
    stopped: str | None = None
    is_endless = False
    try:
        started = (engine or InThisProcess()).started(parts, [p.has_answers for p in passes])
        async with started as answer:
            with rare_cycle_search():
                await _answer_all(items, answer, concurrency)
    except PassEndedError as stop:
        # A server's sentence brings its own full stop.
        stopped, is_endless = str(stop).rstrip("."), isinstance(stop, EndlessFailureError)
    except asyncio.CancelledError:
        if (task_itself := asyncio.current_task()) and task_itself.cancelling():
            raise
        stopped = INTERRUPTED
    finally:
        for part in parts:
            await part.agent.aclose()
    here = sum(p.done + p.failed for p in passes)
    counts = Counter[str]()
    for part in parts:
        counts.update(part.store.reader.progress())
    return RunState(counts["done"], counts["failed"], counts["pending"], here, stopped, is_endless)


async def _answer_all(
    items: Iterator[tuple["_Pass", PendingItem]], answer: AnswerItem, concurrency: int
) -> None:
    gate = Gate()

    async def work() -> None:
        await gate.passed()
        for its_pass, pending in items:
            its_pass.ended(pending, await answer(its_pass.number, pending))
        gate.is_open = True

    workers = [asyncio.ensure_future(work()) for _ in range(concurrency)]
    with _interrupts(workers):
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)


class Gate:
    """Lets workers begin one after the other, while this process keeps up with those before."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.is_open = False
        self._clock, self._turns = clock, asyncio.Lock()

    async def passed(self) -> None:
        async with self._turns:
            while not self.is_open:
                before = self._clock()
                await asyncio.sleep(_STEP)
                if self._clock() - before < _STEP + _LATE:
                    return


class _Pass:
    def __init__(self, number: int, part: Part) -> None:
        self.number, self._part, self._store = number, part, part.store
        self.done = self.failed = 0
        self._failing, self._alike = "", set[str]()

    async def has_answers(self) -> bool:
        return self.done > 0

    def pending(
        self, retry_failed: bool, pilot: int | None
    ) -> Iterator[tuple["_Pass", PendingItem]]:
        ids = pilot_ids([*self._store.reader.questions()], pilot) if pilot else None
        for pending in self._store.pending(retry_failed=retry_failed):
            if ids is None or (pending.epoch == 0 and pending.question.id in ids):
                yield self, pending

    def ended(self, pending: PendingItem, record: dict[str, Any]) -> None:
        """Count an item that is recorded as ended, and say so. Raises EndlessFailureError."""
        failed = status_of(record) == "failed"
        self.failed += failed
        self.done += not failed
        self._part.observer.ended(pending.question, record)
        kind, _, words = (record["error"] or "").partition(": ")
        failing = re.sub(r"\d+", "#", words) if kind in _PASSING else ""
        if failing != self._failing:
            self._failing, self._alike = failing, set()
        self._alike |= {pending.question.id} if failing else set()
        if len(self._alike) >= ENDLESS:
            name = f"{self._part.name}: " if self._part.name else ""
            count = f"{len(self._alike)} questions in a row failed alike"
            raise EndlessFailureError(f"{name}{count} ({words})")


@contextmanager
def _interrupts(workers: Sequence["asyncio.Future[None]"]) -> Iterator[None]:
    loop = asyncio.get_running_loop()

    def cancel() -> None:
        for worker in workers:
            worker.cancel()

    signals = (signal.SIGINT, signal.SIGTERM)
    try:
        for number in signals:
            loop.add_signal_handler(number, cancel)
    except (ValueError, RuntimeError, NotImplementedError):
        yield
        return
    try:
        yield
    finally:
        for number in signals:
            loop.remove_signal_handler(number)
