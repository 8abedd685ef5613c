"""Keeps a query process from other files, connections and programs, and from filling memory.

Queries are refused before they get here if they name a server or other data; this is for a query
that got past the checks. RocksDB opens the tables of a large store when it needs them, so opening
files cannot be forbidden altogether: the kernel allows only those of the graph.
"""

import resource
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from branchwise.corpora.graph.description import DESCRIPTION_FILE, NAMES_FILE, STORE_FOLDER
from branchwise.corpora.graph.processes.landlock import can_leave_only, leave_only
from branchwise.corpora.graph.processes.seccomp import can_refuse_calls, refuse_calls

_OPENED_AT_ONCE = 9
"""Tables that RocksDB opens with a store, however few handles it is given: a quarter of those that
Oxigraph leaves to it, and Oxigraph wants 96 or more. It is 16 where there are enough of them."""


def seal(folder: Path | None, in_memory: bool) -> Callable[[int], None]:
    """Restrict this process to reading the graph in a folder.

    Call it before anything is open and another thread runs. What comes back is called with a
    number of bytes when all is open: the memory that the process may take from then on.
    `in_memory`: the folder's store is not read any more. Where the kernel can do a part only, that
    is done. No handle is left where none is needed, or where the kernel cannot do all and a store
    has so few tables that they are open already.
    """
    pages = Path("/proc/self/statm").open() if sys.platform == "linux" else None  # noqa: SIM115
    readable = [] if folder is None else _parts(folder)
    sealed = all((leave_only(readable), refuse_calls()))
    tables = 0 if folder is None or in_memory else _tables(folder)
    opens_more = tables > (0 if sealed else _OPENED_AT_ONCE)

    def limit(memory: int) -> None:
        if pages is not None:
            pages.seek(0)
            size = int(pages.read().split()[0]) * resource.getpagesize()
            _limit(resource.RLIMIT_AS, size + memory)
            pages.close()
        _limit(resource.RLIMIT_CORE, 0)
        if not opens_more:
            _limit(resource.RLIMIT_NOFILE, 0)

    return limit


def not_withheld() -> tuple[str, ...]:
    """What this system cannot keep from a query process whose store is on disk."""
    return (
        *(() if can_leave_only() else ("other files",)),
        *(() if can_refuse_calls() else ("connections", "programs")),
    )


def allow_all_files() -> None:
    """RocksDB keeps as many tables open as it may open files when it opens a store."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _parts(folder: Path) -> list[Path]:
    """A graph's folder and what is in it, which may be links to elsewhere."""
    parts = (folder / name for name in (STORE_FOLDER, NAMES_FILE, DESCRIPTION_FILE))
    return [folder, *(part for part in parts if part.exists())]


def _tables(folder: Path) -> int:
    return sum(1 for _ in (folder / STORE_FOLDER).glob("*.sst"))


def _limit(what: int, value: int) -> None:
    _, most = resource.getrlimit(what)
    value = value if most == resource.RLIM_INFINITY else min(value, most)
    resource.setrlimit(what, (value, value))
