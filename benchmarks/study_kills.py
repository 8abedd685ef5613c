"""A study killed at random ends with the scores of one that was not.

    python benchmarks/study_kills.py                # 4 systems x 200 questions, 10 kills

A world, four systems on the offline reader (base, +expansion, +extraction, +graph tools), and
`branchwise ablate` in a process of its own that gets SIGKILL after a random time, from its start
on. Prints when it was killed, how far it was, and whether any item's scores or answers differ.
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=16.0, help="the longest life")
    parser.add_argument("--seed", type=int, default=11)
    options = parser.parse_args()
    moments = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder, options.questions)
        for kill in range(1, options.kills + 1):
            process = branchwise(folder, "ablate", "study.yaml", "--out", "killed")
            life = moments.uniform(0.5, options.seconds)
            began = time.monotonic()
            try:
                process.wait(life)
            except subprocess.TimeoutExpired:
                process.kill()
            lived = time.monotonic() - began
            how = "killed" if process.wait() == -signal.SIGKILL else "ended"
            done = ended(folder / "killed")
            print(f"{kill}: {how} after {lived:.1f} s, {done} items have ended", flush=True)
        made(folder, "ablate", "study.yaml", "--out", "killed")
        made(folder, "ablate", "study.yaml", "--out", "whole")
        killed, whole = results(folder / "killed"), results(folder / "whole")
    items = sum(map(len, whole.values()))
    pairs = [pair for name in whole for pair in zip(killed[name], whole[name], strict=True)]
    different = sum(a != b for a, b in pairs)
    print(f"{len(whole)} systems, {items} items: {different} differ in scores or answers")
    sys.exit(bool(different))


if __name__ == "__main__":
    main()
