"""How a world's texts and tools write its entities' full names, read from what they say alone."""

import asyncio
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from branchwise.corpora.build import build_index
from branchwise.corpora.open import open_retriever
from branchwise.kg.build import build_kg
from branchwise.kg.open import EmbeddedKg
from branchwise.tools.registry import ToolContext, known_tools, make_tools
from support.worlds.world_reader import World, plain

BRACKET = re.compile(r" \((?:[^()]|\([^()]*\))*\)")
BLOCK = re.compile(r"^\[([0-9a-f]{16})\] (.+?)(?: · \d+ of \d+)?\n(.+)$", re.MULTILINE)
MATCH = re.compile(
    r"^(Q\d+)  (.+?)(?: \(found as (['\"]).+?\3\))?(?:: (.+))? \[[^\[\]]+\]$", re.MULTILINE
)
CELL = re.compile(r"^wd:(Q\d+) \((.+)\) \| (.+)$", re.MULTILINE)
_DESCRIBED = "SELECT ?x ?description {{ VALUES ?x {{ {} }} ?x schema:description ?description }}"
_AT_ONCE = 50
"""Rows of a query: all are shown, however long descriptions are."""


@dataclass(frozen=True)
class Written:
    """A form that is written for an entity; "" where the text around it does not say for which."""

    form: str
    name: str
    entity: str
    origin: str


def written(world: World, tools: "Tools") -> set[Written]:
    """All forms of a world: of its files, and of what each tool says of each shared name."""
    found = {
        Written(name, name, entity, "name")
        for entity in world.entities
        for name in (world.kg.label(entity), *world.kg.aliases.get(entity, ()))
    }
    for passage in world.passages:
        found |= set(_of_passage(world, passage.entity, passage.title, passage.text, "passage"))
    for name, bearers in world.shared.items():
        found |= set(tools.of_name(name, [bearer["title"] for bearer in bearers]))
        for bearer in bearers:
            described = f"{name} ({bearer['description']})"
            found.add(Written(described, name, bearer["id"], "names.jsonl"))
    return found | set(tools.of_entities(world.entities))


def _of_passage(world: World, entity: str, title: str, text: str, origin: str) -> Iterator[Written]:
    """Its title, and each name in the text that a bracket follows."""
    own = world.kg.label(entity)
    yield Written(title, own, entity, f"{origin}: title")
    for mention in world.finder.mentions(plain(text)):
        if bracket := BRACKET.match(text, mention.end):
            form = mention.name + bracket[0]
            bearers = world.known_as[mention.name]
            titled = [one for one in bearers if plain(world.title(one)) == plain(form)]
            meant = titled or ([entity] if entity in bearers else sorted(bearers))
            yield Written(form, mention.name, meant[0] if len(meant) == 1 else "", origin)


class Tools:
    def __init__(self, world: World) -> None:
        folder = world.folder
        build_index(folder, "bm25")
        build_kg([folder], folder / "kg")
        self._world = world
        self._kg = EmbeddedKg(folder / "kg")
        retriever = open_retriever(Path(folder), "bm25")
        context = ToolContext(retriever, kg=self._kg, corpus=Path(folder))
        self._tools = {tool.name: tool for tool in make_tools(list(known_tools()), context)}

    def close(self) -> None:
        self._kg.close()

    def of_name(self, name: str, titles: Sequence[str]) -> Iterator[Written]:
        """What searches for a name and looks at its titles bring."""
        yield from self._passages("local_retriever", query=name, k=len(titles) + 3)
        for title in titles:
            yield from self._passages("open_passages", titles=[title])
        said = self._said("wikidata_search", text=name, limit=50)
        for found in MATCH.finditer(said):
            entity, label, described = found[1], found[2], found[4]
            yield Written(label, label, entity, "wikidata_search")
            yield Written(f"{label} ({described})", label, entity, "wikidata_search")

    def of_entities(self, entities: Sequence[str]) -> Iterator[Written]:
        """What a query says of entities: their labels beside their numbers, and descriptions."""
        for start in range(0, len(entities), _AT_ONCE):
            items = " ".join(f"wd:{one}" for one in entities[start : start + _AT_ONCE])
            said = self._said("wikisparql", query=_DESCRIBED.format(items))
            for entity, label, described in CELL.findall(said):
                yield Written(label, label, entity, "wikisparql")
                yield Written(f"{label} ({described})", label, entity, "wikisparql")

    def _passages(self, tool: str, **arguments: Any) -> Iterator[Written]:
        for id, title, text in BLOCK.findall(self._said(tool, **arguments)):
            (entity,) = {one.entity for one in self._world.passages if one.id == id}
            yield from _of_passage(self._world, entity, title, text, tool)

    def _said(self, tool: str, **arguments: Any) -> str:
        said, _ = asyncio.run(self._tools[tool].answer(arguments))
        return str(said)
