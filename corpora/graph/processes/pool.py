"""Query processes that are killed when a query takes too long.

Oxigraph and rdflib's parser cannot be interrupted: a runaway query would hold its thread for ever.
So each runs in a separate process that can be killed, under a memory limit. See `worker`.
"""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from branchwise.corpora.cores import usable_cores
from branchwise.corpora.graph.answers import GraphError, QueryResult
from branchwise.corpora.text import encodable

if TYPE_CHECKING:
    from branchwise.corpora.graph.sparql.prepare import Prepared

MEMORY_BYTES = 2 * 2**30
"""What a query may take, beside the graph."""

IN_MEMORY_TRIPLES = 500_000
"""Graphs up to this size are held in memory, once for all query processes: 340 bytes a triple."""

WAIT = 3
"""A query may wait for a free process this many times as long as it may run."""

_FEWEST, _MOST = 2, 8
_STARTING_SECONDS = 120.0
_LATE = "There was no time left to find out why nothing matches."


class _Keeper:
    """The process that forks query processes, leader of their group. It loads at once.

    It has its own session, so that Ctrl-C reaches only the host, and ends with the host, because it
    reads the socket that the host holds.
    """

    def __init__(self, folder: Path | None, memory: int, in_memory: int, sha256: str) -> None:
        self.control, theirs = socket.socketpair()
        module = "branchwise.corpora.graph.processes.worker"
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
        """Kill all processes, and wait until the keeper is gone."""
        with suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self.control.close()


class _QueryProcess:
    """A process that answers one query at a time."""

    def __init__(self, keeper: _Keeper) -> None:
        """Raises GraphError if it cannot open the graph, EOFError or OSError if the keeper died."""
        ours, theirs = socket.socketpair()
        self.host = Connection(ours.detach())
        self._pid: int | None = None
        refusal: GraphError | None
        deadline = time.monotonic() + _STARTING_SECONDS
        try:
            with theirs:
                socket.send_fds(keeper.control, [b"!"], [theirs.fileno()])
            self._pid = self.receive(deadline)
            refusal = self.receive(deadline)
        except TimeoutError:
            refusal = GraphError("resources", "The graph takes too long to load.")
        except (EOFError, OSError):
            if self._pid is None:
                self.host.close()
                raise
            message = "The process for the query could not open the graph: build it again."
            refusal = GraphError("damaged", message)
        if refusal is not None:
            self.kill()
            self.host.close()
            raise refusal

    def receive(self, deadline: float) -> Any:
        """The next message. Raises TimeoutError, and EOFError or OSError if the process is gone."""
        if not self.host.poll(max(deadline - time.monotonic(), 0.0)):
            raise TimeoutError
        return self.host.recv()

    def kill(self) -> None:
        """Kill it, if it is there."""
        with suppress(OSError):
            if self._pid is not None:
                os.kill(self._pid, signal.SIGKILL)


class Pool:
    """Query processes over one graph folder, or over none: then they only prepare queries.

    Without `workers`, as many as there are processors, at least 2 and at most 8. `sha256`: of the
    graph that the folder must still hold whenever a process opens it.
    """

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
        """Start the keeper, and a thread for each query process: the longest waiting query is
        served first."""
        self._host = os.getpid()
        self._keeper = _Keeper(*self._settings)
        self._threads = ThreadPoolExecutor(self._workers)
        self._own = threading.local()

    def query(self, sparql: str, seconds: float) -> QueryResult:
        """A query's rows, and if there are none, why. Raises GraphError.

        `seconds` limit the query and the explanation. Before that it waits for a free process for
        three times as long: with many concurrent queries, most take far less than they may.
        """
        return cast(QueryResult, self._ask(sparql, seconds, WAIT * seconds))

    def prepare(self, sparql: str, seconds: float) -> "Prepared":
        """A query in the form for a remote graph; `seconds` also limit the wait.

        Raises GraphError.
        """
        return cast("Prepared", self._ask(sparql, seconds, seconds))

    def close(self) -> None:
        """End all processes; queries that run or wait get a GraphError. May be called again."""
        with self._lock:
            self._closed = True
        self._keeper.close()
        self._threads.shutdown(cancel_futures=True)

    def _ask(self, sparql: str, seconds: float, patience: float) -> Any:
        running: list[_QueryProcess] = []
        with self._lock:
            self._refuse_closed()
            if self._host != os.getpid():
                self._begin()  # this process was forked, without the threads
            asked = self._threads.submit(self._answer, sparql, seconds, running)
        try:
            with suppress(TimeoutError, CancelledError):
                asked.exception(patience)
            if asked.cancel():
                self._refuse_closed()
                message = f"No query process was free within {patience:g} s: try again."
                raise GraphError("busy", message)
            return asked.result()
        finally:
            if not asked.cancel() and not asked.done():  # Ctrl-C
                for process in running:
                    process.kill()

    def _answer(self, sparql: str, seconds: float, running: list[_QueryProcess]) -> Any:
        process = self._started()
        running.append(process)
        answers: list[Any] = []
        deadline = time.monotonic() + seconds
        more = True
        try:
            process.host.send(encodable(sparql))
            while more:
                answer, more, spent = process.receive(deadline)
                answers.append(answer)
        except (EOFError, OSError) as error:
            if isinstance(error, TimeoutError):
                process.kill()
            process.host.close()
            self._refuse_closed()
            if not answers:
                raise _stopped(error, seconds, self._settings[1]) from None
        else:
            self._own.process = None if spent else process
        if isinstance(answers[-1], GraphError):
            raise answers[-1]
        if more or len(answers) > 1:
            notes = (_LATE,) if more else answers[1]
            return replace(answers[0], notes=(*answers[0].notes, *notes))
        return answers[0]

    def _started(self) -> _QueryProcess:
        """This thread's idle process, or a new one; tries twice where the keeper had died."""
        idle: _QueryProcess | None = getattr(self._own, "process", None)
        self._own.process = None
        if idle is not None and not idle.host.poll():  # it said nothing unasked, so it is there
            return idle
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
            except GraphError:
                self._refuse_closed()  # which may be why the process did not open the graph
                raise
        raise GraphError("resources", "The process for queries cannot be started.")

    def _refuse_closed(self) -> None:
        if self._closed:
            raise GraphError("resources", "The graph was closed.")


def _stopped(error: Exception, seconds: float, memory: int) -> GraphError:
    """The error for a process that was late, or ended: usually it ran out of memory."""
    if isinstance(error, TimeoutError):
        return GraphError(
            "timeout",
            f"The query was stopped after {seconds:g} s. Begin from a named entity (wd:Q...), use "
            "each pattern to narrow the one before, avoid patterns that share no variable, and add "
            "LIMIT.",
        )
    return GraphError(
        "resources",
        f"The query needed more than {memory / 2**20:,.0f} MB of memory, or nested too deep, and "
        "was stopped: ask for less at once, with LIMIT or from a named entity.",
    )
