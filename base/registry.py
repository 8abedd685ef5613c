"""What rooms further up register by name for those below, which may not import them.

The packages that register are imported at the first look-up, so callers need not import them.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TypeVar

T = TypeVar("T")

FILLED_BY: list[str] = []
"""The packages whose import fills registries, by their full names."""


class Registry(Mapping[str, T]):
    """Values by their names, in the order in which they were registered."""

    def __init__(self) -> None:
        self._values: dict[str, T] = {}

    def register(self, name: str, value: T) -> None:
        """Add a value, which replaces one of the same name."""
        self._values[name] = value

    def _filled(self) -> dict[str, T]:
        for package in FILLED_BY:
            import_module(package)
        return self._values

    def __getitem__(self, name: str) -> T:
        return self._filled()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._filled())

    def __len__(self) -> int:
        return len(self._filled())
