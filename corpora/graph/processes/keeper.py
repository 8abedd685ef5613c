"""The host's side of the process that forks query processes."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from branchwise.corpora.graph.answers import GraphError
from branchwise.corpora.graph.processes.frames import receive_frame, send_frame

LOADING_SECONDS = 120.0
"""How long a graph may take to load before the first query."""

_OPENING_SECONDS = 30.0
_ENDING_SECONDS = 10.0


class QueryProcess:
    """A process that answers one request at a time, and the socket to it."""

    def __init__(self, keeper: "Keeper", pid: int, sock: socket.socket) -> None:
        self._keeper = keeper
        self.pid = pid
        self.sock = sock

    def end(self) -> int:
        """Kill it; returns its exit status as from `os.waitstatus_to_exitcode`.

        If it had already ended by itself, that is the status.
        """
        self.sock.close()
        return self._keeper.end(self.pid)

    def is_gone(self) -> bool:
        """Whether it ended while idle: then its socket reads as closed, otherwise it is empty."""
        self.sock.setblocking(False)
        try:
            self.sock.recv(1)
        except BlockingIOError:
            return False
        except OSError:
            return True
        finally:
            self.sock.setblocking(True)
        return True


class Keeper:
    """Starts and ends query processes; usable from any thread.

    The process is started at once and loads while the host goes on; the first `start` waits for it.
    It has its own session, so that Ctrl-C reaches only the host, and ends with the host, because it
    reads the socket that the host holds.
    """

    def __init__(self, folder: Path | None, memory: int, in_memory: int, sha256: str = "") -> None:
        """`sha256`: of the graph that the folder must still hold when a query process opens it."""
        self._lock = threading.Lock()
        self._ready = False
        self._control, theirs = socket.socketpair()
        source = "-" if folder is None else str(folder.absolute())
        module = "branchwise.corpora.graph.processes.worker"
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", module, source, str(memory), str(in_memory), sha256],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )

    def start(self) -> QueryProcess:
        """A new query process, ready. Raises GraphError, and EOFError or OSError once dead."""
        with self._lock:
            self._await_ready()
            ours, theirs = socket.socketpair()
            try:
                with theirs:
                    send_frame(self._control, {"do": "start"})
                    socket.send_fds(self._control, [b"!"], [theirs.fileno()])
                pid = self._reply()["pid"]
            except BaseException:
                ours.close()
                raise
        started = QueryProcess(self, pid, ours)
        try:
            first = receive_frame(ours, time.monotonic() + _OPENING_SECONDS)
        except (EOFError, TimeoutError):
            started.end()
            message = "The process for the query could not open the graph: build it again."
            raise GraphError("damaged", message) from None
        if "error" in first:
            started.end()
            raise GraphError(*first["error"])
        return started

    def end(self, pid: int) -> int:
        """Kill a query process of this keeper; returns its exit status. See `QueryProcess.end`."""
        with self._lock:
            try:
                send_frame(self._control, {"do": "end", "pid": pid})
                return os.waitstatus_to_exitcode(self._reply()["status"])
            except (EOFError, OSError):
                return -signal.SIGKILL

    def close(self) -> None:
        """End all processes, and wait until they are gone."""
        if not self._ready:
            self._process.kill()
        with suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)
        try:
            self._process.wait(_ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        with self._lock:
            self._control.close()

    def _await_ready(self) -> None:
        if self._ready:
            return
        try:
            first = receive_frame(self._control, time.monotonic() + LOADING_SECONDS)
        except TimeoutError:
            raise GraphError("resources", "The graph takes too long to load.") from None
        if "error" in first:
            raise GraphError("damaged", "The graph cannot be opened: it must be built again.")
        self._ready = True

    def _reply(self) -> Any:
        return receive_frame(self._control, time.monotonic() + _OPENING_SECONDS)
