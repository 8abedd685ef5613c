"""How long work says how far it is, without knowing who listens."""

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Called with passages done and passages in all; never after an error."""


def silent(done: int, total: int) -> None:
    """Nobody listens."""
