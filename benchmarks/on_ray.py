"""A run on Ray beside one process: questions a second, and whose processor time it takes.

Each question takes 4 model turns and 6 searches (BM25), against a server in a process of its own
that takes 200 ms; with --delay 0 batches are large, and show what the writer can do. Measured from
the first request to the last question, without what is started before. "here" is the process that
writes the run; "Ray" what Ray itself runs (its scheduler, store and agents).

    python benchmarks/on_ray.py [--questions 1000] [--at-once 256] [--workers 2] [--delay .2]
        [--repeats 3]
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
os.environ |= {"HF_HUB_OFFLINE": "1", "OPENAI_API_KEY": "none"}

from machine import describe_machine
from peers.server import TURNS
from peers.workload import K, server, write_corpus, write_questions
from process_tree import processes_below, processor_seconds

from branchwise.corpora.loaders import load_questions
from branchwise.corpora.questions import Question
from branchwise.graphs.system import System
from branchwise.runs.experiment import run
from branchwise.runs.on_ray.connection import RayPlace


class Meter:
    """An observer that reads the clocks when questions begin and when all have ended."""

    def __init__(self, questions: int) -> None:
        self._left = questions
        self.wall, self.cpu = 0.0, Counter[str]()

    def opens(self, what: str) -> None:
        if not what:
            self._began, self._before = time.perf_counter(), processor_time()

    def ended(self, question: Question, record: dict[str, Any]) -> None:
        assert record["error"] is None, record["error"]
        self._left -= 1
        if not self._left:
            self.wall = time.perf_counter() - self._began
            self.cpu = Counter(processor_time())
            self.cpu.subtract(self._before)


def processor_time() -> Counter[str]:
    """Seconds of this process and all below it, by what they are."""
    total = Counter({"here": processor_seconds()})
    for process in processes_below(os.getpid()):
        total[kind(process.command)] += process.seconds
    return total


def kind(command: str) -> str:
    """What a process below this one is."""
    if "peers/server.py" in command:
        return "server"
    return "workers" if "ray::Worker" in command else "Ray"


def cores_had() -> float:
    """How many cores two processes get that only compute: a virtual machine may have fewer than it
    shows."""
    loop = "for _ in range(20_000_000): pass"

    def seconds(count: int) -> float:
        began = time.perf_counter()
        running = [subprocess.Popen([sys.executable, "-c", loop]) for _ in range(count)]
        for process in running:
            process.wait()
        return time.perf_counter() - began

    return 2 * min(seconds(1) for _ in range(3)) / min(seconds(2) for _ in range(3))


def measured(url: str, root: Path, options: argparse.Namespace, place: RayPlace | None) -> Meter:
    system = System(model=f"openai:m@{url}", corpus=str(root / "C"), retriever="bm25", k=K)
    questions = load_questions(str(root / "q.jsonl"))
    meter = Meter(len(questions))
    out = Path(tempfile.mkdtemp(dir=root)) / "R"
    run(questions, system, out=out, concurrency=options.at_once, observer=meter, on=place)
    return meter


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=1000)
    parser.add_argument("--at-once", type=int, default=256)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--delay", type=float, default=0.2, help="seconds of the server")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    print(f"{describe_machine()}; two processes get {cores_had():.2f} cores", flush=True)
    places = {"one process": None, "on Ray": RayPlace(None, options.workers)}
    found: dict[str, list[Meter]] = {name: [] for name in places}
    with tempfile.TemporaryDirectory() as folder, server(options.delay) as url:
        root = Path(folder)
        write_questions(root / "q.jsonl", options.questions)
        write_corpus(root / "C")
        for repeat in range(options.repeats):
            for name, place in places.items():
                found[name].append(measured(url, root, options, place))
                meter = found[name][-1]
                print(repeat, name, f"{meter.wall:.2f} s", dict(meter.cpu), flush=True)
    names = ("here", "workers", "Ray", "server")
    print("| | questions a second | CPU ms a turn: here | workers | Ray | server |")
    for name, meters in found.items():
        pace = statistics.median(options.questions / meter.wall for meter in meters)
        turns = options.questions * TURNS
        cells = [statistics.median(1000 * m.cpu[one] / turns for m in meters) for one in names]
        print(f"| {name} | {pace:.1f} | {' | '.join(f'{cell:.2f}' for cell in cells)} |")
    ratios = [a.wall / b.wall for a, b in zip(*found.values(), strict=True)]
    print(f"on Ray {statistics.median(ratios):.2f} times as fast")


if __name__ == "__main__":
    main()
