"""The rooms of the product: packages at the root, in the order of pyproject's import contract."""

import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
_LAYERS = PROJECT["tool"]["importlinter"]["contracts"][0]["layers"]
ROOMS: tuple[str, ...] = ("branchwise", *_LAYERS[1:])
"""Top to bottom: each imports from those after it. The first layer is the front door's modules."""


def product_files(*rooms: str) -> Iterator[Path]:
    """The modules of rooms (of all by default), room by room."""
    for room in rooms or ROOMS:
        yield from sorted((ROOT / room).rglob("*.py"))
