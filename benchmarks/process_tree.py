"""The processes that one has started, directly or through others, as /proc lists them."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_TICK = os.sysconf("SC_CLK_TCK")


class Process(NamedTuple):
    """A running process: `seconds` of the processor it has used so far."""

    pid: int
    parent: int
    command: str
    seconds: float


def processes_below(pid: int) -> list[Process]:
    """All that a process has started, without itself."""
    running, found = list(_running()), {pid}
    while more := {one.pid for one in running if one.parent in found} - found:
        found |= more
    return [one for one in running if one.pid in found - {pid}]


def processor_seconds() -> float:
    """What this process has used so far; not what its children have."""
    spent = os.times()
    return spent.user + spent.system


def _running() -> Iterator[Process]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text().rpartition(")")[2].split()
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue  # it ended meanwhile
            seconds = (int(stat[11]) + int(stat[12])) / _TICK
            yield Process(int(entry.name), int(stat[1]), command, seconds)
