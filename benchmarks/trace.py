"""What looking at a run costs: time to the first screen, memory, and time per key press.

`branchwise trace RUN` is started as a whole process in a pseudo terminal of 80 x 24 cells, and
read from its other end. The first screen is there when the first question and the keys of the
last line have arrived; a key press has ended when what it brought has arrived. Beside it, in the
same run, a plain Textual `DataTable` that is filled with the same rows (`--peer-table RUN`).

    python benchmarks/trace.py [--items 3600] [--run DIR] [--repeats 5] [--presses 40]
"""

import argparse
import fcntl
import os
import pty
import select
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from machine import describe_machine
from traces import EVENTS, write_run

COLUMNS, LINES = 80, 24
QUIET = 0.06
"""Seconds without output after which nothing more is expected of a key press."""
PATIENCE = 30.0
AIM_SECONDS, AIM_MB, AIM_PRESS = 1.0, 200, 0.050
KEYS: Mapping[str, bytes] = {
    "down": b"\x1b[B",
    "page down": b"\x1b[6~",
    "end": b"\x1b[F",
    "home": b"\x1b[H",
}
PEER_KEYS = {**KEYS, "end": b"\x1b[1;5F", "home": b"\x1b[1;5H"}
"""A DataTable goes to its first and last row by ctrl+home and ctrl+end."""


class Terminal:
    """A program in a pseudo terminal."""

    def __init__(self, command: Sequence[str]) -> None:
        self.began = time.perf_counter()
        self.process, self._master = _started(command)
        self.seen = b""

    def until(self, *texts: bytes) -> float:
        """Read until all these have been written; seconds since the start."""
        while not all(text in self.seen for text in texts):
            if not self._more(PATIENCE):
                sys.exit(f"nothing more was written; so far: {self.seen[-2000:]!r}")
        return time.perf_counter() - self.began

    def press(self, key: bytes) -> float:
        """Seconds until the last output that a key brought; a key that brings none is an error."""
        began = last = time.perf_counter()
        os.write(self._master, key)
        if not self._more(PATIENCE):
            sys.exit(f"the key {key!r} brought nothing")
        last = time.perf_counter()
        while self._more(QUIET):
            last = time.perf_counter()
        return last - began

    def rest(self) -> None:
        """Wait until nothing is written any more."""
        while self._more(3 * QUIET):
            pass

    def peak_mb(self) -> float:
        """Peak resident memory of the process."""
        status = Path(f"/proc/{self.process.pid}/status").read_text("utf-8")
        line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024

    def end(self, key: bytes) -> float:
        """Seconds from the key that quits to the end of the process."""
        began = time.perf_counter()
        os.write(self._master, key)
        while self.process.poll() is None and time.perf_counter() - began < PATIENCE:
            self._more(0.005)
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        os.close(self._master)
        return time.perf_counter() - began

    def _more(self, seconds: float) -> bool:
        if not select.select([self._master], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self._master, 1 << 16)
        except OSError:
            return False
        self.seen += data
        return bool(data)


def _started(command: Sequence[str]) -> tuple["subprocess.Popen[bytes]", int]:
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    process = subprocess.Popen(
        command, stdin=slave, stdout=slave, stderr=slave, env=environment, start_new_session=True
    )
    os.close(slave)
    return process, master


class Measured(NamedTuple):
    """One process: seconds to the first screen, to quit, and per key press; peak memory."""

    first: float
    presses: Mapping[str, list[float]]
    memory_mb: float
    quitting: float


def measure(
    command: Sequence[str], presses: int, ready: Sequence[bytes], keys: Mapping[str, bytes]
) -> Measured:
    """Start a program, press keys, quit."""
    terminal = Terminal(command)
    first = terminal.until(*ready)
    terminal.rest()
    seconds: dict[str, list[float]] = {name: [] for name in KEYS}
    for _ in range(presses):
        for name, key in keys.items():
            seconds[name].append(terminal.press(key))
    return Measured(first, seconds, terminal.peak_mb(), terminal.end(b"q"))


def peer_table(path: Path) -> None:
    """The peer: all rows in a DataTable."""
    from textual.app import App, ComposeResult
    from textual.widgets import DataTable, Footer

    from branchwise.ui.traces.lines import ItemLine, named
    from branchwise.ui.traces.runs import RunView

    run = RunView.open(path)

    class Table(App[None]):
        BINDINGS = [("q", "quit", "Quit")]  # noqa: RUF012

        def compose(self) -> ComposeResult:
            yield DataTable(cursor_type="row")
            yield Footer()

        def on_mount(self) -> None:
            table: DataTable[object] = self.query_one(DataTable)
            table.add_columns("", *run.heads, "question", "id", "tokens", "s", "labels")

            def cells(line: ItemLine) -> tuple[object, ...]:
                scores = (value for _, value in named(run.heads, line.scores))
                about = (line.question, line.id, line.tokens, line.seconds, line.labels)
                return (line.status, *scores, *about)

            table.add_rows(map(cells, run.lines()))

    Table().run()


def _show(name: str, found: Sequence[Measured]) -> None:
    first = statistics.median(one.first for one in found)
    quitting = statistics.median(one.quitting for one in found)
    memory = max(one.memory_mb for one in found)
    print(f"{name:<12}{first:>8.2f} s{memory:>8.0f} MB{quitting:>8.2f} s", end="")
    for key in KEYS:
        pooled = [seconds for one in found for seconds in one.presses[key]]
        worst = statistics.quantiles(pooled, n=20)[-1]
        print(f"{1000 * statistics.median(pooled):>8.0f} /{1000 * worst:>4.0f} ms", end="")
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description="What looking at a run costs.")
    parser.add_argument("--items", type=int, default=3600)
    parser.add_argument("--run", type=Path, help="a run that is there, instead of a generated one")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--presses", type=int, default=20, help="of each key in each process")
    parser.add_argument("--peer-table", type=Path, metavar="RUN", help=argparse.SUPPRESS)
    settings = parser.parse_args()
    if settings.peer_table:
        peer_table(settings.peer_table)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = settings.run
        if path is None:
            path = Path(folder) / "run"
            write_run(path, settings.items)
        _compare(path, settings)


def _compare(path: Path, settings: argparse.Namespace) -> None:
    size = (path / "run.sqlite").stat().st_size / 2**30
    print(describe_machine())
    print(f"{path.name}: {size:.1f} GB, {EVENTS} events an item; {COLUMNS} x {LINES} cells")
    print(f"medians over {settings.repeats} processes; keys: median / 95th percentile")
    app = [sys.executable, "-m", "branchwise", "trace", str(path)]
    table = [sys.executable, __file__, "--peer-table", str(path)]
    found, peers = [], []
    for _ in range(settings.repeats):
        found.append(measure(app, settings.presses, (b"Who is in", b"Find"), KEYS))
        peers.append(measure(table, settings.presses, (b"Who is in", b"Quit"), PEER_KEYS))
    print(f"{'':<12}{'screen':>10}{'memory':>11}{'quit':>10}", end="")
    print("".join(f"{key:>16}" for key in KEYS))
    _show("trace", found)
    _show("DataTable", peers)
    print(f"aims: {AIM_SECONDS:.0f} s, {AIM_MB} MB, {1000 * AIM_PRESS:.0f} ms")


if __name__ == "__main__":
    main()
