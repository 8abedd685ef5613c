"""The real program in a pseudo-terminal: what is typed, what is drawn, how it ends."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

from support.ui.trace_app.waiting import PATIENCE

_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(\x07|\x1b\\\\)")


class Terminal:
    """`branchwise` with these arguments, in a terminal of 80 by 24."""

    def __init__(
        self, *arguments: object, errors: Path | None = None, controls: bool = False
    ) -> None:
        self._errors, self._controls = errors, controls
        self._command = [sys.executable, "-m", "branchwise", *map(str, arguments)]
        self._read = bytearray()

    def __enter__(self) -> "Terminal":
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        environment = {**os.environ, "TERM": "xterm-256color"}
        with ExitStack() as opened:
            errors = opened.enter_context(self._errors.open("wb")) if self._errors else theirs
            self._process = subprocess.Popen(
                self._command, stdin=theirs, stdout=theirs, stderr=errors, env=environment,
                start_new_session=True,
                preexec_fn=_take_control if self._controls else None,
            )  # fmt: skip
        os.close(theirs)
        self._reader = threading.Thread(target=self._collect, daemon=True)
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join()
        os.close(self._ours)

    @property
    def drawn(self) -> str:
        return self._read.decode("utf-8", "replace")

    @property
    def output(self) -> str:
        """The same without escape sequences."""
        return _ESCAPES.sub("", self.drawn)

    def type(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def wait_for(self, text: str) -> None:
        self.wait_until(lambda: text in self.output)

    def wait_until(self, happened: Callable[[], bool]) -> None:
        """Until something has happened; fails with what was drawn."""
        end = time.monotonic() + PATIENCE
        while not happened():
            assert time.monotonic() < end, self.output[-4000:]
            assert self._process.poll() is None or happened(), self.output[-4000:]
            threading.Event().wait(0.02)

    def ended(self) -> int:
        code = self._process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        return code

    def _collect(self) -> None:
        # Linux says EIO when the last process has closed its end.
        with suppress(OSError):
            while read := os.read(self._ours, 65536):
                self._read += read


def _take_control() -> None:
    """Let the terminal at standard input send signals to this process."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
