"""The end of a process in which plug-ins may have left threads, pools and children at work."""

import contextlib
import os
import sys
import threading

from branchwise.corpora.plugins.isolator import any_hung
from branchwise.corpora.plugins.printed import has_caught

SECONDS_AT_END = 10.0
"""Seconds that a plug-in's threads and exit handlers get once a command has done its work."""
SECONDS_WHERE_GIVEN_UP = 1.0
"""The same, if a call of a plug-in was given up and has not ended."""


def end_in_time(code: object) -> None:
    """End the process with `code` within seconds, whatever plug-ins have left running.

    At exit Python waits for threads, thread pools and processes that a plug-in started, however
    long they hang. Call it only as the last step of a process: it also ends whatever comes after
    it.
    """
    if not has_caught():
        return
    seconds = SECONDS_WHERE_GIVEN_UP if any_hung() else SECONDS_AT_END
    number = code if isinstance(code, int) else int(code is not None)
    timer = threading.Timer(seconds, _end, [number])
    timer.daemon = True
    timer.start()


def _end(code: int) -> None:
    processes = sys.modules.get("multiprocessing")
    for child in processes.active_children() if processes else ():
        with contextlib.suppress(Exception):
            child.kill()
    for stream in (sys.__stdout__, sys.__stderr__):
        with contextlib.suppress(Exception):
            stream.flush()  # type: ignore[union-attr]
    os._exit(code)
