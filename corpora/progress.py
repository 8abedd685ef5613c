"""How long work says how far it is, without knowing who listens."""

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Called with passages (or questions) done, and how many there are; 0 where unknown."""


def silent(done: int, total: int) -> None:
    """Nobody listens."""
