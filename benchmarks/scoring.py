"""What scoring a run costs: reading, aligning, scoring, and finding where each answer was lost.

Runs with traces of 100 events (`traces.py`) are written through the run store's own writer, then
read and scored, each in a fresh process; attributing reads the traces, on all processors. Beside
it, in the same run, what a plain script does: it reads the exported JSON lines and looks for every
form of every answer with `re.search` in every passage that a tool returned.

    python benchmarks/scoring.py [--sizes 900 1800 3600] [--repeats 3] [--peer 100]
"""

import argparse
import json
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from machine import describe_machine
from traces import EVENTS, write_run

AIM_SECONDS, AIM_SIZE = 20.0, 3600


class Measured(NamedTuple):
    """One scoring: seconds of its parts, and peak resident memory."""

    reading: float
    aligning: float
    scoring: float
    attributing: float
    memory_mb: float

    @property
    def seconds(self) -> float:
        """All parts together."""
        return self.reading + self.aligning + self.scoring + self.attributing


class Stopwatch:
    """Adds up the seconds of the parts of a loop."""

    def __init__(self) -> None:
        self.parts: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, part: str) -> None:
        """What passed since the last lap was spent on `part`."""
        now = time.perf_counter()
        self.parts[part] = self.parts.get(part, 0.0) + now - self._last
        self._last = now


def score_here(path: Path) -> Measured:
    """Score a run in this process and measure it."""
    from branchwise.eval.branch_scores import align_answers, gold_branches
    from branchwise.eval.items import Matched
    from branchwise.eval.scores import score_items
    from branchwise.eval.tasks import get_task
    from branchwise.runs.scoring.examination import analyse
    from branchwise.runs.store import open_run

    watch = Stopwatch()
    reader = open_run(path)
    items = list(reader.answered_items())
    watch.lap("reading")
    for n, item in enumerate(items):
        gold = gold_branches(item.question.branches)
        alignment = align_answers(gold, item.prediction.answers)
        items[n] = replace(item, matched=Matched("lexical", alignment))
    watch.lap("aligning")
    scores = score_items(get_task(reader.task), items)
    watch.lap("scoring")
    reader.close()
    analyse(path, items, scores)
    watch.lap("attributing")
    return Measured(**watch.parts, memory_mb=peak_memory())


def score_plainly(path: Path) -> Measured:
    """The same with json and re alone: a script as one writes it for a single experiment."""
    watch = Stopwatch()
    with path.open() as lines:
        for line in lines:
            record = json.loads(line)
            watch.lap("reading")
            gold, answers = record["gold"]["branches"], record["answers"]
            keys = {branch["name"]: plain_key(branch["name"], answers) for branch in gold}
            watch.lap("aligning")
            for branch in gold:
                said = {text.lower() for text in answers.get(keys[branch["name"]], ())}
                sum(bool(said & set(plain_forms(answer))) for answer in branch["answers"])
            watch.lap("scoring")
            plain_trail(record)
            watch.lap("attributing")
    return Measured(**watch.parts, memory_mb=peak_memory())


def peak_memory() -> float:
    """Peak resident memory in MiB: of this process, and of the largest that it started."""
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(resource.getrusage(kind).ru_maxrss for kind in kinds) / 1024


def plain_key(name: str, answers: dict[str, list[str]]) -> str:
    """The predicted branch that shares most words with a gold one."""
    words = set(re.findall(r"\w+", name.lower()))
    return max(answers, key=lambda key: len(words & set(re.findall(r"\w+", key.lower()))))


def plain_forms(answer: dict[str, Any]) -> list[str]:
    """An answer's names in lower case."""
    return [name.lower() for name in (answer["text"], *answer["aliases"])]


def plain_trail(record: dict[str, Any]) -> dict[str, list[int]]:
    """Each gold answer's text, and in which of the passages and rows it is named."""
    texts = plain_texts(record["events"])
    answers = [answer for branch in record["gold"]["branches"] for answer in branch["answers"]]
    return {answer["text"]: plain_places(plain_forms(answer), texts) for answer in answers}


def plain_texts(events: Sequence[dict[str, Any]]) -> list[str]:
    """The passages and rows that the tools returned, in lower case, as often as they came."""
    texts: list[str] = []
    for event in events:
        artifact = event["data"].get("artifact") or {}
        texts += [f"{p['title']}\n{p['text']}".lower() for p in artifact.get("passages", ())]
        rows = artifact.get("rows", {}).get("rows", ())
        texts += [" ".join(value["value"] for value in row).lower() for row in rows]
    return texts


def plain_places(forms: Sequence[str], texts: Sequence[str]) -> list[int]:
    """Which texts name any of `forms` between word borders."""
    patterns = [rf"(?<!\w){re.escape(form)}(?!\w)" for form in forms]
    return [
        n for n, text in enumerate(texts) if any(re.search(pattern, text) for pattern in patterns)
    ]


def measure(kind: str, path: Path) -> Measured:
    """Score in a fresh process."""
    done = subprocess.run(
        [sys.executable, __file__, "--one", kind, str(path)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return Measured(*json.loads(done.stdout))


def report(name: str, questions: int, runs: Sequence[Measured]) -> float:
    """Print a line of medians; the seconds of all parts together."""
    parts = [statistics.median(values) for values in zip(*runs, strict=True)]
    seconds = statistics.median(run.seconds for run in runs)
    cells = "".join(f"{part:>12.2f}" for part in parts[:4])
    each = 1000 * seconds / questions
    print(
        f"{name:14}{questions:>9,}{cells}{seconds:>9.2f}{each:>9.2f}{parts[4]:>10,.0f}", flush=True
    )
    return seconds


def export(run: Path, out: Path, questions: int) -> None:
    """The first items of a run as JSON lines with their events."""
    from branchwise.commands.folders import export_lines
    from branchwise.runs.store import open_run

    reader = open_run(run)
    with out.open("wb") as file:
        file.writelines(islice(export_lines(reader, with_events=True), questions))
    reader.close()


def check_agreement(run: Path, lines: Path) -> None:
    """Both find each answer equally often in the evidence, or they do not do the same work."""
    from branchwise.eval.branch_scores import gold_branches
    from branchwise.eval.errors.gold_evidence import Targets, gold_evidence
    from branchwise.runs.store import open_run
    from branchwise.trace.conversation import read_conversation

    reader = open_run(run)
    for row, line in zip(reader.items(), lines.open(), strict=False):
        gold = gold_branches(row.question.branches)
        conversation = read_conversation(reader.events(row.item))
        evidence = gold_evidence(Targets(gold, row.question, ()), conversation)
        ours = {
            gold.sets[pair.branch].entities[pair.entity].name: len(places)
            for pair, places in evidence.places.items()
        }
        peers = plain_trail(json.loads(line))
        assert ours == {name: len(places) for name, places in peers.items() if places}, row.item


def main() -> None:
    """Print a line for each size, how time grows, and the plain script's line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[900, 1800, 3600])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--peer", type=int, default=100, help="questions for the plain script")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        kind, path = options.one
        print(json.dumps((score_here if kind == "run" else score_plainly)(Path(path))))
        return
    print(describe_machine())
    print(f"traces of {EVENTS} events; median of {options.repeats}; seconds, ms a question, MiB")
    headings = ("reading", "aligning", "scoring", "attributing")
    head = "".join(f"{heading:>12}" for heading in headings)
    print(f"{'':14}{'questions':>9}{head}{'total':>9}{'each':>9}{'peak':>10}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        totals = {}
        for size in options.sizes:
            run = folder / f"run-{size}"
            write_run(run, size)
            runs = [measure("run", run) for _ in range(options.repeats)]
            totals[size] = report("branchwise", size, runs)
        lines = folder / "items.jsonl"
        export(run, lines, options.peer)
        report("json + re", options.peer, [measure("plain", lines) for _ in range(options.repeats)])
        check_agreement(run, lines)
    for less, more in zip(options.sizes, options.sizes[1:], strict=False):
        growth = totals[more] / totals[less]
        print(f"{more / less:.1f} times the questions take {growth:.2f} times as long")
    if AIM_SIZE in totals:
        verdict = "met" if totals[AIM_SIZE] < AIM_SECONDS else "missed"
        print(f"aim: {AIM_SIZE:,} questions in under {AIM_SECONDS:.0f} s: {verdict}")


if __name__ == "__main__":
    main()
