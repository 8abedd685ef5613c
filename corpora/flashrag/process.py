"""The process that FlashRAG runs in, asked one thing at a time, and ended when it is too late."""

import contextlib
import subprocess
import sys
import threading
import weakref
from collections.abc import Mapping
from typing import Any

import orjson

_MODULE = "branchwise.corpora.flashrag.worker"


class WorkerError(Exception):
    """What the process reported, or that it has ended. One line."""


class FlashRagProcess:
    """FlashRAG's retriever. Thread-safe: one request at a time. Ends with this object."""

    def __init__(self, settings: Mapping[str, Any], seconds: float) -> None:
        """Start the process and load. `ready`: what it opened. Raises WorkerError."""
        # -P: no folder called flashrag that happens to be here is imported in its stead.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", _MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C ends a run, and the run ends its processes
        )
        self._end = weakref.finalize(self, _ended, self._process)
        self._lock = threading.Lock()
        try:
            self.ready: Mapping[str, Any] = orjson.loads(self.ask(settings, seconds))["ready"]
        except BaseException:
            self._end()
            raise

    def ask(self, request: Mapping[str, Any], seconds: float) -> bytes:
        """The line that answers. Raises WorkerError; after `seconds` the process is ended."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        expired = threading.Event()
        with self._lock:
            late = threading.Timer(seconds, self._kill, [expired])
            late.daemon = True
            late.start()
            try:
                stdin.write(orjson.dumps(request) + b"\n")
                stdin.flush()
                line = stdout.readline()
            except (OSError, ValueError):
                line = b""
            finally:
                late.cancel()
        if expired.is_set():
            raise WorkerError(f"FlashRAG did not answer within {seconds:.0f} seconds")
        if not line.endswith(b"\n"):
            raise WorkerError("FlashRAG's process has ended" + self._status())
        error = orjson.loads(line).get("error")
        if error is not None:
            raise WorkerError(f"FlashRAG failed: {error}")
        return line

    def close(self) -> None:
        """End the process."""
        self._end()

    def _kill(self, expired: threading.Event) -> None:
        expired.set()
        self._process.kill()

    def _status(self) -> str:
        try:
            return f" (exit status {self._process.wait(timeout=5)})"
        except subprocess.TimeoutExpired:
            return ""


def _ended(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
