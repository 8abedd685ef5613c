"""Cases of one subject: kill, go on, kill again, until it ends; then compare."""

import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from killing.launcher import Ended, Launcher, Process
from killing.moments import Moment, count_changes, draw, kill_at
from killing.subjects import Subject

MAX_KILLS = 10
"""Of one case; then it is left to end."""

_AT_ENDS = 0.4
"""Of a process's life, about the share that it takes to start and to score."""


@dataclass
class Tally:
    """What came of the kills of a subject. `real`: those of `python -m branchwise`.

    `missed`: processes that ended before their moment. `again`: requests that were on their way at
    a kill. `lingered`: the longest, in seconds, that what a killed process had started outlived it.
    `left`: files in the folder for temporary files. `faults`: what is wrong, and how often.
    """

    cases: int = 0
    kills: int = 0
    real: int = 0
    missed: int = 0
    again: int = 0
    lingered: float = 0.0
    left: int = 0
    faults: Counter[str] = field(default_factory=Counter)


@dataclass
class _Life:
    """How long an undisturbed process lives, and how often what is watched changes."""

    seconds: float
    changes: int


class Campaign:
    """Kills one subject's processes."""

    def __init__(
        self, subject: Subject, launcher: Launcher, root: Path, moments: random.Random, real: float
    ) -> None:
        """`real`: of all kills, the share that meets real processes."""
        self.subject, self._launcher, self._root = subject, launcher, root
        self._random, self._share = moments, real
        self.tally = Tally()
        self._lives: dict[bool, _Life] = {}

    def learn(self) -> None:
        """Run the command undisturbed, as a fork and really: for comparison, and to take times."""
        for real in (True, False):
            self._begin()
            began = time.monotonic()
            process = self._start(real=real)
            changes = count_changes(process, self.subject.watched)
            seconds = time.monotonic() - began
            self._must_have_ended(process.wait())
            if real:
                self.subject.learn()
            self._lives[real] = _Life(seconds, changes)

    def kill(self, wanted: int) -> Iterator[None]:
        """Kill until there were so many; yields after each case."""
        while self.tally.kills < wanted:
            self._begin()
            self.tally.cases += 1
            kills = 0
            most = min(MAX_KILLS, wanted - self.tally.kills)
            while kills < most and self._strike():
                kills += 1
            if kills == most:
                self._must_have_ended(self._start(real=False).wait())
            self._note(self.subject.ended())
            self.tally.again += self.subject.again
            yield

    def _begin(self) -> None:
        shutil.rmtree(self._root, ignore_errors=True)
        (self._root / "tmp").mkdir(parents=True)
        self.subject.place.folder = self._root
        self.subject.begin()

    def _start(self, *, real: bool) -> Process:
        environment = {"TMPDIR": str(self._root / "tmp")}
        return self._launcher.start(self.subject.command(), self._root, environment, real=real)

    def _strike(self) -> bool:
        """Start a process and kill it; False where it ended before."""
        real = self._random.random() < self._share
        life, to_do = self._lives[real], self.subject.to_do
        seconds = life.seconds * (_AT_ENDS + (1.0 - _AT_ENDS) * to_do)
        moment = draw(self._random, seconds, round(life.changes * to_do))
        process = self._start(real=real)
        kill_at(moment, process, self.subject.watched)
        ended = process.wait()
        if ended.status != -signal.SIGKILL:
            self.tally.missed += 1
            self._must_have_ended(ended)
            return False
        self.tally.kills += 1
        self.tally.real += real
        self._see(ended, moment)
        self._note(self.subject.killed())
        return True

    def _see(self, ended: Ended, moment: Moment) -> None:
        self.tally.lingered = max(self.tally.lingered, ended.lingered)
        self.tally.left += len(list((self._root / "tmp").iterdir()))
        self._note([f"outlived it: {command}" for command in ended.left])

    def _must_have_ended(self, ended: Ended) -> None:
        if ended.status:
            said = (self._root / "complained").read_text().strip().splitlines()
            last = said[-1] if said else "without a word"
            self._note([f"exit code {ended.status}: {last}"])

    def _note(self, faults: list[str]) -> None:
        self.tally.faults.update(faults)
