"""What generating questions costs: accepted questions a second, and what is rejected why.

Each world is made first, in a temporary folder; then its graph is read and questions are generated
from it in a fresh process, half of them ambiguous, over all six domains, with support. The rate is
that of generating alone; reading the graph and its corpus comes once, beside it.

    python benchmarks/synthesis.py [--sizes 2000 20000 200000] [--questions 600] [--repeats 3]
"""

import argparse
import json
import resource
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
    """One generation: seconds of reading and of generating, peak resident memory, what came."""

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
    from branchwise.corpora.synthesis.facts import GraphFacts
    from branchwise.corpora.synthesis.generate import generate
    from branchwise.corpora.synthesis.settings import GenerationTally, Settings, world_domains
    from branchwise.corpora.synthesis.shared_names import read_names
    from branchwise.corpora.synthesis.support import Support
    from branchwise.corpora.worlds.domains import DOMAINS, world_schema

    began = time.perf_counter()
    facts = GraphFacts.load(world / "kg.nt.gz", world_schema(DOMAINS))
    names = read_names(world / "names.jsonl")
    support = Support.load(world / "corpus.jsonl")
    read = time.perf_counter()
    domains, common = world_domains(DOMAINS, DOMAINS)
    settings = Settings(questions, 0.5, domains, common, seed=seed)
    tally = GenerationTally()
    made = sum(1 for _ in generate(facts, names, settings, tally=tally, support=support))
    seconds = time.perf_counter() - read
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
    from branchwise.corpora.worlds.make import make_world

    with tempfile.TemporaryDirectory() as folder:
        world = Path(folder) / "W"
        make_world(world, entities, WORLD_SEED)
        return [measure(world, questions, seed) for seed in range(1, repeats + 1)]


def report(entities: int, runs: Sequence[Measured]) -> float:
    """Print a line of medians; the rate of generating."""
    rate = statistics.median(run.accepted / run.seconds for run in runs)
    reading = statistics.median(run.reading for run in runs)
    acceptance = statistics.median(run.acceptance for run in runs)
    made = min(run.accepted for run in runs)
    memory = max(run.memory_mb for run in runs)
    print(
        f"{entities:>9,} {made:>10,} {rate:>10.1f} {acceptance:>11.1%} {reading:>11.1f} "
        f"{memory:>10,.0f}",
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
    print(f"{options.questions} questions, half ambiguous; median of {options.repeats} seeds")
    print(" entities  questions   a second  acceptance  reading (s)   peak MiB")
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
