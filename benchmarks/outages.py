"""A run whose servers are killed and started again: nothing fails, nothing is asked for twice.

    python benchmarks/outages.py                  # 400 questions, 20 kills
    python benchmarks/outages.py --only model     # or: retriever

A model server and a retrieval server, each a process of its own, are killed (SIGKILL) at random
moments while `branchwise run` answers the questions under a terminal, and started again after a
while. Each response carries a number, which a run keeps (`reasoning_tokens`), and the server writes
down which request got which: a request that came again after its response was recorded is a fault.
How long the bar takes to name a server that is gone is read off the terminal.
"""

import argparse
import itertools
import json
import os
import pty
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from machine import describe_machine

from support.chat_server import Answer, Body, ChatServer, digest, search_then_answer
from support.retrieval_server import RetrievalServer

CONCURRENCY, DELAY = 16, 0.3
SHOWN = re.compile(rb"no answer from 127\.0\.0\.1:(\d+)")


class NumberedServer(ChatServer):
    """Numbers its responses, and writes each number with the digest of its request."""

    def __init__(self, log: Path, first: int) -> None:
        super().__init__(self._numbered, delay=DELAY)
        self._log, self._numbers = log.open("a", buffering=1), itertools.count(first)

    def _numbered(self, body: Body) -> Answer:
        number = next(self._numbers)
        self._log.write(f"{number} {digest(body)}\n")
        usage = {
            "prompt_tokens": 100,
            "completion_tokens": 10,
            "completion_tokens_details": {"reasoning_tokens": number},
        }
        return replace(search_then_answer(body), usage=usage)


@dataclass
class Server:
    """A process that serves on one port, however often it is started."""

    kind: str
    log: Path
    port: int = 0
    starts: int = 0
    process: "subprocess.Popen[str] | None" = None

    def start(self) -> None:
        command = [sys.executable, __file__, "--serve", self.kind, "--log", str(self.log)]
        command += ["--port", str(self.port), "--first", str(self.starts * 1_000_000)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())
        self.starts += 1

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()


def serve(kind: str, log: Path, port: int, first: int) -> None:
    """Serve until killed."""
    server = NumberedServer(log, first) if kind == "model" else RetrievalServer()
    server.start(port)
    sys.stdout.write(f"{server.host.rpartition(':')[2]}\n")
    sys.stdout.flush()
    threading.Event().wait()


@dataclass
class Screen:
    """What a command writes to its terminal, and since when it names which port."""

    told: dict[int, list[float]] = field(default_factory=dict)
    text: bytes = b""

    def follow(self, terminal: int) -> None:
        """Read until the terminal is closed."""
        while True:
            try:
                read = os.read(terminal, 65536)
            except OSError:
                return
            if not read:
                return
            now = time.monotonic()
            for port in {int(found[1]) for found in SHOWN.finditer(read)}:
                self.told.setdefault(port, []).append(now)
            self.text = (self.text + read)[-20_000:]

    def named_after(self, port: int, moment: float, before: float) -> float | None:
        """Seconds from a moment until a port was named, if that was before it was back."""
        found = [when for when in self.told.get(port, []) if moment <= when <= before]
        return min(found) - moment if found else None


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def question_file(folder: Path, count: int) -> Path:
    path = folder / "questions.jsonl"
    gold = {"default": ["x"]}
    rows = ({"id": f"q{n}", "question": f"Question {n}?", "answers": gold} for n in range(count))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def begin(
    folder: Path, model: Server, retriever: Server, count: int
) -> tuple["subprocess.Popen[bytes]", Screen]:
    """Begin the run under a terminal."""
    ours, its = pty.openpty()
    command = [sys.executable, "-m", "branchwise", "run", "--out", str(folder / "R")]
    command += ["--questions", str(question_file(folder, count)), "--k", "2"]
    command += ["--model", f"openai:scripted@http://127.0.0.1:{model.port}/v1"]
    command += ["--retriever", f"http:http://127.0.0.1:{retriever.port}/retrieve"]
    command += ["--concurrency", str(CONCURRENCY)]
    environment = {**os.environ, "COLUMNS": "120", "LINES": "40", "NO_PROXY": "127.0.0.1"}
    process = subprocess.Popen(
        command,
        stdin=its,
        stdout=subprocess.PIPE,
        stderr=its,
        env=environment,
        start_new_session=True,
    )
    os.close(its)
    screen = Screen()
    threading.Thread(target=screen.follow, args=(ours,), daemon=True).start()
    assert process.stdout is not None
    threading.Thread(target=process.stdout.read, daemon=True).start()
    return process, screen


@dataclass(frozen=True)
class Outage:
    server: str
    port: int
    began: float
    ended: float


def disturb(
    process: "subprocess.Popen[bytes]", servers: list[Server], kills: int, draws: random.Random
) -> Iterator[Outage]:
    """Kill servers and start them again while the run lasts, each time once it asks again."""
    log = servers[0].log
    for _ in range(kills):
        seen = log.stat().st_size
        while process.poll() is None and log.stat().st_size == seen:
            time.sleep(0.05)
        time.sleep(draws.uniform(0.3, 1.5))
        if process.poll() is not None:
            return
        server = draws.choice(servers)
        server.kill()
        began = time.monotonic()
        time.sleep(draws.choice([0.2, 1.0, 4.0, 7.0]))
        server.start()
        yield Outage(server.kind, server.port, began, time.monotonic())


def kept(run: Path) -> tuple[list[int], dict[str, int]]:
    """The numbers of the responses that a run recorded, and its items by status."""
    from branchwise.runs.store import open_run  # which the servers' processes do without

    reader = open_run(run)
    numbers = [usage["reasoning"] for _, usage in reader.model_usage()]
    found = reader.progress()
    reader.close()
    return numbers, {status: count for status, count in found.items() if count}


def asked_again(numbers: list[int], log: Path) -> tuple[int, int]:
    """Requests, and recorded responses whose request came again later."""
    last: dict[str, int] = {}
    of_number: dict[int, str] = {}
    for line in log.read_text().splitlines():
        number, asked = line.split()
        of_number[int(number)] = asked
        last[asked] = max(last.get(asked, 0), int(number))
    return len(of_number), sum(last[of_number[one]] > one for one in numbers)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=400)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=("model", "retriever"))
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--log", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--first", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.log, options.port, options.first)
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory(prefix="outages-") as name:
        report(Path(name), options)


def report(folder: Path, options: argparse.Namespace) -> None:
    log = folder / "requests.log"
    log.touch()
    model, retriever = Server("model", log), Server("retriever", log)
    servers = [model, retriever]
    began = time.monotonic()
    try:
        for server in servers:
            server.start()
        process, screen = begin(folder, model, retriever, options.questions)
        chosen = [server for server in servers if options.only in (None, server.kind)]
        outages = list(disturb(process, chosen, options.kills, random.Random(options.seed)))
        code = process.wait()
    finally:
        for server in servers:
            server.kill()
    seconds = time.monotonic() - began
    if not (folder / "R" / "run.sqlite").exists():
        sys.exit(screen.text.decode(errors="replace"))
    numbers, items = kept(folder / "R")
    requests, again = asked_again(numbers, log)
    # Where a server is back at once there is nothing to say.
    long = [one for one in outages if one.ended - one.began > 5]
    named = [screen.named_after(one.port, one.began, one.ended) for one in long]
    known = [one for one in named if one is not None]
    print(describe_machine())
    print(f"{options.questions} questions, {CONCURRENCY} at a time, {len(outages)} kills")
    print(f"ended in {seconds:.0f} s with exit code {code}: {items}")
    print(
        f"{requests} requests, {len(numbers)} recorded responses, {again} of them asked for again"
    )
    if long:
        told = f"median {median(known):.1f} s, longest {max(known):.1f} s" if known else "never"
        print(f"of {len(long)} outages over 5 s the bar named {len(known)}: {told} after the kill")
    if code or again or not numbers:
        print(screen.text.decode(errors="replace")[-3000:])


if __name__ == "__main__":
    main()
