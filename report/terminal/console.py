"""The consoles that commands print to.

Standard output is for a command's results alone: while it runs, `sys.stdout` leads to standard
error, so that what plug-ins and libraries print never lies between them.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import IO, TYPE_CHECKING, Any, TextIO, cast

from branchwise.base.secrets import without_keys

if TYPE_CHECKING:
    from rich.console import Console


_kept: TextIO | None = None


class _WithoutKeys:
    """Standard error for what is printed by the way: keys are struck out."""

    def write(self, text: str) -> int:
        sys.stderr.write(without_keys(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stderr, name)


@contextmanager
def results_alone() -> Iterator[None]:
    """For the length of a command, only `output` is standard output."""
    global _kept
    before, _kept, sys.stdout = _kept, sys.stdout, cast("TextIO", _WithoutKeys())
    try:
        yield
    finally:
        _kept, sys.stdout = before, _kept


def output() -> TextIO:
    """Standard output, where a command's results go."""
    return _kept or sys.stdout


def echo(text: str, *, newline: bool = True) -> None:
    """Print a result, as `console` does, but as it stands."""
    import click

    click.echo(text, file=output(), nl=newline)


@cache
def console() -> "Console":
    """Standard output; plain text if it is not a terminal. `:dog:` is not turned into an emoji."""
    from rich.console import Console

    class Output(Console):
        @property  # type: ignore[misc]
        def file(self) -> IO[str]:
            return output()

        def on_broken_pipe(self) -> None:
            # Rich would exit with 1, as after a failure; `main` knows that the reader had enough.
            raise BrokenPipeError

    return Output(highlight=False, emoji=False)


@cache
def error_console() -> "Console":
    """Standard error: progress, warnings, what to do next after a failure."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, emoji=False)


_progress_is_shown = ContextVar("_progress_is_shown", default=True)


@contextmanager
def without_progress() -> Iterator[None]:
    """In this context nothing says how far a command is."""
    before = _progress_is_shown.set(False)
    try:
        yield
    finally:
        _progress_is_shown.reset(before)


def progress_console() -> "Console":
    """Standard error, or nothing (`without_progress`)."""
    from rich.console import Console

    return error_console() if _progress_is_shown.get() else Console(stderr=True, quiet=True)


def print_json(value: Any) -> None:
    """Print a result as indented JSON, harmless whatever it holds, in lines as long as it has."""
    echo(printable_json(value))


def printable_json(value: Any) -> str:
    """Indented JSON that holds text from outside: what could steer a terminal is escaped in it,
    where JSON itself does not (8-bit controls, direction marks)."""
    import orjson

    try:
        text = orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    except TypeError:  # half characters, as a folder's name may hold
        text = json.dumps(value, indent=2, ensure_ascii=False)
    return harmless_json(text)


def harmless_json(text: str) -> str:
    """Equivalent JSON of which every line is printable, also in the output's encoding."""
    lines = text.split("\n")
    for n, line in enumerate(lines):
        if not _is_printable(line):
            lines[n] = "".join(c if _is_printable(c) else json.dumps(c)[1:-1] for c in line)
    return "\n".join(lines)


def _is_printable(text: str) -> bool:
    if not text.isprintable():
        return False
    try:
        text.encode(getattr(output(), "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def print_line(screen: "Console", line: str) -> None:
    """One line of text from outside: no markup; cut at the edge of a terminal, whole in a pipe."""
    if screen.is_terminal:
        screen.print(line, markup=False, no_wrap=True, overflow="ellipsis")
    else:
        screen.print(line, markup=False, soft_wrap=True)
