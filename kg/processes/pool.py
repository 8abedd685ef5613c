"""Query processes that are killed when a query takes too long.

Oxigraph and rdflib's parser cannot be interrupted: a runaway query would hold its thread for ever.
So each runs in a separate process that can be killed, under a memory limit. See `worker`.
"""

import os
import pickle
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from branchwise.base.process import usable_cores
from branchwise.base.text import encodable
from branchwise.kg.answers import KgError, QueryResult, Term

if TYPE_CHECKING:
    from branchwise.kg.sparql.prepare import Prepared

MEMORY_BYTES = 2 * 2**30
"""What a query may take, beside the graph."""

IN_MEMORY_TRIPLES = 500_000
"""Graphs up to this size are held in memory, once for all query processes: 340 bytes a triple."""

WAIT = 3
"""A query may wait for a free process this many times as long as it may run."""

_FEWEST, _MOST = 2, 8
_STARTING_SECONDS = 120.0
_CLOSING_SECONDS = 60.0
_LONGEST_WAIT = 1e6  # seconds; the system takes no more milliseconds than fit 31 bits
_LATE = "There was no time left to find out why nothing matches."


class _Keeper:
    """The process that forks query processes, leader of their group. Its session is its own, so
    that Ctrl-C reaches only the host; it ends with the host, whose socket it reads."""

    def __init__(self, folder: Path | None, memory: int, in_memory: int, sha256: str) -> None:
        self.control, theirs = socket.socketpair()
        module = "branchwise.kg.processes.worker"
        source = "-" if folder is None else str(folder.absolute())
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", module, source, str(memory), str(in_memory), sha256],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )

    def close(self) -> None:
        with suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self.control.close()


class _QueryProcess:
    def __init__(self, keeper: _Keeper) -> None:
        """Raises KgError if it cannot open the graph, EOFError or OSError if the keeper died."""
        ours, theirs = socket.socketpair()
        self.poll = select.poll()
        self.poll.register(ours, select.POLLIN)
        self.host = Connection(ours.detach())
        self._pid: int | None = None
        refusal: KgError | None
        deadline = time.monotonic() + _STARTING_SECONDS
        try:
            with theirs:
                socket.send_fds(keeper.control, [b"!"], [theirs.fileno()])
            self._pid = self.receive(deadline)
            refusal = self.receive(deadline)
        except TimeoutError:
            refusal = KgError("resources", "The graph takes too long to load.")
        except (EOFError, OSError):
            if self._pid is None:
                self.host.close()
                raise
            message = "The process for the query could not open the graph: build it again."
            refusal = KgError("damaged", message)
        if refusal is not None:
            self.kill()
            self.host.close()
            raise refusal

    def receive(self, deadline: float) -> Any:
        """The next message. Raises TimeoutError, and EOFError or OSError if the process is gone."""
        left = min(max(deadline - time.monotonic(), 0.0), _LONGEST_WAIT)
        if not self.poll.poll(left * 1000):
            raise TimeoutError
        return pickle.loads(self.host.recv_bytes())  # noqa: S301 - our own process wrote it

    def kill(self) -> None:
        with suppress(OSError):
            if self._pid is not None:
                os.kill(self._pid, signal.SIGKILL)


class _Turns:
    """Query processes that threads take and give back, None where one must be started. The longest
    waiting thread comes first: with a lock or a queue, others could overtake it again and again."""

    def __init__(self, count: int) -> None:
        self._free: deque[_QueryProcess | None] = deque([None] * count)
        self._waiting: deque[Future[_QueryProcess | None]] = deque()
        self._lock = threading.Lock()

    def take(self, seconds: float) -> _QueryProcess | None:
        """Raises TimeoutError if nothing was given back in time."""
        with self._lock:
            if self._free:
                return self._free.popleft()
            turn: Future[_QueryProcess | None] = Future()
            self._waiting.append(turn)
        try:
            return turn.result(seconds)
        except BaseException as error:
            if not turn.cancel():  # it was served just then
                if isinstance(error, TimeoutError):
                    return turn.result()
                self.give(turn.result())
            raise

    def give(self, process: _QueryProcess | None) -> None:
        with self._lock:
            while self._waiting:
                turn = self._waiting.popleft()
                if turn.set_running_or_notify_cancel():
                    turn.set_result(process)
                    return
            self._free.append(process)


class Pool:
    """Query processes over one graph folder, or over none: then they only prepare queries. Without
    `workers`, one a processor, 2 to 8. `sha256`: of the graph that the folder must still hold."""

    def __init__(
        self,
        folder: Path | None = None,
        workers: int | None = None,
        memory: int = MEMORY_BYTES,
        in_memory: int = IN_MEMORY_TRIPLES,
        sha256: str = "",
    ) -> None:
        self._settings = (folder, memory, in_memory, sha256)
        self._workers = workers or max(_FEWEST, min(_MOST, usable_cores()))
        self._lock = threading.Lock()
        self._closed = False
        self._begin()

    def _begin(self) -> None:
        self._host = os.getpid()
        self._keeper = _Keeper(*self._settings)
        self._turns = _Turns(self._workers)

    def query(self, sparql: str, seconds: float) -> QueryResult:
        """A query's rows, and if there are none, why. Raises KgError. `seconds` limit query and
        explanation, and three times as long the wait: most take far less than they may."""
        answer = cast(QueryResult, self._ask(sparql, seconds, WAIT * seconds))
        rows = (tuple(None if cell is None else Term(*cell) for cell in r) for r in answer.rows)
        return replace(answer, rows=tuple(rows))

    def prepare(self, sparql: str, seconds: float) -> "Prepared":
        """A query in the form for a remote graph; `seconds` also limit the wait. Raises KgError."""
        return cast("Prepared", self._ask(sparql, seconds, seconds))

    def close(self) -> None:
        """End all processes; queries that run or wait get a KgError. May be called again."""
        with self._lock:
            self._closed = True
        if self._host != os.getpid():
            return  # this process was forked: those processes are its parent's
        self._keeper.close()
        for process in [self._turns.take(_CLOSING_SECONDS) for _ in range(self._workers)]:
            if process is not None:
                process.host.close()
            self._turns.give(None)

    def _ask(self, sparql: str, seconds: float, patience: float) -> Any:
        with self._lock:
            self._refuse_closed()
            if self._host != os.getpid():
                self._begin()  # this process was forked: those processes are its parent's
        try:
            process = self._turns.take(patience)
        except TimeoutError:
            message = f"No query process was free within {patience:g} s: try again."
            raise KgError("busy", message) from None
        kept = None
        try:
            process = self._started(process)
            answers, kept = self._answers(process, sparql, seconds)
        finally:
            self._turns.give(kept)
        if isinstance(answers[-1], KgError):
            raise answers[-1]
        if len(answers) > 1:
            return replace(answers[0], notes=(*answers[0].notes, *answers[1]))
        return answers[0]

    def _answers(
        self, process: _QueryProcess, sparql: str, seconds: float
    ) -> tuple[list[Any], _QueryProcess | None]:
        """What a process answers, and the process, if it may be asked again. Raises KgError."""
        answers: list[Any] = []
        deadline = time.monotonic() + seconds
        more = True
        try:
            process.host.send_bytes(encodable(sparql).encode())
            while more:
                answer, more, spent = process.receive(deadline)
                answers.append(answer)
        except BaseException as error:
            ended = isinstance(error, EOFError | OSError) and not isinstance(error, TimeoutError)
            if not ended:
                process.kill()
            process.host.close()
            if not isinstance(error, EOFError | OSError):
                raise
            self._refuse_closed()
            if not answers:
                raise _stopped(error, seconds, self._settings[1]) from None
            return [*answers, (_LATE,)], None
        return answers, None if spent else process

    def _started(self, idle: _QueryProcess | None) -> _QueryProcess:
        """The idle process, or a new one if it has ended; tries twice where the keeper had."""
        if idle is not None:
            if not idle.poll.poll(0):  # what it says unasked is its end
                return idle
            idle.host.close()
        self._refuse_closed()
        for _ in range(2):
            keeper = self._keeper
            try:
                return _QueryProcess(keeper)
            except (EOFError, OSError):
                with self._lock:
                    self._refuse_closed()
                    if self._keeper is keeper:
                        keeper.close()
                        self._keeper = _Keeper(*self._settings)
            except KgError:
                self._refuse_closed()  # which may be why the process did not open the graph
                raise
        raise KgError("resources", "The process for queries cannot be started.")

    def _refuse_closed(self) -> None:
        if self._closed:
            raise KgError("resources", "The graph was closed.")


def _stopped(error: Exception, seconds: float, memory: int) -> KgError:
    """The error for a process that was late, or ended: usually it ran out of memory."""
    if isinstance(error, TimeoutError):
        return KgError(
            "timeout",
            f"The query was stopped after {seconds:g} s. Begin from a named entity (wd:Q...), use "
            "each pattern to narrow the one before, avoid patterns that share no variable, and add "
            "LIMIT.",
        )
    return KgError(
        "resources",
        f"The query needed more than {memory / 2**20:,.0f} MB of memory, or nested too deep, and "
        "was stopped: ask for less at once, with LIMIT or from a named entity.",
    )
