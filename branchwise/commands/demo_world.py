"""The demo's second part: a small world, and a question that its knowledge graph answers."""

import asyncio
from pathlib import Path
from typing import NamedTuple

from branchwise.base.files import parse_object, read_lines
from branchwise.commands.demo_story import show_gold
from branchwise.commands.watching import watch
from branchwise.graphs.agent import Agent
from branchwise.graphs.system import System
from branchwise.kg.answers import Graph
from branchwise.kg.build import build_kg
from branchwise.kg.open import IN_A_WORLD, open_kg
from branchwise.kg.store import DESCRIPTION_FILE
from branchwise.kg.world_folder import KG_FILE, NAMES_FILE, WORLD_FILE
from branchwise.report.terminal.console import console
from branchwise.worlds.make import make_world

ENTITIES, SEED = 600, 7
_ASKED = {"P57": "Who directed {}?", "P175": "Who performed {}?"}


class Case(NamedTuple):
    """A question about a shared name, and for each bearer's title the right answers."""

    question: str
    gold: dict[str, list[str]]


def show_world(folder: Path) -> str:
    """Make the world and its graph under `folder`, ask the offline reader about a shared name.

    Returns the question that it was asked.
    """
    screen = console()
    screen.print(
        f"\n2. A world of {ENTITIES} entities that no model has seen, and its knowledge graph.",
        style="bold",
    )
    _prepare(folder)
    kg = open_kg(str(folder))
    case = find_case(folder, kg)
    agent = Agent(System(model="offline"), kg=kg)
    asyncio.run(watch(agent, case.question, screen, margin="  ", answer=True))
    show_gold(case.gold)
    return case.question


def _prepare(folder: Path) -> None:
    if not (folder / WORLD_FILE).exists():
        make_world(folder, ENTITIES, SEED)
    if not (folder / IN_A_WORLD / DESCRIPTION_FILE).exists():
        build_kg([folder / KG_FILE], folder / IN_A_WORLD)


def find_case(folder: Path, kg: Graph) -> Case:
    """The first shared name of which two bearers at least have a director or performer."""
    for number, line in read_lines(folder / NAMES_FILE):
        shared = parse_object(line, f"{folder / NAMES_FILE}:{number}")
        titles = {entity["id"]: entity["title"] for entity in shared["entities"]}
        for property, asked in _ASKED.items():
            gold = _values(kg, titles, property)
            if len(gold) > 1:
                return Case(asked.format(shared["name"]), gold)
    raise AssertionError("a world of this size has such a name")


def _values(kg: Graph, titles: dict[str, str], property: str) -> dict[str, list[str]]:
    values = " ".join(f"wd:{number}" for number in titles)
    answer = kg.query(
        f"SELECT ?thing ?nameLabel WHERE {{ VALUES ?thing {{ {values} }} "
        f"?thing wdt:{property} ?name . }} ORDER BY ?thing ?nameLabel"
    )
    found: dict[str, list[str]] = {}
    for thing, name in answer.rows:
        if thing and name:
            found.setdefault(titles[thing.value.rpartition("/")[2]], []).append(name.value)
    return found
