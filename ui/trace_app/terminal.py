"""The terminal: where the app draws, and how a pager or an editor borrows it."""

import os
import select
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import App, SuspendNotSupported

from branchwise.base.errors import InputError
from branchwise.corpora.scratch import scratch_folder
from branchwise.report.terminal.blocks import harmless
from branchwise.runs import forks

if TYPE_CHECKING:
    from textual.driver import Driver


def terminal_driver() -> "type[Driver] | None":
    """Textual's driver for this terminal, drawing where it is seen; None: Textual's own choice.

    Textual draws on standard error. With `branchwise trace RUN 2>errors` the screen would stay
    blank and the file would fill with escape sequences, so the app is drawn on standard output
    then. A character that the terminal's encoding does not have becomes one `?`, not an escape of
    six characters that moves the rest of the line.
    """
    if sys.platform == "win32":
        return None
    from textual.drivers.linux_driver import LinuxDriver

    class TerminalDriver(LinuxDriver):
        def __init__(
            self,
            app: "App[object]",
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

    return TerminalDriver


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
    with suspended(app):
        _run_pager(command, harmless(text))


def pager_command(environment: Mapping[str, str]) -> list[str]:
    """`$PAGER` as words, without a shell. Raises InputError if it is not a command."""
    said = environment.get("PAGER", "").strip() or _PAGER
    try:
        words = shlex.split(said)
    except ValueError as error:
        raise InputError(f"PAGER is not a command ({error})", remedy="set PAGER=less") from None
    if Path(words[0]).name == "less":
        words.append(_RAW_OFF)
    return words


def _run_pager(command: list[str], text: str) -> None:
    environment = {**os.environ, "LESS": f"{os.environ.get('LESS', '')} {_RAW_OFF}".strip()}
    try:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise InputError(
            f"the pager {command[0]!r} does not start ({why})", remedy="set PAGER=less"
        ) from None
    with undisturbed():
        try:
            process.communicate(text.encode("utf-8", "replace") + b"\n")
        except BrokenPipeError:
            process.wait()


@contextmanager
def undisturbed() -> Iterator[None]:
    """Ignore Ctrl-C while another program runs: it is meant for that program and would end the
    app."""
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
    """Let the user edit `text` as a file of this name; returns it as it was saved.

    The text is the step's own, every character: editors show control characters as such. Raises
    InputError if no editor starts, if it ends with an error, or if its result cannot be read.
    """
    command = editor_command(os.environ)
    with scratch_folder("branchwise-edit-") as folder:
        path = folder / name
        path.write_bytes(text.encode("utf-8", "replace"))
        with suspended(app), undisturbed():
            _run_editor([*command, str(path)])
        return forks.read_edit(path)


def editor_command(environment: Mapping[str, str]) -> list[str]:
    """`$VISUAL`, else `$EDITOR`, else vi, as words, without a shell. Raises InputError."""
    for variable in ("VISUAL", "EDITOR"):
        if said := environment.get(variable, "").strip():
            try:
                return shlex.split(said)
            except ValueError as error:
                raise InputError(
                    f"{variable} is not a command ({error})", remedy=f"set {variable}={_EDITOR}"
                ) from None
    return [_EDITOR]


def _run_editor(command: list[str]) -> None:
    try:
        code = subprocess.run(command, check=False).returncode
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise InputError(
            f"the editor {command[0]!r} does not start ({why})", remedy="set EDITOR"
        ) from None
    if code:
        raise InputError(f"the editor {command[0]!r} ended with {code}: nothing is changed")
