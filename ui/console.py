"""The consoles that commands print to."""

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


@cache
def console() -> "Console":
    """Standard output; plain text where it is no terminal."""
    from rich.console import Console

    return Console(highlight=False)


@cache
def error_console() -> "Console":
    """Standard error: progress, warnings, what to do next after a failure."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def printable(text: str) -> str:
    """Text from outside without what could steer a terminal: escapes, controls, directions."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def print_line(screen: "Console", line: str) -> None:
    """One line of text from outside: no markup; cut at the edge of a terminal, whole in a pipe."""
    if screen.is_terminal:
        screen.print(line, markup=False, no_wrap=True, overflow="ellipsis")
    else:
        screen.print(line, markup=False, soft_wrap=True)
