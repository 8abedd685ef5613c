"""What making a world costs: entities a second and peak memory, on one core.

Each size is made in a process of its own, which writes to a temporary folder. The peer is Faker,
what people make up test data with: a profile and a text of as many words for each entity, in
memory; its texts say nothing about its profiles, and nothing refers to anything else.

    python benchmarks/world.py [--sizes 10000 100000 1000000] [--repeats 3]
"""

import argparse
import importlib.util
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from machine import describe_machine

AIM_RATE, AIM_MEMORY_MB = 3_000, 1_000
REPEATED_UP_TO = 100_000  # larger worlds take minutes: once is enough
WORDS, FAKED = 110, 300  # words of text an entity has, as in a world; entities that Faker makes


class Measured(NamedTuple):
    """One world: seconds, peak resident memory, and how much was written."""

    seconds: float
    memory_mb: float
    passages: int
    megabytes: float


def make_one(entities: int, seed: int) -> Measured:
    """Make a world here and measure this process."""
    from branchwise.worlds.make import make_world

    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "W"
        began = time.perf_counter()
        made = make_world(out, entities, seed)
        seconds = time.perf_counter() - began
        size = sum(file.stat().st_size for file in out.iterdir() if file.is_file()) / 2**20
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Measured(seconds, memory, made.sizes.passages, size)


def measure(entities: int, seed: int) -> Measured:
    """Make a world in a fresh process."""
    done = subprocess.run(
        [sys.executable, __file__, "--one", str(entities), str(seed)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return Measured(*json.loads(done.stdout))


def faked_rate() -> float | None:
    """Entities a second that Faker makes; None where it is not installed."""
    if importlib.util.find_spec("faker") is None:
        return None
    from faker import Faker

    fake = Faker()
    fake.seed_instance(1)
    began = time.perf_counter()
    for _ in range(FAKED):
        json.dumps((fake.profile(), " ".join(fake.words(WORDS))), default=str)
    return FAKED / (time.perf_counter() - began)


def main() -> None:
    """Print a line for each size, and the ratio to Faker."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--one", type=int, nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(make_one(*options.one)))
        return
    print(describe_machine())
    print("entities    seconds    a second    peak MiB  MiB/100k    passages   on disk MiB")
    rates = []
    for size in options.sizes:
        repeats = options.repeats if size <= REPEATED_UP_TO else 1
        runs = [measure(size, seed) for seed in range(1, repeats + 1)]
        seconds = statistics.median(run.seconds for run in runs)
        memory = max(run.memory_mb for run in runs)
        rates.append(size / seconds)
        print(
            f"{size:>9,} {seconds:>10.1f} {size / seconds:>11,.0f} {memory:>10,.0f} "
            f"{memory / size * 1e5:>10,.0f} {runs[0].passages:>11,} {runs[0].megabytes:>13,.0f}"
        )
    print(f"aims: {AIM_RATE:,} entities a second, under {AIM_MEMORY_MB:,} MB at 1,000,000")
    print(f"largest world's rate / smallest world's: {rates[-1] / rates[0]:.2f} (1 is linear)")
    faked = faked_rate()
    if faked is None:
        print("Faker is not installed: pip install Faker")
    else:
        print(f"Faker: {faked:,.0f} a second; ours / Faker: {rates[0] / faked:.1f}")


if __name__ == "__main__":
    main()
