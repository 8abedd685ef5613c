"""A text in the user's pager, with the terminal given to it meanwhile."""

import os
import shlex
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from textual.app import App, SuspendNotSupported

from branchwise.corpora.errors import InputError
from branchwise.ui.steps.blocks import harmless

DEFAULT = "less"
_RAW_OFF = "-+r"
"""Sets less back to showing control characters as `^X`, whatever the environment says."""


def page(app: App[None], text: str) -> None:
    """Show `text` in `$PAGER` until the user leaves it. Raises InputError where none starts."""
    command = pager_command(os.environ)
    with suspended(app):
        _run(command, harmless(text))


def pager_command(environment: Mapping[str, str]) -> list[str]:
    """`$PAGER` as words; no shell ever reads it. Raises InputError where it is no command."""
    said = environment.get("PAGER", "").strip() or DEFAULT
    try:
        words = shlex.split(said)
    except ValueError as error:
        raise InputError(f"PAGER is no command ({error})", remedy="set PAGER=less") from None
    if Path(words[0]).name == "less":
        words.append(_RAW_OFF)
    return words


def _run(command: list[str], text: str) -> None:
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
    """Ctrl-C is the pager's while it runs; it would end the app."""
    if threading.current_thread() is not threading.main_thread():
        # Signals are the main thread's alone.
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def suspended(app: App[None]) -> Iterator[None]:
    """The terminal as it was before the app; an app without one has nothing to give back."""
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
