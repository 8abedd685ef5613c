"""The same agent here and in inspect_ai, against the same server: whole commands, start to score.

Each command is a process of its own; they take turns. "CPU" is that of the whole process. The
server replies after `--delay` seconds: at 0 the client alone is what takes time.

    benchmarks/peers/install.sh                                  (once: inspect_ai, from PyPI)
    python benchmarks/peers/compare.py [--questions 300] [--at-once 32] [--delay 0.2]
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

from machine import describe_machine
from peers.server import CALLS, TURNS
from peers.workload import K, server, write_corpus, write_questions

HERE = Path(__file__).parent
PEER = Path(os.environ.get("BRANCHWISE_PEERS", HERE.parents[1] / ".peers")) / "inspect/bin/python"
PROMPT_CHARACTERS = 3000
"""About as long as ours."""


class Cost(NamedTuple):
    """Of one command: seconds by the clock and of the processor."""

    wall: float
    cpu: float


def timed(command: Sequence[str]) -> Cost:
    """Run a command to its end. Its children's processor time is its own."""
    began, before = time.perf_counter(), os.times()
    environment = {**os.environ, "OPENAI_API_KEY": "none"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{command[0]} ended with {done.returncode}\n{done.stdout}\n{done.stderr}")
    after = os.times()
    cpu = after.children_user + after.children_system
    return Cost(time.perf_counter() - began, cpu - before.children_user - before.children_system)


def branchwise(url: str, folder: Path, questions: int, at_once: int) -> Cost:
    """`branchwise run`, which scores too."""
    shutil.rmtree(folder / "run", ignore_errors=True)
    return timed(
        [
            *(sys.executable, "-m", "branchwise", "run", "--questions", str(folder / "q.jsonl")),
            *("--corpus", str(folder / "C"), "--retriever", "bm25", "--k", str(K)),
            *("--model", f"openai:m@{url}", "--limit", str(questions)),
            *("--concurrency", str(at_once), "--out", str(folder / "run")),
        ]
    )


def inspect(url: str, folder: Path, questions: int, at_once: int) -> Cost:
    """The peer, which scores and writes its log."""
    shutil.rmtree(folder / "logs", ignore_errors=True)
    program = str(HERE / "inspect_agent.py")
    return timed([str(PEER), program, url, str(folder), str(questions), str(at_once)])


HARNESSES: dict[str, Callable[[str, Path, int, int], Cost]] = {
    "branchwise": branchwise,
    "inspect_ai": inspect,
}


def main() -> None:
    parser = argparse.ArgumentParser(description="The same agent here and in inspect_ai.")
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--at-once", type=int, default=32)
    parser.add_argument("--delay", type=float, default=0.2, help="seconds of the server")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    if not PEER.exists():
        parser.error(f"{PEER} is missing: run benchmarks/peers/install.sh first")
    print(describe_machine())
    print(
        f"{options.questions} questions, {options.at_once} at once, {TURNS} turns, {CALLS} searches"
    )
    with tempfile.TemporaryDirectory() as temporary, server(options.delay) as url:
        folder = Path(temporary)
        write_questions(folder / "q.jsonl", options.questions)
        write_corpus(folder / "C")
        (folder / "prompt.txt").write_text("Answer. " * (PROMPT_CHARACTERS // 8))
        rounds = [
            {
                name: harness(url, folder, options.questions, options.at_once)
                for name, harness in HARNESSES.items()
            }
            for _ in range(options.repeats)
        ]
    print(f"{'':14}{'s':>8}{'CPU s':>8}{'CPU ms a turn':>16}")
    for name in HARNESSES:
        wall = statistics.median(costs[name].wall for costs in rounds)
        cpu = statistics.median(costs[name].cpu for costs in rounds)
        print(f"{name:14}{wall:8.1f}{cpu:8.1f}{1000 * cpu / (options.questions * TURNS):16.2f}")
    for part in Cost._fields:
        ratios = [
            getattr(costs["inspect_ai"], part) / getattr(costs["branchwise"], part)
            for costs in rounds
        ]
        print(f"{part}: {statistics.median(ratios):.1f} times as fast")


if __name__ == "__main__":
    main()
