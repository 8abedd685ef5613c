"""The real program in tmux: keys are sent to it, and what a person would see is read back."""

import os
import shlex
import subprocess
import sys
import threading
import time
from pathlib import Path

from support.ui.trace_app.waiting import PATIENCE

# The size is the pane's: a test runner's would stand in its way when the pane is resized.
_NOT_ITS_OWN = ("TMUX", "COLUMNS", "LINES")


class Tmux:
    """`branchwise` with these arguments in a pane of its own tmux server, whose socket is in
    `folder`. When it has ended, the pane says `ended with CODE`."""

    def __init__(self, folder: Path, *arguments: object) -> None:
        self._socket = folder / "tmux"
        program = shlex.join([sys.executable, "-m", "branchwise", *map(str, arguments)])
        self._script = f"{program}; echo ended with $?; read -r _"

    def __enter__(self) -> "Tmux":
        # A server of a person's own session is not used, nor are its settings.
        size = ("-x", "80", "-y", "24")
        self._call("-f", os.devnull, "new-session", "-d", *size, "sh", "-c", self._script)
        return self

    def __exit__(self, *_: object) -> None:
        self._call("kill-server")

    def keys(self, *names: str) -> None:
        """Send keys by tmux's names: `Enter`, `Down`, `C-p`, else the characters."""
        self._call("send-keys", *names)

    def resize(self, width: int, height: int) -> None:
        self._call("resize-window", "-x", str(width), "-y", str(height))

    def screen(self) -> str:
        return self._call("capture-pane", "-p")

    def wait_for(self, *texts: str) -> str:
        """The screen, once it shows all of these; fails with what it shows instead."""
        end = time.monotonic() + PATIENCE
        while not all(text in (seen := self.screen()) for text in texts):
            assert time.monotonic() < end, f"{texts} are not on the screen:\n{seen}"
            threading.Event().wait(0.05)
        return seen

    def _call(self, *arguments: str) -> str:
        environment = {key: value for key, value in os.environ.items() if key not in _NOT_ITS_OWN}
        return subprocess.run(
            ["tmux", "-u", "-S", str(self._socket), *arguments],
            capture_output=True, text=True, check=True, timeout=PATIENCE, env=environment,
        ).stdout  # fmt: skip
