"""What generating questions costs: accepted questions a second, and what is rejected why.

Each world is made first, in a temporary folder; then its graph is read and questions are generated
from it in a fresh process, half of them ambiguous, over all six domains, with support. The rate is
that of generating alone. What is kept beside the world is removed before the first process, which
reads graph and corpus; the others map what it keeps. Seconds are of the processor.

    python benchmarks/synthesis.py [--sizes 2000 20000 200000] [--questions 600] [--repeats 3]
"""

import argparse
import json
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from machine import describe_machine

AIM_RATE, AIM_SIZE = 20, 20_000
WORLD_SEED = 7


class Measured(NamedTuple):
    """One generation: CPU seconds of reading and of generating, peak resident memory, what came."""

    reading: float
    seconds: float
    memory_mb: float
    accepted: int
    rejected: dict[str, int]

    @property
    def acceptance(self) -> float:
        """Accepted per try."""
        return self.accepted / (self.accepted + sum(self.rejected.values()))


def generate_here(world: Path, questions: int, seed: int) -> Measured:
    """Generate from a world in this process and measure it."""
    from branchwise.worlds.questions.generate import generate
    from branchwise.worlds.questions.sources import GenerationTally, Settings, open_source

    began = time.process_time()
    source = open_source(str(world))
    read = time.process_time()
    settings = Settings(questions, 0.5, source.domains, source.common, seed=seed)
    tally = GenerationTally()
    generated = generate(source.facts, source.names, settings, tally=tally, support=source.support)
    made = sum(1 for _ in generated)
    seconds = time.process_time() - read
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Measured(read - began, seconds, memory, made, dict(tally.rejected))


def measure(world: Path, questions: int, seed: int) -> Measured:
    """Generate in a fresh process."""
    done = subprocess.run(
        [sys.executable, __file__, "--one", str(world), str(questions), str(seed)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return Measured(*json.loads(done.stdout))


def measure_size(entities: int, questions: int, repeats: int) -> list[Measured]:
    """Make a world with its graph, and generate from it with several seeds."""
    from branchwise.worlds.make import make_world
    from branchwise.worlds.questions.statements import FACTS_FOLDER
    from branchwise.worlds.questions.support import SUPPORT_FOLDER

    with tempfile.TemporaryDirectory() as folder:
        world = Path(folder) / "W"
        make_world(world, entities, WORLD_SEED)
        for kept in (FACTS_FOLDER, SUPPORT_FOLDER):
            shutil.rmtree(world / kept)
        return [measure(world, questions, seed) for seed in range(1, repeats + 2)]


def report(entities: int, runs: Sequence[Measured]) -> float:
    """Print a line of medians; the rate of generating."""
    first, *others = runs
    rate = statistics.median(run.accepted / run.seconds for run in others)
    acceptance = statistics.median(run.acceptance for run in others)
    made = min(run.accepted for run in others)
    again = statistics.median(run.reading for run in others)
    memory = max(run.memory_mb for run in others)
    print(
        f"{entities:>9,} {made:>10,} {rate:>10.1f} {acceptance:>11.1%} {first.reading:>11.1f} "
        f"{again:>11.1f} {first.memory_mb:>10,.0f} {memory:>10,.0f}",
        flush=True,
    )
    return rate


def report_reasons(of_size: dict[int, list[Measured]]) -> None:
    """Print each reason's share of all tries, a column for each size, commonest first."""
    shares = {size: _shares(runs) for size, runs in of_size.items()}
    total: Counter[str] = Counter()
    for reasons in shares.values():
        total.update(reasons)
    print(f"\n{'share of tries':44}" + "".join(f"{size:>10,}" for size in shares))
    for reason, _ in total.most_common():
        cells = "".join(f"{reasons.get(reason, 0):>10.1%}" for reasons in shares.values())
        print(f"{reason:44}{cells}")


def _shares(runs: Sequence[Measured]) -> dict[str, float]:
    """Outcome -> share of the tries of all runs together."""
    counts = Counter({"accepted": sum(run.accepted for run in runs)})
    for run in runs:
        counts.update(run.rejected)
    return {reason: count / counts.total() for reason, count in counts.items()}


def main() -> None:
    """Print a line for each size, then why tries were rejected."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[2_000, 20_000, 200_000])
    parser.add_argument("--questions", type=int, default=600)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        world, questions, seed = options.one
        print(json.dumps(generate_here(Path(world), int(questions), int(seed))))
        return
    print(describe_machine())
    print(
        f"{options.questions} questions, half ambiguous; a first seed, then the median of "
        f"{options.repeats}"
    )
    print(f"{'':42} reading (s)             peak MiB")
    print(
        " entities  questions   a second  acceptance       first       again      first      again"
    )
    of_size = {}
    for size in options.sizes:
        of_size[size] = measure_size(size, options.questions, options.repeats)
        rate = report(size, of_size[size])
        if size == AIM_SIZE:
            verdict = "met" if rate >= AIM_RATE else "missed"
            print(f"aim: {AIM_RATE} a second at {AIM_SIZE:,} entities: {verdict}")
    report_reasons(of_size)


if __name__ == "__main__":
    main()
