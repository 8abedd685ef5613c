"""What a turn costs against a server that takes 200 ms, by how many questions are answered at once.

Each question takes 4 model turns and 6 searches (BM25). A run is whole: graph, HTTP client, run
store on disk, scoring. Each is in a process of its own, with a server in another; "main" is the
processor time of the thread with the event loop, "CPU" that of the whole process.

    python benchmarks/turns.py [--at-once 1 64 1000] [--repeats 3]
"""

import argparse
import asyncio
import gc
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from machine import describe_machine

sys.path.insert(0, str(Path(__file__).parent))

from peers.server import CALLS, TURNS
from peers.workload import K, server, write_corpus, write_questions

FEWEST, ROUNDS = 200, 4
"""Questions of a run: so many rounds of those at once, at least the fewest."""


class FirstEnd:
    """Notes when the first question ended."""

    def __init__(self) -> None:
        self.began, self.seconds = time.perf_counter(), 0.0

    def ended(self, question: object, record: dict[str, Any]) -> None:
        assert record["error"] is None, record["error"]
        assert record["turns"] == TURNS, record
        assert record["calls"] == CALLS, record
        self.seconds = self.seconds or time.perf_counter() - self.began


def run_here(url: str, folder: Path, at_once: int) -> Mapping[str, float]:
    """Answer in this process and measure, without what is loaded once a process."""
    from branchwise.corpora.loaders import load_questions
    from branchwise.eval.scores import score_items
    from branchwise.eval.tasks import get_task
    from branchwise.graphs.agent import Agent
    from branchwise.graphs.system import System
    from branchwise.runs.runner import Part, Silent, run_parts
    from branchwise.runs.store import RunSpec, RunStore, create_run
    from branchwise.runs.store.results import save_scores

    system = System(model=f"openai:m@{url}", corpus=str(folder / "C"), retriever="bm25", k=K)
    task, questions = get_task("branches"), load_questions(str(folder / "q.jsonl")).questions

    def answered(name: str, count: int, observer: Any) -> None:
        agent = Agent(system)
        spec = RunSpec("branches", "bench", "d", {}, agent.identity, agent.digest, 1, "0")
        path = folder / name
        create_run(path, spec, questions[:count])
        with RunStore(path) as store:
            running = run_parts([Part(store, agent, task, observer)], concurrency=at_once)
            assert asyncio.run(running).done == count
            scores = score_items(task, store.reader.answered_items())
            save_scores(store.path, scores.digest, scores.to_json())

    answered("warm", 2, Silent())
    gc.collect()
    count = len(questions)
    cpu, main = time.process_time(), time.thread_time()
    first = FirstEnd()
    answered("run", count, first)
    wall = time.perf_counter() - first.began
    ms_a_turn = 1000 / (count * TURNS)
    return {
        "items a second": count / wall,
        "CPU ms a turn": ms_a_turn * (time.process_time() - cpu),
        "main ms a turn": ms_a_turn * (time.thread_time() - main),
        "first ended, s": first.seconds,
    }


def measure(url: str, at_once: int) -> Mapping[str, float]:
    """The same in a fresh process."""
    with tempfile.TemporaryDirectory() as folder:
        write_questions(Path(folder) / "q.jsonl", max(FEWEST, ROUNDS * at_once))
        write_corpus(Path(folder) / "C")
        one = [sys.executable, __file__, "--one", url, folder, str(at_once)]
        found = subprocess.run(one, stdout=subprocess.PIPE, check=True, text=True).stdout
    return dict(json.loads(found))


def report(at_once: int, rounds: Sequence[Mapping[str, float]]) -> None:
    """Print the medians."""
    cells = (f"{statistics.median(found[name] for found in rounds):>17.2f}" for name in rounds[0])
    print(f"{at_once:>8}{''.join(cells)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="CPU time of a turn against a slow server.")
    parser.add_argument("--at-once", type=int, nargs="+", default=[8, 64, 256, 1000])
    parser.add_argument("--delay", type=float, default=0.2, help="seconds of the server")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        url, folder, at_once = options.one
        print(json.dumps(run_here(url, Path(folder), int(at_once))))
        return
    print(describe_machine())
    print(f"{TURNS} turns, {CALLS} searches a question; median of {options.repeats}")
    with server(options.delay) as url:
        rounds = [
            {at_once: measure(url, at_once) for at_once in options.at_once}
            for _ in range(options.repeats)
        ]
    print(f"{'at once':>8}" + "".join(f"{name:>17}" for name in rounds[0][options.at_once[0]]))
    for at_once in options.at_once:
        report(at_once, [found[at_once] for found in rounds])


if __name__ == "__main__":
    main()
