"""The terminal: where the app draws, and how a pager or an editor borrows it."""

import os
import select
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from textual.app import App, SuspendNotSupported
from textual.drivers.linux_driver import LinuxDriver

from branchwise.base.errors import InputError
from branchwise.corpora.scratch import scratch_folder
from branchwise.report.terminal.blocks import harmless
from branchwise.runs import forks


class TerminalDriver(LinuxDriver):
    """Textual's driver, which draws on standard error: with `branchwise trace RUN 2>errors` on
    standard output. A character that the encoding lacks becomes one `?`, so that no line moves."""

    def __init__(
        self,
        app: App[object],
        *,
        debug: bool = False,
        mouse: bool = True,
        size: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        seen = (file for file in (sys.__stderr__, sys.__stdout__) if file and file.isatty())
        if (file := next(seen, None)) is not None:
            file.reconfigure(errors="replace")
            self._file = file


def terminal_is_gone() -> bool:
    """Whether the terminal was closed. A process that it does not control gets no signal then, and
    Textual would read end-of-file in an endless busy loop."""
    poll = select.poll()
    poll.register(sys.__stdin__.fileno() if sys.__stdin__ else 0, select.POLLHUP)
    return bool(poll.poll(0))


_PAGER, _EDITOR = "less", "vi"
_RAW_OFF = "-+r"
"""Makes less show control characters as `^X`, overriding the environment."""


def page(app: App[None], text: str) -> None:
    """Show `text` in `$PAGER` until the user leaves it. Raises InputError if it does not start."""
    command = pager_command(os.environ)
    less = f"{os.environ.get('LESS', '')} {_RAW_OFF}".strip()
    with suspended(app):
        with _starting("pager", command, "set PAGER=less"):
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, env={**os.environ, "LESS": less}
            )
        with undisturbed():
            try:
                process.communicate(harmless(text).encode("utf-8", "replace") + b"\n")
            except BrokenPipeError:
                process.wait()


def pager_command(environment: Mapping[str, str]) -> list[str]:
    """`$PAGER` as words, without a shell. Raises InputError if it is not a command."""
    words = _command(environment, ["PAGER"], _PAGER)
    return [*words, _RAW_OFF] if Path(words[0]).name == "less" else words


def editor_command(environment: Mapping[str, str]) -> list[str]:
    """`$VISUAL`, else `$EDITOR`, else vi, as words, without a shell. Raises InputError."""
    return _command(environment, ["VISUAL", "EDITOR"], _EDITOR)


def _command(environment: Mapping[str, str], variables: Sequence[str], usual: str) -> list[str]:
    for variable in variables:
        if command := environment.get(variable, "").strip():
            try:
                return shlex.split(command)
            except ValueError as error:
                problem, remedy = (
                    f"{variable} is not a command ({error})",
                    f"set {variable}={usual}",
                )
                raise InputError(problem, remedy=remedy) from None
    return [usual]


@contextmanager
def _starting(program: str, command: Sequence[str], remedy: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        problem = f"the {program} {command[0]!r} does not start ({why})"
        raise InputError(problem, remedy=remedy) from None


@contextmanager
def undisturbed() -> Iterator[None]:
    """Ignore Ctrl-C, which is meant for another program and would end the app."""
    if threading.current_thread() is not threading.main_thread():
        # Only the main thread can handle signals.
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def suspended(app: App[None]) -> Iterator[None]:
    """Restore the terminal to how it was before the app; a headless app has nothing to restore."""
    if app.is_headless:
        yield
        return
    failure: Exception | None = None
    try:
        with app.suspend():
            try:
                yield
            except Exception as error:  # noqa: BLE001 - raised again when the app has its terminal
                failure = error
    except SuspendNotSupported:
        raise InputError("another program cannot have this terminal") from None
    if failure is not None:
        raise failure


def edit(app: App[None], text: str, name: str) -> str:
    """Let the user edit `text`, every character, as a file of this name; returns it as saved.
    Raises InputError if no editor starts, it ends with an error, or its result cannot be read."""
    command = editor_command(os.environ)
    with scratch_folder("branchwise-edit-") as folder:
        path = folder / name
        path.write_bytes(text.encode("utf-8", "replace"))
        with suspended(app), undisturbed():
            with _starting("editor", command, "set EDITOR"):
                code = subprocess.run([*command, str(path)], check=False).returncode
            if code:
                raise InputError(f"the editor {command[0]!r} ended with {code}: nothing is changed")
        return forks.read_edit(path)
