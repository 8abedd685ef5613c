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
