"""When a process is killed: at a random moment of its life, or while it writes."""

import random
import select
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from killing.launcher import Process

_LOOK = 0.0002
"""Seconds between two looks at what a process writes."""


class Moment(NamedTuple):
    """Seconds after the start, or after the `change`-th change of a watched file."""

    seconds: float
    change: int = 0


def draw(random: random.Random, life: float, changes: int) -> Moment:
    """Half of all moments lie anywhere in a process's life, a tenth each in its first and last
    milliseconds, the others on a file that it writes or renames.

    `life`, `changes`: the seconds and the changes of a process that was not killed.
    """
    kind = random.random()
    if kind < 0.5:
        return Moment(random.uniform(0.0, life))
    if kind < 0.6:
        return Moment(random.uniform(0.0, 0.01))
    if kind < 0.7:
        return Moment(max(0.0, life - random.uniform(0.0, 0.02)))
    return Moment(random.uniform(0.0, 0.001), random.randint(1, max(changes, 1)))


def kill_at(moment: Moment, process: Process, watched: Callable[[], Sequence[Path]]) -> None:
    """Kill the process at the moment, unless it ends before."""
    if moment.change and not _changes(process, watched, moment.change):
        return
    if not _ended(process, moment.seconds):
        process.kill()


def count_changes(process: Process, watched: Callable[[], Sequence[Path]]) -> int:
    """How often a look at the watched files finds another state, until the process ends."""
    return _changes(process, watched, 0)


def _changes(process: Process, watched: Callable[[], Sequence[Path]], enough: int) -> int:
    """Changes seen; 0 where the process ended before there were `enough` (0: all until its end)."""
    seen, before = 0, _look(watched())
    while not _ended(process, _LOOK):
        now = _look(watched())
        if now != before:
            seen, before = seen + 1, now
            if seen == enough:
                return seen
    return 0 if enough else seen


def _look(paths: Sequence[Path]) -> list[tuple[int, int, int] | None]:
    found: list[tuple[int, int, int] | None] = []
    for path in paths:
        try:
            state = path.stat()
            found.append((state.st_ino, state.st_size, state.st_mtime_ns))
        except OSError:
            found.append(None)
    return found


def _ended(process: Process, seconds: float) -> bool:
    if process.handle is None:
        return True
    if seconds < _LOOK:
        time.sleep(seconds)
        seconds = 0.0
    return bool(select.select([process.handle], [], [], seconds)[0])
