"""How long-running work reports its progress to a caller."""

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Called with passages (or questions) done, and how many there are; 0 where unknown."""


def silent(done: int, total: int) -> None:
    """Ignore progress."""
