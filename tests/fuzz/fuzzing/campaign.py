"""All targets for some time, in processes that are watched: no input may take long or kill one."""

import multiprocessing
import os
import signal
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fuzzing.findings import Findings
from fuzzing.ground import Ground
from fuzzing.target import Target
from fuzzing.worker import (
    ACCEPTED,
    BEGAN,
    BROKEN,
    ENDED,
    FOUND,
    NUMBER,
    REFUSED,
    RENEWED,
    Work,
    work,
)

_START_SECONDS = 60.0
_FORK = multiprocessing.get_context("fork")


@dataclass
class Tally:
    """How many inputs of a target ended how; `seconds`: what they took together."""

    target: str
    accepted: int = 0
    refused: int = 0
    found: int = 0
    seconds: float = 0.0

    @property
    def inputs(self) -> int:
        return self.accepted + self.refused + self.found

    def line(self) -> str:
        counts = f"{self.refused:>7,} refused {self.accepted:>7,} accepted {self.found:>4,} found"
        return f"{self.target:<20} {self.inputs:>7,} inputs {counts} {self.seconds:>6.0f} s"


@dataclass(frozen=True)
class Plan:
    """`seconds` for all targets together; `inputs`: at most so many of each.

    `limit`: seconds of work that one input may take, or three times as many by the clock.
    """

    seconds: float
    seed: int
    workers: int
    findings: Path
    inputs: int = 10**9
    limit: float = 10.0


@dataclass
class _Job:
    """A target on its way: the process that is at it, and what it shares."""

    target: Target
    plan: Plan
    ground: Path
    seconds: float
    folder: Path
    tally: Tally = field(init=False)
    shared: Any = field(init=False)
    process: Any = None
    began: float = 0.0
    processor: float = 0.0
    at: float = -1.0

    def __post_init__(self) -> None:
        self.tally = Tally(self.target.name)
        self.shared = _FORK.Array("d", [0.0] * 5, lock=False)

    @property
    def dump(self) -> Path:
        return self.folder / f"{self.target.name}.stacks"

    def start(self, first: int) -> None:
        self.shared[NUMBER], self.shared[BEGAN] = first - 1, 0.0
        self.began, self.at = time.monotonic(), -1.0
        left = self.seconds - self.tally.seconds
        plan = self.plan
        task = Work(self.target, self.ground, plan.findings, plan.seed, first, plan.inputs, left)
        self.process = _FORK.Process(target=work, args=(task, self.shared, self.dump))
        self.process.start()

    def is_over(self) -> bool:
        """Look after the process; whether the target is done with."""
        if self.process.is_alive():
            if not self._late():
                return False
            why = self._killed()
        else:
            code = self.process.exitcode
            if code == BROKEN:
                raise SystemExit(f"{self.target.name}: {self.dump.read_text(errors='replace')}")
            why = "" if code in (ENDED, RENEWED) else f"the process ended with {code}\n"
        _end_group(self.process.pid)
        self.process.join()
        self.tally.seconds += time.monotonic() - self.began
        self._count()
        if why:
            self._keep(why)
        elif self.process.exitcode == ENDED:
            return True
        following = int(self.shared[NUMBER]) + 1
        if self.tally.seconds >= self.seconds or following >= self.plan.inputs:
            return True
        self.start(following)
        return False

    def stop(self) -> None:
        if self.process is not None and self.process.is_alive():
            _end_group(self.process.pid)
            self.process.join()
            self._count()

    def _late(self) -> bool:
        began, number = self.shared[BEGAN], self.shared[NUMBER]
        now = time.monotonic()
        if not began:
            return now - max(self.began, began) > self.seconds + _START_SECONDS
        used = _processor_seconds(self.process.pid)
        if number != self.at:
            self.at, self.processor = number, used
        limit = self.plan.limit
        return used - self.processor > limit or now - began > 3 * limit

    def _killed(self) -> str:
        os.kill(self.process.pid, signal.SIGUSR1)
        time.sleep(0.5)
        _end_group(self.process.pid)
        return "the input took too long; the stacks then:\n"

    def _count(self) -> None:
        self.tally.accepted = int(self.shared[ACCEPTED])
        self.tally.refused = int(self.shared[REFUSED])
        self.tally.found = int(self.shared[FOUND])

    def _keep(self, why: str) -> None:
        """What the process was at when it was ended is found, too."""
        stacks = self.dump.read_text(errors="replace")[-20_000:] if self.dump.exists() else ""
        seeds, number = self.target.seeds(Ground(self.ground)), int(self.shared[NUMBER])
        data = self.target.input(seeds, self.plan.seed, max(0, number))
        Findings(self.plan.findings).keep(self.target.name, data, f"{why}{stacks}")
        self.shared[FOUND] += 1
        self._count()


def run(targets: Sequence[Target], plan: Plan) -> Iterator[Tally]:
    """Try the targets, `plan.workers` at a time; a tally of each as it ends."""
    share = plan.seconds * plan.workers / max(1, len(targets))
    with tempfile.TemporaryDirectory(prefix="fuzz-ground-") as name:
        folder = Path(name)
        ground = folder / "ground"
        ground.mkdir()
        _prepare(targets, ground)
        waiting = deque(_Job(target, plan, ground, share, folder) for target in targets)
        running: list[_Job] = []
        try:
            while waiting or running:
                while waiting and len(running) < plan.workers:
                    running.append(waiting.popleft())
                    running[-1].start(0)
                time.sleep(0.05)
                for job in [job for job in running if job.is_over()]:
                    running.remove(job)
                    yield job.tally
        finally:
            for job in running:
                job.stop()


def load() -> None:
    """Import what most targets do: each process begins with it then."""
    import langchain_openai  # noqa: F401
    import rdflib.plugins.sparql  # noqa: F401

    from branchwise import cli  # noqa: F401
    from branchwise.ui.traces import plain  # noqa: F401


def _prepare(targets: Sequence[Target], ground: Path) -> None:
    """Make what the targets need, in another process: what libraries start is not to be forked."""

    def make() -> None:
        made = Ground(ground)
        for target in targets:
            for need in target.needs:
                getattr(made, need)
            target.seeds(made)
        os._exit(0)

    process = _FORK.Process(target=make)
    process.start()
    process.join()
    if process.exitcode:
        raise SystemExit(f"the inputs' surroundings could not be made ({process.exitcode})")


def _processor_seconds(pid: int) -> float:
    """Of all threads of a process."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _end_group(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
