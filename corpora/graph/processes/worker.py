"""The process that forks query processes: `python -m branchwise.corpora.graph.processes.worker`.

It imports the parsers and loads a small graph into memory once. Each query process is a fork of
it: there in 3 milliseconds instead of most of a second, and with the graph in shared pages. That is
what makes it cheap to kill a query. It has one thread, opens no on-disk store itself (RocksDB
starts threads, and threads do not survive a fork), and outlives neither its host nor its children.
"""

import ctypes
import fcntl
import os
import resource
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from branchwise.corpora.graph.description import STORE_FOLDER
from branchwise.corpora.graph.processes.frames import receive_frame, send_frame
from branchwise.corpora.graph.processes.serving import Holdings, open_holdings, serve

_PR_SET_PDEATHSIG = 1
_OPENED_AT_ONCE = 9
"""Tables that RocksDB opens with a store, however few handles it is given: a quarter of those that
Oxigraph leaves to it, and Oxigraph wants 96 or more. It is 16 where there are enough of them."""


def main(arguments: list[str]) -> None:
    """Keep query processes for the host that holds the other end of standard input.

    Arguments: the graph's folder or "-", how many bytes a query process may take beside what it
    has from here, up to how many triples a graph is loaded into memory, and the SHA-256 that the
    graph must have ("" for any).
    """
    folder, memory, in_memory, sha256 = arguments
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _allow_all_files()
    control = socket.socket(fileno=0)
    _end_with_host(control)
    try:
        holdings = open_holdings(None if folder == "-" else Path(folder), int(in_memory), sha256)
    except Exception as error:  # noqa: BLE001 (whatever it is, the host must hear of it)
        send_frame(control, {"error": type(error).__name__})
        return
    _read_of_its_end(control)
    with suppress(EOFError, OSError):
        send_frame(control, {"ready": True})
        _keep(control, holdings, int(memory))


def _end_with_host(control: socket.socket) -> None:
    """Let the system end this process when its host is gone, in the middle of loading a graph.

    Nothing is read then, and there may be no thread that reads. The host says nothing until it has
    heard that this process is ready: what the signal tells is that the other end was closed.
    """
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(control, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(control, fcntl.F_SETFL, fcntl.fcntl(control, fcntl.F_GETFL) | os.O_ASYNC)
    with suppress(BlockingIOError):
        if not control.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT):
            sys.exit()


def _read_of_its_end(control: socket.socket) -> None:
    """From now on the host's end is met by reading."""
    fcntl.fcntl(control, fcntl.F_SETFL, fcntl.fcntl(control, fcntl.F_GETFL) & ~os.O_ASYNC)


def _keep(control: socket.socket, holdings: Holdings, memory: int) -> None:
    """Start and end query processes as the host asks, until it is gone."""
    children: set[int] = set()
    try:
        while True:
            request = receive_frame(control)
            if request["do"] == "start":
                pid = _start(control, holdings, memory)
                children.add(pid)
                send_frame(control, {"pid": pid})
            else:
                send_frame(control, {"status": _end(request["pid"], children)})
    finally:
        for pid in tuple(children):
            _end(pid, children)


def _end(pid: int, children: set[int]) -> int:
    """Kill a child; its wait status, which says so where it had ended by itself before."""
    if pid not in children:
        return int(signal.SIGKILL)
    children.remove(pid)
    os.kill(pid, signal.SIGKILL)
    return os.waitpid(pid, 0)[1]


def _start(control: socket.socket, holdings: Holdings, memory: int) -> int:
    """Fork a query process that talks over the socket which the host sends along."""
    _, handles, _, _ = socket.recv_fds(control, 1, 1)
    pid = os.fork()
    if pid == 0:
        _become_query_process(control, socket.socket(fileno=handles[0]), holdings, memory)
    os.close(handles[0])
    return pid


def _become_query_process(
    control: socket.socket, host: socket.socket, holdings: Holdings, memory: int
) -> NoReturn:
    try:
        parent = os.getppid()
        control.close()
        _die_with_parent(parent)
        if holdings.folder is not None:
            os.chdir(holdings.folder)  # it stays this one when another is put in its place
        serve(host, holdings, lambda: _limit(holdings, memory), memory // 8)
    except BaseException:  # noqa: BLE001 (nothing may unwind into the parent's loop)
        os._exit(1)
    os._exit(0)


def _allow_all_files() -> None:
    """RocksDB keeps as many tables open as it may open files when it opens a store."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _limit(holdings: Holdings, memory: int) -> None:
    """Let this process take so many bytes more, dump no core, and open nothing more.

    RocksDB opens the tables of a large store when it needs them: such a process may open files.
    """
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        _bound(resource.RLIMIT_AS, pages * resource.getpagesize() + memory)
    _bound(resource.RLIMIT_CORE, 0)
    on_disk = holdings.folder is not None and holdings.in_memory is None
    if not on_disk or sum(1 for _ in Path(STORE_FOLDER).glob("*.sst")) <= _OPENED_AT_ONCE:
        _bound(resource.RLIMIT_NOFILE, 0)


def _bound(what: int, value: int) -> None:
    _, most = resource.getrlimit(what)
    value = value if most == resource.RLIM_INFINITY else min(value, most)
    resource.setrlimit(what, (value, value))


def _die_with_parent(parent: int) -> None:
    """Where Linux can do it; elsewhere the parent kills its children when its host is gone."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
