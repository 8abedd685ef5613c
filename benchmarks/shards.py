"""A study in shards that are killed and go on, then merged under kills: is it one process's study?

    nice python benchmarks/shards.py           # 3 systems, 400 questions, 4 shards
    nice python benchmarks/shards.py --questions 40 --kills 8 --merge-kills 40

Each shard of the study is killed (SIGKILL) at random moments and typed again until it ends; then
the shards are merged, the merges killed too. At each kill of a shard the server's count of requests
is held against the responses that are recorded: what is not there was in flight. At the end the
merged runs' exports (all traces) and scores are compared with one process's, byte for byte but
for times; the server must have counted one process's requests, and those that were in flight. At
each kill of a merge its folder must be absent, or a whole study, and the shards untouched.
"""

import argparse
import hashlib
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(threads, "1")
# Where pyarrow is installed, its allocator would start a thread.
os.environ.setdefault("JE_ARROW_MALLOC_CONF", "background_thread:false")
os.environ |= {"HF_HUB_OFFLINE": "1", "NO_PROXY": "127.0.0.1", "OPENAI_API_KEY": "none"}
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from killing.inputs import passage, question, write  # noqa: E402
from killing.launcher import Launcher, launch  # noqa: E402
from killing.server import reply  # noqa: E402
from killing.stores import databases  # noqa: E402
from machine import describe_machine  # noqa: E402

from support.chat_server import Answer, Body, ChatServer  # noqa: E402

CONCURRENCY, PASSAGES, AT_ONCE = 16, 60, 5
STUDY = """
name: shards
questions: q.jsonl
base: {{model: "openai:scripted@{url}", corpus: C, k: 3}}
factors:
  expansion: [off, on]
  k: [3, 1]
concurrency: {concurrency}
"""


class Counting(ChatServer):
    """Answers by the request alone, and counts what it was asked."""

    def __init__(self) -> None:
        super().__init__(self._counted)
        self.count = 0

    def _counted(self, body: Body) -> Answer:
        self.count += 1
        return reply(body)

    def drained(self) -> int:
        """How many requests have come, all of a dead process's included."""
        assert self._runner is not None
        assert self._runner.server is not None
        while self._runner.server.connections:
            time.sleep(0.001)
        return self.count


@dataclass
class Found:
    """What was seen. `in_flight`: at each kill, the requests without a recorded response."""

    in_flight: list[int] = field(default_factory=list)
    merge_kills: int = 0
    faults: list[str] = field(default_factory=list)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=400)
    parser.add_argument("--shards", type=int, default=4)
    parser.add_argument("--kills", type=int, default=20, help="of all shards together")
    parser.add_argument("--merge-kills", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    launcher = launch()
    server = Counting().start()
    print(describe_machine(), flush=True)
    with tempfile.TemporaryDirectory(prefix="shards-") as root:
        found = measure(launcher, server, Path(root), options)
    server.stop()
    for fault in found.faults:
        print(f"fault: {fault}")
    sys.exit(bool(found.faults))


def measure(launcher: Launcher, server: Counting, root: Path, options: argparse.Namespace) -> Found:
    found, chance = Found(), random.Random(options.seed)
    make_inputs(launcher, server, root, options.questions)
    began = time.monotonic()
    run(launcher, root, ["ablate", "study.yaml", "--out", "whole"])
    alone, seconds = server.drained(), time.monotonic() - began
    print(f"one process: {alone} requests, {seconds:.0f} s", flush=True)
    shards = [f"S{n}" for n in range(1, options.shards + 1)]
    for n, name in enumerate(shards, 1):
        kills = options.kills * n // len(shards) - options.kills * (n - 1) // len(shards)
        command = ["ablate", "study.yaml", "--shard", f"{n}/{len(shards)}", "--out", name]
        life = seconds / len(shards)
        kill_shard(launcher, server, root, command, [chance.uniform(0.2, life / 2)
                   for _ in range(kills)], alone, found)  # fmt: skip
    asked, lost = server.drained() - alone, sum(found.in_flight)
    print(
        f"shards: {asked} requests, {alone} distinct; {len(found.in_flight)} kills, "
        f"{lost} in flight (at most {max(found.in_flight, default=0)} at a kill)"
    )
    if asked != alone + lost:
        found.faults.append(f"{asked} requests, not {alone} + {lost}")
    if max(found.in_flight, default=0) > CONCURRENCY:
        found.faults.append("more in flight than there may be at a time")
    kill_merges(launcher, root, shards, chance, options.merge_kills, found)
    compare(root / "whole", root / "merged", found)
    return found


def make_inputs(launcher: Launcher, server: Counting, root: Path, count: int) -> None:
    write(root / "q.jsonl", [question(n) for n in range(count)])
    write(root / "p.jsonl", [passage(n) for n in range(PASSAGES)])
    (root / "study.yaml").write_text(STUDY.format(url=server.url, concurrency=CONCURRENCY))
    run(launcher, root, ["corpus", "build", "--from", "p.jsonl", "--out", "C"])
    run(launcher, root, ["corpus", "index", "C", "--kind", "bm25"])


def run(launcher: Launcher, root: Path, command: Sequence[str]) -> float:
    """Run a command to its end; returns its seconds."""
    began = time.monotonic()
    status = launcher.start(command, root, {}, real=False).wait().status
    if status:
        sys.exit(f"{' '.join(command)}: {(root / 'complained').read_text()}")
    return time.monotonic() - began


def kill_shard(
    launcher: Launcher,
    server: Counting,
    root: Path,
    command: Sequence[str],
    moments: Sequence[float],
    alone: int,
    found: Found,
) -> None:
    """Kill the command after so many seconds each time, then let it end."""
    for seconds in moments:
        process = launcher.start(command, root, {}, real=False)
        time.sleep(seconds)
        process.kill()
        if process.wait().status == 0:
            break
        asked, done = server.drained() - alone, recorded(root)
        found.in_flight.append(asked - done - sum(found.in_flight))
    run(launcher, root, command)
    print(f"{command[3]}: ended after {len(found.in_flight)} kills in all", flush=True)


def recorded(root: Path) -> int:
    """How many model responses all shards hold, read from copies."""
    return sum(
        responses(file.parent, root / "copy") for n in shards_of(root) for file in databases(n)
    )


def shards_of(root: Path) -> Iterator[Path]:
    yield from (path for path in root.glob("S*") if path.is_dir())


def responses(run: Path, copy: Path) -> int:
    from branchwise.eval.store import open_run

    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(run, copy)
    if not (copy / "run.sqlite").exists():
        return 0
    with closing(open_run(copy)) as reader:
        return sum(1 for _ in reader.model_usage())


def kill_merges(
    launcher: Launcher,
    root: Path,
    shards: Sequence[str],
    chance: random.Random,
    kills: int,
    found: Found,
) -> None:
    """Merge again and again, each time killed up to some times on the way."""
    command = ["merge", *shards, "--out", "merged"]
    life, before = run(launcher, root, command), digests(root, shards)
    print(f"merge: {life:.1f} s", flush=True)
    while found.merge_kills < kills:
        shutil.rmtree(root / "merged")
        for _ in range(AT_ONCE):
            process = launcher.start(command, root, {}, real=False)
            time.sleep(chance.uniform(0.0, life * 1.05))
            process.kill()
            if process.wait().status == 0:
                break
            found.merge_kills += 1
            found.faults += broken(root / "merged")
        run(launcher, root, command)
        if digests(root, shards) != before:
            found.faults.append("a merge changed a shard")
    print(f"merges: {found.merge_kills} kills", flush=True)


def digests(root: Path, shards: Sequence[str]) -> list[str]:
    files = [file for name in shards for file in databases(root / name)]
    return [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]


def broken(folder: Path) -> list[str]:
    """What is damaged after a kill, of runs that are there."""
    from branchwise.eval.store.verifying import verify_run

    verdicts = [verify_run(file.parent) for file in databases(folder)]
    return [f"{one.run}: {one.problems[0]}" for one in verdicts if not one.is_whole]


def compare(whole: Path, merged: Path, found: Found) -> None:
    """The exports, with all traces, and the scores."""
    from branchwise.eval.studies.folder import StudyFolder
    from support.runs.lasting import exported, scored

    size = 0
    for (name, one), (_, other) in zip(
        StudyFolder.open(whole).runs(), StudyFolder.open(merged).runs(), strict=True
    ):
        lines = exported(one)
        size += sum(map(len, lines))
        for what, same in {
            "export": lines == exported(other),
            "scores": scored(one) == scored(other),
        }.items():
            if not same:
                found.faults.append(f"{name}: another {what} than one process's")
    print(f"compared: exports of {size / 1e6:.0f} MB and all scores, without times")


if __name__ == "__main__":
    main()
