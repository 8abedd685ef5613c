"""A study killed at random ends with the scores of one that was not.

    python benchmarks/study_kills.py                # 4 systems x 200 questions, 10 kills

A world, four systems on the offline reader (base, +expansion, +extraction, +graph tools), and
`branchwise ablate` in a process of its own that gets SIGKILL: first at random moments of its
start, then each time that it has come a random way further, so that every kill meets a study at
work. Prints when it was killed, how far it was, and whether any item's scores or answers differ.
"""

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from branchwise import score
from branchwise.eval.store import open_run
from branchwise.eval.studies.folder import STUDY_FILE, StudyFolder

STUDY = """
name: kills
questions: q.jsonl
base:
  model: offline
  corpus: W
  kg: W
  retriever: bm25
  k: 5
  tools: [local_retriever]
factors:
  expansion: [off, on]
  extraction: [off, on]
  tools: [[local_retriever], [local_retriever, wikisparql, wikidata_search]]
"""


def branchwise(folder: Path, *arguments: str) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "branchwise", *arguments]
    return subprocess.Popen(
        command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def made(folder: Path, *arguments: str) -> None:
    if code := branchwise(folder, *arguments).wait():
        sys.exit(f"branchwise {' '.join(arguments)}: exit code {code}")


def prepare(folder: Path, questions: int) -> None:
    """A world with its graph, index, questions and study."""
    (folder / "study.yaml").write_text(STUDY)
    made(folder, "world", "make", "--entities", "800", "--seed", "3", "--out", "W")
    made(folder, "kg", "build", "W")
    made(folder, "corpus", "index", "W", "--kind", "bm25")
    made(
        folder,
        *("questions", "generate", "--kg", "W", "--corpus", "W", "--n", str(questions)),
        *("--seed", "5", "--out", "q.jsonl"),
    )


def ended(study: Path) -> int:
    """How many items have ended in all runs that are there."""
    if not (study / STUDY_FILE).exists():
        return 0
    total = 0
    for _, path in StudyFolder.open(study).runs():
        reader = open_run(path)
        counts = reader.progress()
        total += counts["done"] + counts["failed"]
        reader.close()
    return total


def results(study: Path) -> dict[str, list[tuple[object, object]]]:
    """By system: every item's scores, and what was answered."""
    found = {}
    for name, path in StudyFolder.open(study).runs():
        reader = open_run(path)
        rows = {(row.question.id, row.epoch): row for row in reader.items()}
        found[name] = [
            (item.to_json(), (rows[item.id, item.epoch].outcome or {}).get("prediction"))
            for item in score(path).items
        ]
        reader.close()
    return found


def kill_on_the_way(folder: Path, enough: int, delay: float) -> tuple[bool, float]:
    """Run until so many items have ended and a moment more, then kill; whether it still lived."""
    process = branchwise(folder, "ablate", "study.yaml", "--out", "killed")
    began = time.monotonic()
    while process.poll() is None and ended(folder / "killed") < enough:
        time.sleep(0.02)
    time.sleep(delay)
    process.kill()
    return process.wait() == -signal.SIGKILL, time.monotonic() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--early", type=int, default=2, help="of the kills, so many at the start")
    parser.add_argument("--seed", type=int, default=11)
    options = parser.parse_args()
    moments = random.Random(options.seed)
    later = options.kills - options.early
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder, options.questions)
        made(folder, "ablate", "study.yaml", "--out", "whole")
        whole = results(folder / "whole")
        items = sum(map(len, whole.values()))
        missed = 0
        for kill in range(1, options.kills + 1):
            part = kill - options.early - 1
            # The last part is left alone: a study near its end may end before it is killed.
            share = (part + moments.random()) / (later + 1) if part >= 0 else 0.0
            delay = moments.uniform(0.0, 0.2) if part >= 0 else moments.uniform(0.3, 2.5)
            killed, lived = kill_on_the_way(folder, int(share * items), delay)
            missed += not killed
            how = "killed" if killed else "ended"
            done = ended(folder / "killed")
            print(f"{kill}: {how} after {lived:.1f} s, {done} of {items} have ended", flush=True)
        made(folder, "ablate", "study.yaml", "--out", "killed")
        found = results(folder / "killed")
    pairs = [pair for name in whole for pair in zip(found[name], whole[name], strict=True)]
    different = sum(a != b for a, b in pairs)
    print(f"{len(whole)} systems, {items} items: {different} differ in scores or answers")
    sys.exit(bool(different or missed))


if __name__ == "__main__":
    main()
