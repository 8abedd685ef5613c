"""Starts the processes that are to be killed, and says what each left running.

`start(real=True)` is `python -m branchwise ...`. Without, it is a fork of a process that imported
the same modules before: a process of its own (pid, files, sockets, threads, event loop) that calls
the same `main` and ends through the interpreter's own end. It lacks only the start of the
interpreter and its imports, half a second to three of every start.

The launching process is a "subreaper" (Linux): whatever a killed process leaves running becomes
its child, so that none can go unnoticed.
"""

import ctypes
import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

PATIENCE = 60.0
"""Seconds that what a killed process started may take to end by itself."""

_PR_SET_CHILD_SUBREAPER = 36
_IMPORTED = (
    "branchwise.cli", "branchwise.agents.chat_completions", "branchwise.runs.experiment",
    "branchwise.runs.forks", "branchwise.runs.scoring.score", "branchwise.runs.studies.running",
    "branchwise.graphs.agent", "branchwise.kg.build", "branchwise.worlds.make",
    "branchwise.worlds.questions.generate", "branchwise.report.terminal.run_report",
    "branchwise.report.terminal.progress", "branchwise.ui.traces.runs",
    "anyio._backends._asyncio", "httpcore2", "openai.lib.streaming.chat", "langchain_openai",
    "langgraph.graph", "mcp.client.session", "Stemmer", "faiss", "pyoxigraph",
    "rdflib.plugins.sparql.parser", "scipy.optimize", "sentence_transformers",
)  # fmt: skip


class Ended(NamedTuple):
    """How a process ended. `lingered`: seconds until what it had started was gone, too; `left`:
    the command lines of what did not end."""

    status: int
    lingered: float
    left: list[str]


@dataclass
class Process:
    """A process that was started; `handle` is readable once it has ended."""

    launcher: "Launcher"
    handle: int | None

    def kill(self) -> None:
        """Send SIGKILL to it alone, not to what it has started."""
        if self.handle is not None:
            try:
                signal.pidfd_send_signal(self.handle, signal.SIGKILL)
            except ProcessLookupError:
                return

    def wait(self) -> Ended:
        """Wait until it and all that it started is gone."""
        ended = Ended(**self.launcher.receive())
        if self.handle is not None:
            os.close(self.handle)
        return ended


class Launcher:
    """The way to the process that starts the others, one at a time."""

    def __init__(self, control: socket.socket) -> None:
        self._lines = control.makefile("rw", encoding="utf-8")

    def start(
        self, arguments: Sequence[str], folder: Path, environment: Mapping[str, str], *, real: bool
    ) -> Process:
        """Run the command line in `folder`; its output goes to `said` and `complained` there."""
        job = {
            "arguments": list(arguments),
            "folder": str(folder),
            "environment": dict(environment),
            "real": real,
        }
        self._lines.write(json.dumps(job) + "\n")
        self._lines.flush()
        try:
            return Process(self, os.pidfd_open(self.receive()["pid"]))
        except ProcessLookupError:
            return Process(self, None)

    def receive(self) -> Any:
        """The next line that the launching process says."""
        line = self._lines.readline()
        if not line:
            sys.exit("the launching process has ended")
        return json.loads(line)


def launch() -> Launcher:
    """Start the launching process: before any thread, and before anything that is to be undone.

    Returns in the process that called. In each fork it ends as `branchwise` does.
    """
    ours, theirs = socket.socketpair()
    if os.fork() == 0:
        ours.close()
        job = _serve(theirs)
        if job is None:
            os._exit(0)
        theirs.close()
        _become(job)
    theirs.close()
    return Launcher(ours)


def _serve(control: socket.socket) -> Any:
    """Start what is asked for, until the host is gone. Returns the job in each fork."""
    signal.signal(signal.SIGINT, lambda *_: None)  # what is started would inherit being deaf
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    os.environ["JE_ARROW_MALLOC_CONF"] = "background_thread:false"  # pyarrow's allocator
    for name in _IMPORTED:
        importlib.import_module(name)
    threads = len(list(Path("/proc/self/task").iterdir()))
    assert threads == 1, f"{threads} threads, which forks would lack"
    gc.collect()
    gc.freeze()
    lines = control.makefile("rw", encoding="utf-8")
    for line in lines:
        job = json.loads(line)
        pid = _start_real(job) if job["real"] else os.fork()
        if pid == 0:
            return job
        _say(lines, pid=pid)
        _, status = os.waitpid(pid, 0)
        _say(lines, status=os.waitstatus_to_exitcode(status), **_see_out())
    return None


def _say(lines: Any, **what: Any) -> None:
    lines.write(json.dumps(what) + "\n")
    lines.flush()


def _start_real(job: Mapping[str, Any]) -> int:
    said, complained = _outputs(job["folder"])
    process = subprocess.Popen(
        [sys.executable, "-m", "branchwise", *job["arguments"]],
        cwd=job["folder"],
        env=os.environ | job["environment"],
        stdin=subprocess.DEVNULL,
        stdout=said,
        stderr=complained,
    )
    os.close(said)
    os.close(complained)
    process.returncode = 0  # this process waits for it by itself
    return process.pid


def _become(job: Mapping[str, Any]) -> None:
    """Be the process that `_start_real` starts, from the end of its imports on."""
    from branchwise.__main__ import main

    signal.signal(signal.SIGINT, signal.default_int_handler)
    said, complained = _outputs(job["folder"])
    for handle, number in ((os.open(os.devnull, os.O_RDONLY), 0), (said, 1), (complained, 2)):
        os.dup2(handle, number)
    os.chdir(job["folder"])
    os.environ.update(job["environment"])
    tempfile.tempdir = None
    sys.argv = ["branchwise", *job["arguments"]]
    main()
    sys.exit(0)


def _outputs(folder: str) -> tuple[int, int]:
    flags = os.O_CREAT | os.O_WRONLY | os.O_TRUNC
    said, complained = (os.open(f"{folder}/{name}", flags) for name in ("said", "complained"))
    return said, complained


def _see_out() -> dict[str, Any]:
    """Wait for what the ended process has left running, and end what does not end by itself."""
    began = time.monotonic()
    left: list[str] = []
    while _has_children():
        if time.monotonic() - began > PATIENCE:
            for pid in _children():
                command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").strip()
                left.append(command.decode(errors="replace"))
                os.kill(pid, signal.SIGKILL)
            while _has_children():
                time.sleep(0.01)
            break
        time.sleep(0.002)
    return {"lingered": time.monotonic() - began, "left": left}


def _has_children() -> bool:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            continue
    except ChildProcessError:
        return False
    return True


def _children() -> list[int]:
    text = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
    return [int(pid) for pid in text.split()]
