"""Threads that plug-ins' coroutines ask the event loop for, and what they leave at the end."""

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

SECONDS_AT_END = 10.0
"""What a plug-in's own threads and exit handlers have, once a command has done its work."""
SECONDS_WHERE_GIVEN_UP = 1.0
"""The same, where a call of a plug-in was given up and has never ended."""


class DaemonThreads(ThreadPoolExecutor):
    """An event loop's default executor. Where `for_plugin()` is true, a call gets a daemon thread.

    `asyncio.to_thread` of a call that hangs would hold one of the few threads that all share, and
    the end of the event loop, which waits for each of them.
    """

    def __init__(self, for_plugin: Callable[[], bool]) -> None:
        super().__init__(thread_name_prefix="asyncio")
        self._for_plugin = for_plugin

    def submit(self, call: Callable[..., Any], /, *given: Any, **named: Any) -> "Future[Any]":
        """As ThreadPoolExecutor's."""
        if not self._for_plugin():
            return super().submit(call, *given, **named)
        future: Future[Any] = Future()
        work = (future, call, given, named)
        threading.Thread(target=_work, args=work, name="plug-in's thread", daemon=True).start()
        return future


def _work(future: "Future[Any]", call: Callable[..., Any], given: Any, named: Any) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        value = call(*given, **named)
    except BaseException as error:  # noqa: BLE001 - it is told to whoever waits
        future.set_exception(error)
    else:
        future.set_result(value)


def end_within(code: object, seconds: float) -> None:
    """Let the process end with `code` after `seconds` at the latest.

    Python waits at its end for threads, thread pools and processes that a plug-in began, however
    long they hang.
    """
    number = code if isinstance(code, int) else int(code is not None)
    timer = threading.Timer(seconds, _end, [number, seconds])
    timer.daemon = True
    timer.start()


def _end(code: int, seconds: float) -> None:
    # Who calls the command's `main` and takes its SystemExit goes on; a busy machine takes a while
    # from there to the end. This is the one sign of it before thread pools are waited for.
    for _ in range(10):
        if getattr(threading, "_SHUTTING_DOWN", True):
            break
        time.sleep(seconds)
    else:
        return
    processes = sys.modules.get("multiprocessing")
    for child in processes.active_children() if processes else ():
        with contextlib.suppress(Exception):
            child.kill()
    for stream in (sys.__stdout__, sys.__stderr__):
        with contextlib.suppress(Exception):
            stream.flush()  # type: ignore[union-attr]
    os._exit(code)
