"""A study on Ray whose workers, and whose own process, are killed again and again.

    nice python benchmarks/ray_kills.py [--workers 200] [--drivers 20] [--questions 400] [--seed 1]

Three systems answer 400 questions on a local Ray of four workers. Workers get SIGKILL at random
moments, and now and then the process that writes the study does, which is then typed again. At
the end everything is compared with a study in one process that was not disturbed: traces,
responses, scores, errors. Of what was recorded nothing may be lost, replaced or asked for again,
which the server says that is asked; no process may be left of a killed one.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

os.environ |= {"HF_HUB_OFFLINE": "1", "NO_PROXY": "127.0.0.1", "OPENAI_API_KEY": "none"}

from killing.inputs import PASSAGES, passage, question, write
from killing.runs import StudySubject
from killing.server import CountingServer
from killing.stores import STATES, databases
from killing.subjects import Place
from machine import describe_machine
from process_tree import processes_below

from branchwise.runs.store import open_run

AT_ONCE, WORKERS, DELAY = 16, 4, 0.3
STUDY = """
name: rays
questions: q.jsonl
base: {{model: "openai:scripted@{url}", corpus: C, k: 3}}
factors:
  expansion: [off, on]
  k: [3, 1]
concurrency: {at_once}
"""
ON_RAY = ("--on", "ray", "--workers", str(WORKERS))
GONE_IN = 180.0
"""Seconds that what a killed process has started may take to end by itself."""


class RayStudy(StudySubject):
    """A study whose workers are killed within the life of its process.

    There a request that was on its way at a kill is lawfully sent twice in one life, so that counts
    say nothing. Whether a recorded response is asked for again is told exactly: once the store
    holds all the answers that the whole study needs of a request, no such request may come.
    """

    def begin(self) -> None:
        super().begin()
        self._recorded_at: dict[str, int] = {}

    def look(self) -> None:
        """Note of which requests all answers are recorded by now, beside the writing process."""
        log = self.place.server.log
        found = Counter(log[number] for number in answers(self.store))
        here = len(log)
        for request, count in found.items():
            if count >= self.requests[request]:
                self._recorded_at.setdefault(request, here)

    def killed(self) -> list[str]:
        self.look()
        return [fault for fault in super().killed() if not fault.endswith("asked for again")]

    def asked_again(self) -> int:
        """Requests that came although all their answers were recorded."""
        log, never = self.place.server.log, sys.maxsize
        return sum(
            number >= self._recorded_at.get(log[number], never)
            for number in range(self.case_from, len(log))
        )


def answers(folder: Path) -> Iterator[int]:
    """The server's numbers of the model's answers that stores hold."""
    for path in databases(folder):
        with closing(open_run(path.parent)) as reader:
            for item, *_ in reader.items_with_status(STATES):
                for (key, _), body in reader.responses(item).items():
                    if key.kind == "model":
                        yield int(body["usage"]["reasoning"])


class Processes:
    """Starts the study, and kills what runs of it."""

    def __init__(self, folder: Path, study: Path) -> None:
        self._folder, self._study = folder, study

    def start(self, out: Path, *options: str) -> "subprocess.Popen[bytes]":
        words = [sys.executable, "-m", "branchwise", "ablate", str(self._study), "--out", str(out)]
        with (self._folder / "said").open("ab") as said:
            return subprocess.Popen([*words, *options], stdout=said, stderr=said)

    def must_end(self, process: "subprocess.Popen[bytes]") -> None:
        if process.wait():
            sys.exit((self._folder / "said").read_text()[-3000:])


def workers(pid: int) -> list[int]:
    return [one.pid for one in processes_below(pid) if one.command.startswith("ray::Worker")]


def kill(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def seconds_until_gone(left: Mapping[int, str]) -> float:
    """How long they live on; at the end they are killed."""
    began = time.monotonic()
    while alive := [pid for pid in left if is_alive(pid)]:
        if time.monotonic() - began > GONE_IN:
            sys.exit(f"outlived it: {[left[pid] for pid in alive if kill(pid)]}")
        time.sleep(0.05)
    return time.monotonic() - began


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=200, help="kills of workers")
    parser.add_argument("--drivers", type=int, default=20, help="kills of the study's process")
    parser.add_argument("--questions", type=int, default=400)
    parser.add_argument("--pause", type=float, default=1.0, help="mean seconds between kills")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(describe_machine(), flush=True)
    server = CountingServer(DELAY).start()
    with tempfile.TemporaryDirectory(prefix="ray-kills-") as name:
        root = Path(name)
        place = Place(root / "inputs", server, root / "scratch")
        make_inputs(place, options.questions)
        faults = campaign(place, root, options)
    server.stop()
    sys.exit(bool(faults))


def make_inputs(place: Place, questions: int) -> None:
    place.inputs.mkdir()
    write(place.inputs / "q.jsonl", [question(n) for n in range(questions)])
    write(place.inputs / "p.jsonl", [passage(n) for n in range(PASSAGES)])
    study = STUDY.format(url=place.server.url, at_once=AT_ONCE)
    (place.inputs / "study.yaml").write_text(study)
    for command in (
        ["corpus", "build", "--from", "p.jsonl", "--out", "C"],
        ["corpus", "index", "C", "--kind", "bm25"],
    ):
        words = [sys.executable, "-m", "branchwise", *command]
        subprocess.run(words, cwd=place.inputs, check=True, capture_output=True)


def campaign(place: Place, root: Path, options: argparse.Namespace) -> list[str]:
    subject, moments = RayStudy(place), random.Random(options.seed)
    processes = Processes(root, place.inputs / "study.yaml")
    place.folder = root / "whole"
    place.folder.mkdir()
    subject.begin()
    processes.must_end(processes.start(subject.store))
    subject.learn()
    killed, drivers, again, cases, looks, longest = 0, 0, 0, 0, 0, 0.0
    agents: dict[int, str] = {}
    faults: list[str] = []
    while killed < options.workers or drivers < options.drivers:
        cases += 1
        place.folder = root / f"case{cases}"
        place.folder.mkdir()
        subject.begin()
        ended = False
        while not ended:
            asked = len(place.server.log)
            process = processes.start(subject.store, *ON_RAY)
            # So many workers, and then the process itself.
            due = max(1, round(options.workers / max(options.drivers, 1)))
            while process.poll() is None:
                time.sleep(moments.expovariate(1 / options.pause))
                if len(place.server.log) == asked:
                    continue
                alive = workers(process.pid)
                if due and killed < options.workers and alive:
                    struck = kill(moments.choice(alive))
                    killed, due = killed + struck, due - struck
                    subject.look()
                    looks += 1
                elif drivers < options.drivers and alive:
                    left = {one.pid: one.command for one in processes_below(process.pid)}
                    drivers += kill(process.pid)
                    process.wait()
                    # Ray's own agents try to tell of its end for a minute.
                    agents |= {pid: name for pid, name in left.items() if "Agent" in name}
                    longest = max(longest, seconds_until_gone(dict(left.items() - agents.items())))
                    faults += subject.killed()
            ended = process.returncode != -signal.SIGKILL
            print(f"\r{killed} workers, {drivers} drivers, {faults}", end="", flush=True)
        processes.must_end(process)
        faults += subject.ended()
        if late := subject.asked_again():
            faults.append(f"{late} recorded responses asked for again")
        again += subject.again
    slowest = seconds_until_gone(agents)
    sent = subject.requests.total()
    most = killed * AT_ONCE // WORKERS + drivers * AT_ONCE
    print(
        f"\n{cases} cases of {sent} requests: {killed} workers and {drivers} drivers killed, "
        f"{looks} looks, {again} requests sent again, of about {most} on their way at most; "
        f"what a killed process started was gone in {longest:.1f} s, "
        f"Ray's agents {slowest:.0f} s after the last"
    )
    print("\n".join(faults) or "no faults")
    return faults


if __name__ == "__main__":
    main()
