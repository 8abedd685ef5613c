"""The query processes of a host, seen from outside through Linux's /proc."""

import os
import select
from pathlib import Path
from typing import NamedTuple

COUNTRIES = "SELECT ?place WHERE { ?place wdt:P31 wd:Q6256 }"
ENDLESS = "SELECT (COUNT(*) AS ?n) WHERE { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }"
"""A cross product of the whole graph with itself, twice: 50,000,000,000 rows of 4,000 triples."""


class Process(NamedTuple):
    """A line of /proc: `busy` is processor time in clock ticks."""

    pid: int
    parent: int
    state: str
    busy: int


def processes() -> list[Process]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        busy = int(fields[11]) + int(fields[12])
        found.append(Process(int(path.parent.name), int(fields[1]), fields[0], busy))
    return found


def keepers(host: int | None = None) -> list[int]:
    """The processes of a host that fork query processes; no other kind of child counts."""
    children = [p for p in processes() if p.parent == (host or os.getpid()) and p.state != "Z"]
    return [p.pid for p in children if "branchwise.kg.processes.worker" in _command(p.pid)]


def query_processes(keeper: int) -> list[Process]:
    """The query processes of one keeper, and what is left of dead ones."""
    return [process for process in processes() if process.parent == keeper]


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def wait_until_busy(keeper: int, ticks: int = 5) -> Process:
    """The one query process of a keeper, once it has computed for 50 ms."""
    while True:
        for process in query_processes(keeper):
            if process.busy >= ticks:
                return process
        os.sched_yield()


def wait_until_none(keeper: int) -> None:
    """Until a keeper has no query process; what was killed is there for a moment more."""
    while query_processes(keeper):
        os.sched_yield()


def wait_until_gone(handles: list[int]) -> bool:
    """Whether the processes behind these pidfds all end within 20 seconds; closes them."""
    gone = []
    for handle in handles:
        gone.append(bool(select.select([handle], [], [], 20.0)[0]))
        os.close(handle)
    return all(gone)


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""
