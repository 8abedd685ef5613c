"""The whole suite in random order while every core is busy: `make test-hard RUNS=5`.

Two tests a core run at a time, beside a process for each core that does nothing but compute. A
test that leans on luck (who is first, how long something takes, what ran before it) passes on a
quiet machine and fails here. The first run that fails ends it, with the command that repeats it.
"""

import argparse
import contextlib
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator

# Ends with its parent, however that ends.
_SPIN = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n    sum(range(10_000))"


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--runs", type=int, default=1)
    arguments.add_argument("--seed", type=int, help="of the first run's order")
    arguments.add_argument("pytest", nargs="*", help="what pytest is given")
    given = arguments.parse_args()
    first = random.randrange(2**31) if given.seed is None else given.seed
    with _busy_cores():
        for run in range(given.runs):
            started = time.monotonic()
            code = _suite(first + run, given.pytest)
            minutes = (time.monotonic() - started) / 60
            print(
                f"run {run + 1} of {given.runs}, seed {first + run}: {minutes:.1f} min", flush=True
            )
            if code:
                print(f"again: make test-hard SEED={first + run}")
                return code
    return 0


@contextlib.contextmanager
def _busy_cores() -> Iterator[None]:
    spinning = [subprocess.Popen([sys.executable, "-c", _SPIN]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for process in spinning:
            process.kill()
            process.wait()


def _suite(seed: int, options: list[str]) -> int:
    at_once = str(min(2 * (os.cpu_count() or 1), 8))
    command = [sys.executable, "-m", "pytest", "-n", at_once, "--dist", "worksteal", "-q"]
    command += ["--ignore", "tests/peers", "-p", "randomly", f"--randomly-seed={seed}", *options]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
