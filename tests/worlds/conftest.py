"""Worlds made as a user makes them, read once for all tests."""

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from support.worlds.world_reader import World, read_world

Make = Callable[..., Path]


@pytest.fixture(scope="session")
def make_world(tmp_path_factory: pytest.TempPathFactory, process: None) -> Make:
    """Makes a world through the command line: `make_world(600, 7, "--domains", "movie")`."""

    def make(entities: int, seed: int, *options: str, env: dict[str, str] | None = None) -> Path:
        folder = tmp_path_factory.mktemp("world") / "w"
        sizes = ("--entities", str(entities), "--seed", str(seed))
        command = (sys.executable, "-m", "branchwise", "world", "make", *sizes, *options)
        made = subprocess.run(
            [*command, "--out", str(folder)], capture_output=True, text=True, env=env, check=False
        )
        assert made.returncode == 0, made.stderr
        return folder

    return make


@pytest.fixture(scope="session")
def world(make_world: Make) -> World:
    """A world of 5,000 entities."""
    return read_world(make_world(5000, 7))


@pytest.fixture(scope="session")
def small_world(make_world: Make) -> World:
    """A world of 600 entities."""
    return read_world(make_world(600, 7))


@pytest.fixture(scope="session")
def make_turned_up(make_world: Make) -> Callable[..., Path]:
    """Makes a world of 1,500 entities with every dial of its telling turned up."""
    dials = ("bare_titles=70", "one_side=100", "astray=40", "retellings=50", "former=80")
    options = [part for dial in dials for part in ("--dial", dial)]
    return partial(make_world, 1500, 11, "--ambiguity", "0.35", *options)


@pytest.fixture(scope="session")
def turned_up(make_turned_up: Callable[..., Path]) -> World:
    return read_world(make_turned_up())


@pytest.fixture(scope="session", params=["world", "turned_up"])
def any_world(request: pytest.FixtureRequest, process: None) -> World:
    """An easy world and one that is turned up, for what holds in both."""
    world: World = request.getfixturevalue(request.param)
    return world
