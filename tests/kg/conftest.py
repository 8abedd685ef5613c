"""A world of 300 entities, its graph built as a user builds it, and the graph opened."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.kg.plain.kg import PlainKg, read_kg

if TYPE_CHECKING:
    from branchwise.kg.open import EmbeddedKg


@pytest.fixture(scope="session")
def world_300(tmp_path_factory: pytest.TempPathFactory, process: None) -> Path:
    """The folder of a world of 300 entities; its graph is `kg.nt.gz`."""
    folder = tmp_path_factory.mktemp("world") / "w"
    options = ("--entities", "300", "--seed", "7", "--out", str(folder))
    command = (sys.executable, "-m", "branchwise", "world", "make", *options)
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    return folder


@pytest.fixture(scope="session")
def plain(world_300: Path) -> PlainKg:
    """The world's triples in plain Python, to work out what must be answered."""
    return read_kg(world_300 / "kg.nt.gz")


@pytest.fixture(scope="session")
def built_kg(world_300: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the graph that was built from the world."""
    from branchwise.kg.build import build_kg

    folder = tmp_path_factory.mktemp("graph") / "kg"
    build_kg([world_300 / "kg.nt.gz"], folder)
    return folder


@pytest.fixture(scope="session")
def kg(built_kg: Path, process: None) -> "Iterator[EmbeddedKg]":
    """The world's graph, asked through its worker processes."""
    from branchwise.kg.open import EmbeddedKg

    opened = EmbeddedKg(built_kg)
    yield opened
    opened.close()
