"""The process that forks query processes: `python -m branchwise.kg.processes.worker`.

It imports the parsers and loads a small graph into memory once. Each query process is a fork of
it: there in milliseconds instead of most of a second, and with the graph in shared pages. That is
what makes it cheap to kill a query. It has one thread, opens no on-disk store itself (RocksDB
starts threads, and threads do not survive a fork), and outlives neither its host nor its children.
"""

import ctypes
import gc
import os
import pickle
import resource
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from pyoxigraph import DefaultGraph, RdfFormat, Store

from branchwise.base.errors import InputError
from branchwise.kg.answers import KgError, cut
from branchwise.kg.names.index import NameIndex
from branchwise.kg.processes.rows import explain_emptiness, run
from branchwise.kg.sparql.prepare import Prepared, prepare
from branchwise.kg.store import STORE_FOLDER, open_store, read_description, refuse_replaced

_PR_SET_PDEATHSIG = 1
_OPENED_AT_ONCE = 9
"""Tables that RocksDB opens with a store, however few handles it is given (16 if it can)."""

_WARM_UP = (
    """SELECT ?film ?filmLabel (COUNT(?cast) AS ?n) WHERE {
      ?film wdt:P31/wdt:P279* wd:Q11424 ; wdt:P577 ?date . OPTIONAL { ?film wdt:P161 ?cast }
      FILTER(YEAR(?date) > 1990) SERVICE wikibase:label { bd:serviceParam wikibase:language "en" }
    } GROUP BY ?film ?filmLabel HAVING(COUNT(?cast) > 1) ORDER BY DESC(?n) LIMIT 5""",
    "SELECT * WHERE { ?film wdt:P2147483647 ?director }",
    'ASK { ?film rdfs:label "film" }',
    "SELECT * WHERE { ?film",
)


class Opened(NamedTuple):
    store: Store
    names: NameIndex


def main(folder: str, memory: str, in_memory: str, sha256: str) -> None:
    """Start query processes until the host is gone; it sends their sockets on standard input.

    `folder`: the graph's, or "-": then they only prepare queries. `memory`: the bytes that a query
    process may take beside what it has from here. `in_memory`: up to how many triples a graph is
    loaded into memory. `sha256`: what the graph's description must say, "" for anything.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # RocksDB keeps as many tables open as it may open files
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    control = socket.socket(fileno=0)
    kg = None if folder == "-" else Path(folder)
    store = None
    with suppress(InputError):  # a query process says what is wrong
        # Import all that queries need: a query process cannot open the file of a module.
        names = None if kg is None else NameIndex.open(kg)
        for text in _WARM_UP:
            list(_answers(text, None if names is None else Opened(Store(), names)))
        if names is not None:
            names.close()
        store = None if kg is None else _in_memory(kg, int(in_memory))
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system reaps them
    keeper = os.getpid()
    try:
        while handles := socket.recv_fds(control, 1, 1)[1]:
            if os.fork() == 0:
                control.close()
                _serve(Connection(handles[0]), keeper, kg, store, int(memory), sha256)
            os.close(handles[0])
    finally:
        if os.getpid() == keeper:
            os.killpg(0, signal.SIGKILL)
        os._exit(1)


def _in_memory(folder: Path, most: int) -> Store | None:
    """The graph in memory, if it has at most so many triples and can be read. A child reads it from
    disk: that starts threads, which must not be here. Raises InputError."""
    triples = read_description(folder).triples
    if triples > most:
        return None
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        with suppress(BaseException), os.fdopen(theirs, "wb") as pipe:
            os.close(ours)
            open_store(folder).dump(pipe, RdfFormat.N_TRIPLES, from_graph=DefaultGraph())
        os._exit(0)
    os.close(theirs)
    store = Store()
    with os.fdopen(ours, "rb") as pipe, suppress(SyntaxError):
        store.bulk_load(pipe, RdfFormat.N_TRIPLES, lenient=True)
    os.waitpid(child, 0)
    return store if len(store) == triples else None


def _serve(
    host: Connection, keeper: int, kg: Path | None, store: Store | None, memory: int, sha256: str
) -> None:
    """Answer one query after another until the host is gone.

    It hears this process's number; None, or why the graph cannot be opened; and for each query
    tuples of an answer, whether another follows, and whether this process has grown so much that
    it ends: what a query took is not always given back, and the next would miss it.
    """
    if sys.platform == "linux":  # elsewhere only a keeper that is killed leaves it behind
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != keeper:
        return
    _say(host, os.getpid())
    try:
        opened = None if kg is None else _open(kg, store, sha256)
    except KgError as error:
        _say(host, error)
        return
    except InputError as error:
        message = f"The graph cannot be opened: {error.what}; {error.remedy}."
        _say(host, KgError("damaged", message))
        return
    _limit(memory, opened is None or store is not None)
    _say(host, None)
    at_first = _peak_bytes()
    spent = False
    while not spent:
        for answer, more in _answers(host.recv_bytes().decode(), opened):
            spent = _peak_bytes() - at_first > memory // 8
            _say(host, (answer, more, spent))


def _say(host: Connection, message: Any) -> None:
    """Send a message; Connection's own pickler looks up each class in Python."""
    host.send_bytes(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))


def _open(folder: Path, store: Store | None, sha256: str) -> Opened:
    """Open a folder, entered first so that all is one graph's, whatever happens to its name. Raises
    InputError, and KgError where the host opened another graph."""
    os.chdir(folder)
    here = Path()
    opened = Opened(open_store(here) if store is None else store, NameIndex.open(here))
    opened.names.labels(["http://www.wikidata.org/entity/Q1"])
    refuse_replaced(here, sha256)
    return opened


def _limit(memory: int, all_open: bool) -> None:
    """Let this process take so many bytes more, dump no core, and open nothing more. RocksDB opens
    the tables of a large store when it needs them: such a process may open files."""
    limits = {resource.RLIMIT_CORE: 0}
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limits[resource.RLIMIT_AS] = pages * resource.getpagesize() + memory
    if all_open or sum(1 for _ in Path(STORE_FOLDER).glob("*.sst")) <= _OPENED_AT_ONCE:
        limits[resource.RLIMIT_NOFILE] = 0
    for limit, value in limits.items():
        _, most = resource.getrlimit(limit)
        value = value if most == resource.RLIM_INFINITY else min(value, most)
        resource.setrlimit(limit, (value, value))


def _peak_bytes() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _answers(text: str, opened: Opened | None) -> Iterator[tuple[Any, bool]]:
    """What answers a query (without a graph, a Prepared), each with whether more follows."""
    try:
        prepared = _prepared(text)
        if opened is None:
            yield prepared, False
            return
        answer = run(opened.store, opened.names, prepared)
        empty = answer.complete and not (answer.rows or answer.boolean)
        yield answer, empty
        if empty:
            notes: tuple[str, ...] = ()
            # The empty answer stands, even if the explanation fails.
            with suppress(SyntaxError, OSError, ValueError, RuntimeError):
                notes = tuple(cut(note) for note in explain_emptiness(prepared, *opened))
            yield notes, False
    except KgError as error:
        yield KgError(error.kind, cut(str(error))), False
    except (MemoryError, RecursionError):
        message = "The query needs more memory or deeper nesting than is allowed: simplify it."
        yield KgError("resources", message), False
    except Exception as error:  # noqa: BLE001 (a fault of ours must not end the conversation)
        message = f"The query could not be evaluated ({type(error).__name__}): write it otherwise."
        yield KgError("resources", message), False


@lru_cache(maxsize=256)
def _prepared(text: str) -> Prepared:
    return prepare(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
