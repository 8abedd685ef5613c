"""Runs the pending items of stores: many at once, each recorded the moment it ends."""

import asyncio
import heapq
import signal
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from branchwise.agents.caller import ModelError
from branchwise.agents.outages import PassEndedError
from branchwise.corpora.questions import Question
from branchwise.corpora.text import one_line, whole_characters
from branchwise.eval.pilots import pilot_ids
from branchwise.eval.store import PendingItem, RunStore, StoreError
from branchwise.eval.store.journal import ItemJournal
from branchwise.eval.tasks import Task
from branchwise.graphs.agent import Agent, Outcome
from branchwise.graphs.ledger import Ledger
from branchwise.trace.events import Error


class Observer(Protocol):
    """Is notified of a run's progress; the command line's progress bar is one."""

    def opens(self, what: str) -> None:
        """What is opened before the first question is asked; "": all is."""
        ...

    def ended(self, question: Question, record: dict[str, Any]) -> None:
        """An item ended and is committed."""
        ...


class Silent:
    """An observer for programs."""

    def opens(self, what: str) -> None:
        return None

    def ended(self, question: Question, record: dict[str, Any]) -> None:
        return None


@dataclass(frozen=True)
class RunState:
    """The items after a pass over them: `here` ended in it. `stopped`: why it ended early, None
    where it did not."""

    done: int
    failed: int
    pending: int = 0
    here: int = 0
    stopped: str | None = None

    @property
    def total(self) -> int:
        """How many items there are; none in a shard to which no item belongs."""
        return self.done + self.failed + self.pending


@dataclass(frozen=True)
class Part:
    """One system's part in a pass: its store, its agent and its observer.

    `name` prefixes the reason why the pass stopped if this part's model is the cause.
    """

    store: RunStore
    agent: Agent
    task: Task
    observer: Observer = field(default_factory=Silent)
    name: str = ""


async def run_pending(
    store: RunStore,
    agent: Agent,
    task: Task,
    *,
    concurrency: int,
    observer: Observer,
    retry_failed: bool = False,
    pilot: int | None = None,
) -> RunState:
    """Run every item that has not ended, `concurrency` at a time: `run_parts` with one part."""
    part = Part(store, agent, task, observer)
    return await run_parts([part], concurrency=concurrency, retry_failed=retry_failed, pilot=pilot)


async def run_parts(
    parts: Sequence[Part],
    *,
    concurrency: int,
    retry_failed: bool = False,
    pilot: int | None = None,
) -> RunState:
    """Run every item of all parts that has not ended, `concurrency` at a time; with `pilot` only
    that many questions, once each (`eval.pilots`).

    Items with the same number follow each other, in the order of the parts: systems that answer
    the same questions advance together. Interrupting (Ctrl-C) cancels what is in flight and leaves
    it to be continued: what was answered so far is recorded. A refused key, a spent allowance and a
    server that stays away stop the pass; any other failure ends its item alone. Closes the agents.
    Raises StoreError where a run cannot be written.
    """
    passes = [_Pass(part) for part in parts]
    pending = [p.pending(retry_failed, pilot) for p in passes]
    items = heapq.merge(*pending, key=lambda todo: todo[1].item)
    turns = asyncio.Lock()
    workers = [asyncio.ensure_future(_take(items, turns)) for _ in range(concurrency)]
    stopped: str | None = None
    with _interrupts(workers):
        try:
            await asyncio.gather(*workers)
        except PassEndedError as stop:
            stopped = str(stop)
        except asyncio.CancelledError:
            if (task_itself := asyncio.current_task()) and task_itself.cancelling():
                raise
            stopped = "interrupted"
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            for part in parts:
                await part.agent.aclose()
    here = sum(p.done + p.failed for p in passes)
    counts = Counter[str]()
    for part in parts:
        counts.update(part.store.reader.progress())
    return RunState(counts["done"], counts["failed"], counts["pending"], here, stopped)


async def _take(items: Iterator[tuple["_Pass", PendingItem]], turns: asyncio.Lock) -> None:
    """A worker: run items until none are left."""
    # Workers begin one after the other, each when the event loop has been round: else the first of
    # a thousand items would go on only when all had begun, and all would end together.
    async with turns:
        await asyncio.sleep(0)
    for its_pass, pending in items:
        await its_pass.run(pending)


class _Pass:
    """One part's pass over its pending items: what the workers share."""

    def __init__(self, part: Part) -> None:
        self._part, self._store, self._agent = part, part.store, part.agent
        self._has_tools = bool(part.agent.tools)
        self.done = self.failed = 0

    def pending(
        self, retry_failed: bool, pilot: int | None
    ) -> Iterator[tuple["_Pass", PendingItem]]:
        """What is to be run, each with this pass."""
        ids = pilot_ids([*self._store.reader.questions()], pilot) if pilot else None
        for pending in self._store.pending(retry_failed=retry_failed):
            if ids is None or (pending.epoch == 0 and pending.question.id in ids):
                yield self, pending

    async def run(self, pending: PendingItem) -> None:
        """Answer an item, record how it ended, and say so."""
        journal = self._store.begin(pending)
        record = await self._answer(pending.question, journal)
        failed = record["error"] is not None
        await journal.finish("failed" if failed else "done", record)
        self.failed += failed
        self.done += not failed
        self._part.observer.ended(pending.question, record)

    async def _answer(self, question: Question, journal: ItemJournal) -> dict[str, Any]:
        task, ledger = self._part.task, Ledger()
        brief = task.brief(question, has_tools=self._has_tools, system=self._agent.system)
        try:
            answered = await self._agent.answer(brief, journal, ledger, journal.opening)
            return outcome_record(answered, ledger)
        except (StoreError, PassEndedError):
            raise
        except ModelError as error:
            if self._is_hopeless(error):
                name = f"{self._part.name}: " if self._part.name else ""
                raise PassEndedError(f"{name}{error}") from error
            journal.event(*Error(kind=error.kind, message=str(error)).written())
            return error_record(error, ledger)
        except Exception as error:  # noqa: BLE001 - one item's failure must not end the others
            where = whole_characters(traceback.format_exc(limit=-3))
            journal.event(*Error(kind=type(error).__name__, message=where[-4000:]).written())
            return error_record(error, ledger)

    def _is_hopeless(self, error: ModelError) -> bool:
        """Whether every other question would end the same way: the key is refused, its quota is
        spent, or the model, path or permission is missing and nothing has been answered yet."""
        if error.kind == "auth" and error.status == 401:
            return True
        if error.kind == "rate_limit" and not error.retryable:
            return True
        return error.kind in ("auth", "not_found") and self.done == 0


@contextmanager
def _interrupts(workers: Sequence["asyncio.Future[None]"]) -> Iterator[None]:
    """SIGINT and SIGTERM cancel the workers; elsewhere than the main thread, nothing changes."""
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


MAX_ERROR_CHARS = 1000


def outcome_record(outcome: Outcome, ledger: Ledger) -> dict[str, Any]:
    """An item that was answered (perhaps with a format error, which `how` = failed says)."""
    return {
        "prediction": outcome.prediction.model_dump(mode="json"),
        "how": outcome.how,
        "problem": outcome.problem,
        "evidence": list(outcome.evidence),
        "turns": outcome.spent.turns,
        "calls": outcome.spent.calls,
        "tokens": outcome.spent.tokens,
        "usage": ledger.record(),
        "seconds": round(outcome.seconds, 3),
        "error": None,
    }


def error_record(error: BaseException, ledger: Ledger) -> dict[str, Any]:
    """An item that could not be answered: an empty prediction that counts 0, and why.

    The cost of its calls so far is kept: it was paid for.
    """
    kind = getattr(error, "kind", type(error).__name__)
    message = one_line(_words(error))[:MAX_ERROR_CHARS]
    return {
        "prediction": {},
        "how": "failed",
        "problem": None,
        "evidence": [],
        "usage": ledger.record(),
        "error": f"{kind}: {message}",
    }


def _words(error: BaseException) -> str:
    try:
        return whole_characters(str(error))
    except Exception:  # noqa: BLE001 - plug-ins and models may raise any exception
        return "(an error without words)"
