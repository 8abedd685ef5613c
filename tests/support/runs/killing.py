"""A scripted model that kills the process that asks it."""

import os
import signal
import threading
from collections.abc import Callable
from typing import Any

from support.chat_server import Answer, Body


class Killer:
    """Answers by a script and kills the process that asks, at the chosen request. `script` gets a
    request and its number, from 0; `requests` has all that came."""

    def __init__(self, script: Callable[[Body, int], Answer]) -> None:
        self.requests: list[Body] = []
        self.started = threading.Event()
        self._script = script
        self._arriving = threading.Lock()
        self._process: Any = None
        self._left: int | None = None

    def aim(self, process: Any, requests: int | None) -> None:
        """Kill `process` when it has sent this many requests (never where None)."""
        self._process, self._left = process, requests
        self.started.set()

    def __call__(self, body: Body) -> Answer:
        self.started.wait()
        with self._arriving:
            number = len(self.requests)
            self.requests.append(body)
            if self._left is not None:
                self._left -= 1
                if self._left == 0:
                    os.kill(self._process.pid, signal.SIGKILL)
        return self._script(body, number)
