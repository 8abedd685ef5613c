"""Targets with known faults, for the test of the fuzzer: `python planted.py FINDINGS`."""

import os
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from fuzzing.campaign import Plan, run
from fuzzing.ground import Ground
from fuzzing.target import Check, Opened, Target
from fuzzing.verdicts import Verdict, ended, refused

MEGABYTE = 2**20


def _fine(data: bytes) -> Verdict:
    return refused("branchwise: it is no number") if data != b"seed" else "accepted"


def _raises(data: bytes) -> Verdict:
    return "accepted" if data == b"seed" else _fine(bytes([data[10**6]]))


def _says_too_much(data: bytes) -> Verdict:
    return ended(2, "branchwise: 1 validation error for Question\n") if data else "refused"


def _spins(data: bytes) -> Verdict:
    while data != b"seed":
        pass
    return "accepted"


def _dies(data: bytes) -> Verdict:
    if data != b"seed":
        os.abort()
    return "accepted"


def _takes_memory(data: bytes) -> Verdict:
    return "accepted" if data == b"seed" or bytearray(200 * MEGABYTE) else "refused"


def _escapes(data: bytes) -> Verdict:
    Path("/tmp/fuzz-was-here").write_bytes(data)
    return "accepted"


def _opened(check: Check) -> Callable[[Ground, Path], Opened]:
    @contextmanager
    def opened(ground: Ground, here: Path) -> Iterator[Check]:
        yield check

    return opened


def _longer(data: bytes, _: Sequence[bytes], rng: random.Random) -> bytes:
    return data + bytes([rng.randrange(256)])


def _target(check: Check, *, accepts: bool = True) -> Target:
    name = check.__name__.strip("_")
    return Target(name, _longer, lambda _: [b"seed"], _opened(check), (), accepts, 100 * MEGABYTE)


if __name__ == "__main__":
    targets = [
        *map(_target, (_fine, _raises, _spins, _dies, _takes_memory)),
        *(_target(check, accepts=False) for check in (_says_too_much, _escapes)),
    ]
    # Long enough for all inputs, however busy the machine is.
    plan = Plan(10**5, 1, 2, Path(sys.argv[1]), inputs=4, limit=0.3)
    for tally in run(targets, plan):
        sys.stdout.write(f"{tally.target} {tally.inputs} {tally.found}\n")
