"""Query processes that are killed when a query takes too long.

Oxigraph and rdflib's parser cannot be interrupted: a runaway query would hold its thread for ever.
So each runs in a separate process that can be killed, under a memory limit.
"""

import signal
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from branchwise.corpora.cores import usable_cores
from branchwise.corpora.graph.answers import GraphError
from branchwise.corpora.graph.processes.frames import receive_frame, send_frame
from branchwise.corpora.graph.processes.keeper import Keeper, QueryProcess
from branchwise.corpora.graph.processes.turns import Turns
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
_CLOSING_SECONDS = 60.0

_MEMORY_SIGNALS = {signal.SIGABRT, signal.SIGKILL, signal.SIGSEGV, signal.SIGBUS}


class _Seat:
    """A place for a query process; empty until the first query, and after a kill."""

    process: QueryProcess | None = None

    def vacate(self) -> int | None:
        """End the process; its exit status, None where there was none."""
        process, self.process = self.process, None
        return None if process is None else process.end()


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
        self._seats = [_Seat() for _ in range(workers or _processes())]
        self._turns = Turns(self._seats)
        self._lock = threading.Lock()
        self._closed = False
        self._keeper = Keeper(*self._settings)

    def ask(self, sparql: str, seconds: float, wait: float | None = None) -> list[dict[str, Any]]:
        """A query process's frames for a query, the last one marked `last`.

        `seconds` limit the query; if they end after the first frame, that is all. Before that it
        waits for a free process for `wait` seconds, by default three times `seconds`: with many
        concurrent queries, most take far less than they may. Raises GraphError.
        """
        wait = WAIT * seconds if wait is None else wait
        try:
            seat = self._turns.take(wait)
        except TimeoutError:
            raise GraphError(
                "busy", f"No query process was free within {wait:g} s: try again."
            ) from None
        sparql = encodable(sparql)  # JSON may contain a lone surrogate
        try:
            return self._converse(seat, {"sparql": sparql}, seconds)
        finally:
            self._turns.give(seat)

    def prepare(self, sparql: str, seconds: float) -> "Prepared":
        """A query in the form for a remote graph; `seconds` also limit the wait. Raises
        GraphError.
        """
        from branchwise.corpora.graph.sparql.mentions import Mention
        from branchwise.corpora.graph.sparql.prepare import Prepared

        fields = self.ask(sparql, seconds, wait=seconds)[0]["prepared"]
        columns = fields["variables"]
        return Prepared(
            text=fields["text"],
            form=fields["form"],
            variables=None if columns is None else tuple(columns),
            patterns=tuple(fields["patterns"]),
            mentioned=tuple(
                Mention(number, iri, pattern, tuple(variables))
                for number, iri, pattern, variables in fields["mentioned"]
            ),
            alternatives=tuple(tuple(branch) for branch in fields["alternatives"]),
        )

    def close(self) -> None:
        """End all processes; queries that run or wait get a GraphError. May be called again."""
        with self._lock:
            self._closed = True
            keeper = self._keeper
        keeper.close()
        for seat in [self._turns.take(_CLOSING_SECONDS) for _ in self._seats]:
            seat.vacate()
            self._turns.give(seat)

    def _converse(
        self, seat: _Seat, request: dict[str, Any], seconds: float
    ) -> list[dict[str, Any]]:
        process = self._seated(seat)
        frames: list[dict[str, Any]] = []
        try:
            deadline = time.monotonic() + seconds
            send_frame(process.sock, request)
            while not frames or not frames[-1]["last"]:
                frames.append(receive_frame(process.sock, deadline))
        except TimeoutError:
            seat.vacate()
            if not frames:
                raise _timeout(seconds) from None
        except (EOFError, OSError):
            status = seat.vacate()
            self._living_keeper()
            if not frames:
                raise _ended(status, self._settings[1]) from None
        except BaseException:
            seat.vacate()
            raise
        if frames[-1].get("spent"):
            seat.vacate()
        if "error" in frames[-1]:
            raise GraphError(*frames[-1]["error"])
        return frames

    def _seated(self, seat: _Seat) -> QueryProcess:
        """The seat's process, started where there is none, twice where its parent had died."""
        if seat.process is not None and not seat.process.is_gone():
            return seat.process
        seat.vacate()
        for _ in range(2):
            keeper = self._living_keeper()
            try:
                seat.process = keeper.start()
            except (EOFError, OSError):
                self._replace(keeper)
            except GraphError:
                self._living_keeper()  # which says if the graph was closed meanwhile
                raise
            else:
                return seat.process
        raise GraphError("resources", "The process for queries cannot be started.")

    def _living_keeper(self) -> Keeper:
        """Raises GraphError once the pool is closed."""
        with self._lock:
            if self._closed:
                raise GraphError("resources", "The graph was closed.")
            return self._keeper

    def _replace(self, dead: Keeper) -> None:
        dead.close()
        with self._lock:
            if self._keeper is dead and not self._closed:
                self._keeper = Keeper(*self._settings)


def _processes() -> int:
    return max(_FEWEST, min(_MOST, usable_cores()))


def _timeout(seconds: float) -> GraphError:
    return GraphError(
        "timeout",
        f"The query was stopped after {seconds:g} s. Begin from a named entity (wd:Q...), use each "
        "pattern to narrow the one before, avoid patterns that share no variable, and add LIMIT.",
    )


def _ended(status: int | None, memory: int) -> GraphError:
    """The error for a process that ended during a query: usually it ran out of memory."""
    if status is not None and -status in _MEMORY_SIGNALS:
        return GraphError(
            "resources",
            f"The query needed more than {memory / 2**20:,.0f} MB of memory, or nested too deep, "
            "and was stopped: ask for less at once, with LIMIT or from a named entity.",
        )
    return GraphError("resources", "The query process ended unexpectedly: simplify the query.")
