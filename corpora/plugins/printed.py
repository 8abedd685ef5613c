"""Captures what a plug-in prints, per call: standard output belongs to the harness.

A program may read a command's output (`--json`). What a subprocess or a C library writes to the
file descriptor itself is not captured.
"""

import contextlib
import io
import os
import sys
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TextIO, cast

from branchwise.corpora.secrets import without_keys

MAX_PRINTED = 20_000
"""Characters of a call's output that are kept."""
_LONGEST_KEY = 1000


class Printed:
    """The output of one call; bounded, from any thread; later output is dropped."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._ended = False
        self._lock = threading.Lock()

    def add(self, text: str) -> None:
        """Keep what fits; count the rest."""
        with self._lock:
            if not self._ended:
                # A little more than is kept: a truncated key could not be struck out.
                room = MAX_PRINTED + _LONGEST_KEY - self._length
                if room > 0:
                    self._parts.append(text[:room])
                self._length += len(text)

    def end(self) -> str:
        """The output, with keys struck out; if it was too long, it is cut with a note."""
        with self._lock:
            self._ended = True
            text = without_keys("".join(self._parts))[:MAX_PRINTED]
        cut = self._length > MAX_PRINTED
        return f"{text}\n[cut: {self._length} characters]" if cut else text


_CATCHING: ContextVar[Printed | None] = ContextVar("branchwise_printed", default=None)
_MAIN = threading.main_thread()


class _Routed:
    """Replaces `sys.stdout`: writes to the printing call, or else to the previous output.

    A thread started by a plug-in does not know its call: it prints to standard error.
    """

    def __init__(self, underneath: TextIO) -> None:
        self._underneath = underneath

    def write(self, text: str) -> int:
        if (catching := _CATCHING.get()) is not None:
            catching.add(_str(text))
            return len(text)
        return self._other().write(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        if _CATCHING.get() is None:
            self._other().flush()

    def isatty(self) -> bool:
        return _CATCHING.get() is None and self._underneath.isatty()

    @property
    def buffer(self) -> Any:
        catching = _CATCHING.get()
        return self._other().buffer if catching is None else _Bytes(catching)

    def _other(self) -> TextIO:
        own = threading.current_thread() is _MAIN or not sys.stderr
        return self._underneath if own else sys.stderr

    def __getattr__(self, name: str) -> Any:
        return getattr(self._underneath, name)


class _Bytes(io.RawIOBase):
    """`sys.stdout.buffer` of a plug-in."""

    def __init__(self, catching: Printed) -> None:
        self._catching = catching

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        content = bytes(data)
        self._catching.add(content.decode(errors="replace"))
        return len(content)


def _str(text: object) -> str:
    if not isinstance(text, str):
        raise TypeError(f"write() argument must be str, not {type(text).__name__}")
    return text


def route_output() -> None:
    """Replace `sys.stdout` with the router, unless it is in place; called before a plug-in runs."""
    if sys.stdout is not None and not isinstance(sys.stdout, _Routed):
        sys.stdout = cast("TextIO", _Routed(sys.stdout))


@contextlib.contextmanager
def catch_output() -> Iterator[Printed]:
    """Capture output of this context, and of threads and tasks that copy it."""
    _PLACE.taken_ever = True
    route_output()
    printed = Printed()
    token = _CATCHING.set(printed)
    try:
        yield printed
    finally:
        _CATCHING.reset(token)


@contextlib.contextmanager
def process_as_it_was() -> Iterator[None]:
    """Restore standard output and the working directory after the last of concurrent calls.

    Use it for a block that always ends: one that hangs would never restore them.
    """
    _PLACE.take()
    try:
        yield
    finally:
        _PLACE.leave()


def has_caught() -> bool:
    """Whether any code of a plug-in has run in this process."""
    return _PLACE.taken_ever


class _Place:
    """`sys.stdout` and the working directory, restored after the last call to what they were before
    the first.

    Concurrent calls that each redirect standard output may leave it redirected to one of them: the
    command's own output would go there.
    """

    def __init__(self) -> None:
        self.taken_ever = False
        self._calls = 0
        self._before: TextIO | None = None
        self._folder: Path | None = None
        self._lock = threading.Lock()

    def take(self) -> None:
        with self._lock:
            if not self._calls:
                route_output()
                self._before, self._folder = sys.stdout, _folder()
            self._calls += 1

    def leave(self) -> None:
        with self._lock:
            self._calls -= 1
            if not self._calls:
                sys.stdout = cast("TextIO", self._before)
                if self._folder and self._folder != _folder():
                    with contextlib.suppress(OSError):
                        os.chdir(self._folder)


def _folder() -> Path | None:
    try:
        return Path.cwd()
    except OSError:  # it was removed
        return None


_PLACE = _Place()
