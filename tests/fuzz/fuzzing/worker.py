"""One target in a process of its own: bounded in memory, watched from outside for time."""

import faulthandler
import os
import resource
import tempfile
import time
import traceback
from collections.abc import MutableSequence, Sequence
from dataclasses import dataclass
from pathlib import Path

from fuzzing.fence import fence_in
from fuzzing.findings import Findings, explain, kind_of
from fuzzing.ground import Ground
from fuzzing.target import Check, Target

NUMBER, BEGAN, ACCEPTED, REFUSED, FOUND = range(5)
"""Places in what a worker shares with the process that watches it: number and beginning
(`time.monotonic`; 0 while there is none) of the input that it is at, and how many ended how."""
MOST_INPUTS = 3_000
"""After so many a process ends and another goes on: what libraries keep does not add up."""
ENDED, RENEWED, BROKEN = 0, 3, 4


@dataclass(frozen=True)
class Work:
    """What a worker does: inputs of a target from number `first` to `end`, for `seconds`."""

    target: Target
    ground: Path
    findings: Path
    seed: int
    first: int
    end: int
    seconds: float


def work(task: Work, shared: MutableSequence[float], dump: Path) -> None:
    """Try inputs until the time or the inputs are over, then leave this process."""
    import signal

    os.setpgid(0, 0)
    with dump.open("w") as stacks, tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        faulthandler.enable(stacks)
        faulthandler.register(signal.SIGUSR1, stacks)
        os.dup2(stacks.fileno(), 2)  # what libraries complain of past `sys.stderr`
        here = Path(folder)
        os.chdir(here)
        tempfile.tempdir = folder
        fence_in([here, task.findings, dump])
        code = BROKEN
        try:
            code = ENDED if _tried(task, shared, here) else RENEWED
        except KeyboardInterrupt:
            pass
        except BaseException:  # noqa: BLE001 - of this program, not of what it tries
            stacks.write(traceback.format_exc())
    os._exit(code)


def _tried(task: Work, shared: MutableSequence[float], here: Path) -> bool:
    """Whether the time or the inputs are over."""
    ground, target = Ground(task.ground), task.target
    seeds, findings, kinds = target.seeds(ground), Findings(task.findings), set[str]()
    with target.open(ground, here) as check:
        bound_memory(target.memory)
        _check_seeds(target, check, seeds)
        until = time.monotonic() + task.seconds
        for number in range(task.first, min(task.end, task.first + MOST_INPUTS)):
            if time.monotonic() > until:
                return True
            data = target.input(seeds, task.seed, number)
            shared[NUMBER], shared[BEGAN] = number, time.monotonic()
            try:
                verdict = check(data)
                shared[ACCEPTED if verdict == "accepted" else REFUSED] += 1
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # noqa: BLE001 - whatever it is, it was not to come here
                shared[FOUND] += 1
                if (kind := kind_of(error)) not in kinds:
                    kinds.add(kind)
                    findings.keep(target.name, data, f"{kind}\n{explain(error)}")
            shared[BEGAN] = 0.0
    return number + 1 >= task.end


def _check_seeds(target: Target, check: Check, seeds: Sequence[bytes]) -> None:
    """Raise RuntimeError where none is accepted: mutations of it would show little."""
    if target.accepts and not any(check(data) == "accepted" for data in seeds):
        raise RuntimeError(f"no seed of {target.name} is accepted")


def bound_memory(more: int) -> None:
    """Let this process have `more` bytes than it has now; what would take more is a MemoryError."""
    with Path("/proc/self/status").open() as status:
        sizes = dict(line.split(":", 1) for line in status)
    now = int(sizes["VmData"].split()[0]) * 1024
    resource.setrlimit(resource.RLIMIT_DATA, (now + more, resource.RLIM_INFINITY))
