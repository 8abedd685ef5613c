"""Runs the pending items of a store: many at once, each recorded the moment it ends."""

import asyncio
import signal
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from branchwise.agents.bodies import whole_characters
from branchwise.agents.caller import ModelError
from branchwise.corpora.questions import Question
from branchwise.eval.outcomes import error_record, outcome_record
from branchwise.eval.store import PendingItem, RunStore, StoreError
from branchwise.eval.store.journal import ItemJournal
from branchwise.eval.tasks import Task
from branchwise.graphs.agent import Agent, Brief
from branchwise.graphs.ledger import Ledger


class Observer(Protocol):
    """Is told how a run goes; the command line's progress bar is one."""

    def ended(self, question: Question, record: dict[str, Any]) -> None:
        """An item ended and is committed."""
        ...


class Silent:
    """An observer for programs."""

    def ended(self, question: Question, record: dict[str, Any]) -> None:
        return None


@dataclass(frozen=True)
class RunState:
    """How a pass over the items ended. `stopped`: why it ended early, None where it did not."""

    done: int
    failed: int
    stopped: str | None = None


class _PassEnded(Exception):  # noqa: N818 - says what happened; it is no error of ours
    """Ends the pass: going on would fail every item that is left."""


def brief_for(task: Task, question: Question, *, has_tools: bool) -> Brief:
    """What the task tells the agent about a question."""
    setting = task.setting(question, has_tools)
    given = question.passages if setting == "given" else ()
    line = " ".join(question.question.split())
    return Brief(task.prompt(setting), task.user_message(question, setting), line, given)


async def run_pending(
    store: RunStore,
    agent: Agent,
    task: Task,
    *,
    concurrency: int,
    observer: Observer,
    retry_failed: bool = False,
) -> RunState:
    """Run every item that has not ended, `concurrency` at a time.

    Interrupting (Ctrl-C) cancels what is in flight and leaves it to `resume`: what was answered
    so far is recorded. A refused key stops the pass; any other failure ends its item alone.
    Raises StoreError where the run cannot be written.
    """
    items = store.pending(retry_failed=retry_failed)
    work = _Pass(store, agent, task, observer)
    workers = [asyncio.ensure_future(work.take(items)) for _ in range(concurrency)]
    stopped: str | None = None
    with _interrupts(workers):
        try:
            await asyncio.gather(*workers)
        except _PassEnded as stop:
            stopped = str(stop)
        except asyncio.CancelledError:
            if (task_itself := asyncio.current_task()) and task_itself.cancelling():
                raise
            stopped = "interrupted"
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            await agent.aclose()
    return RunState(work.done, work.failed, stopped)


class _Pass:
    """The workers' shared state: one pass over the pending items."""

    def __init__(self, store: RunStore, agent: Agent, task: Task, observer: Observer) -> None:
        self._store, self._agent, self._task, self._observer = store, agent, task, observer
        self._has_tools = bool(agent.tools)
        self.done = self.failed = 0

    async def take(self, items: Iterator[PendingItem]) -> None:
        """Run items until there are none."""
        for pending in items:
            journal = self._store.begin(pending)
            record = await self._answer(pending.question, journal)
            failed = record["error"] is not None
            await journal.finish("failed" if failed else "done", record)
            self.failed += failed
            self.done += not failed
            self._observer.ended(pending.question, record)

    async def _answer(self, question: Question, journal: ItemJournal) -> dict[str, Any]:
        brief, ledger = brief_for(self._task, question, has_tools=self._has_tools), Ledger()
        try:
            return outcome_record(await self._agent.answer(brief, journal, ledger), ledger)
        except StoreError:
            raise
        except ModelError as error:
            if self._is_hopeless(error):
                raise _PassEnded(str(error)) from error
            journal.event("error", {"kind": error.kind, "message": str(error)})
            return error_record(error, ledger)
        except Exception as error:  # noqa: BLE001 - one item's failure must not end the others
            where = whole_characters(traceback.format_exc(limit=-3))
            journal.event("error", {"kind": type(error).__name__, "message": where[-4000:]})
            return error_record(error, ledger)

    def _is_hopeless(self, error: ModelError) -> bool:
        """Whether every other question would end the same way: the key is refused, its quota is
        spent, or there is no such model, path or permission and nothing has been answered yet."""
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
