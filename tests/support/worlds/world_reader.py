"""Reads the files of a world with the standard library alone."""

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from support.worlds.kg_reader import Graph, Statement, in_world, read_kg
from support.worlds.name_finder import NameFinder, Sentence


def plain(text: str) -> str:
    """A text with straight apostrophes, so that names are found however they are set."""
    return text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")


@dataclass(frozen=True)
class Passage:
    """One line of `corpus.jsonl`, with its text parted into sentences that know their names."""

    id: str
    title: str
    text: str
    entity: str
    claims: list[Statement]
    sentences: list[Sentence]


@dataclass(frozen=True)
class World:
    """A world's files. `shared`: name -> its bearers, as `names.jsonl` has them."""

    folder: Path
    kg: Graph
    passages: list[Passage]
    shared: dict[str, list[dict[str, str]]]
    facts: dict[str, Any]
    finder: NameFinder

    @cached_property
    def articles(self) -> dict[str, list[Passage]]:
        articles = defaultdict(list)
        for passage in self.passages:
            articles[passage.entity].append(passage)
        return articles

    @cached_property
    def entities(self) -> list[str]:
        return [entity for entity in self.kg.labels if in_world(entity)]

    @cached_property
    def bearers(self) -> dict[str, list[str]]:
        """Name -> the world's entities whose label it is."""
        bearers = defaultdict(list)
        for entity in self.entities:
            bearers[self.kg.label(entity)].append(entity)
        return bearers

    @cached_property
    def titles(self) -> dict[str, dict[str, str]]:
        """Shared name -> entity -> title."""
        return {
            name: {b["id"]: b["title"] for b in bearers} for name, bearers in self.shared.items()
        }

    @cached_property
    def known_as(self) -> dict[str, set[str]]:
        """Name, as found in sentences -> entities whose label or alias it is."""
        known = defaultdict(set)
        for entity in self.entities:
            for name in (self.kg.label(entity), *self.kg.aliases.get(entity, ())):
                known[plain(name)].add(entity)
        return known

    @cached_property
    def own_years(self) -> dict[str, set[int]]:
        """Entity -> years of its dates: of birth, release, founding."""
        years = defaultdict(set)
        for subject, _, value in self.kg.statements:
            if "-" in value:
                years[subject].add(int(value[:4]))
        return years

    @cached_property
    def years(self) -> dict[str, set[int]]:
        """Entity -> years of its dates, and of statements that it is subject or value of."""
        years = defaultdict(set, {entity: set(own) for entity, own in self.own_years.items()})
        for (subject, _, value), times in self.kg.times.items():
            for entity in (subject, value):
                years[entity].update(year for time in times for year in time.values())
        return years

    def title(self, entity: str) -> str:
        label = self.kg.label(entity)
        return self.titles.get(label, {}).get(entity, label)


def read_world(folder: Path) -> World:
    """All of a world. Raises ValueError at a line of `kg.nt.gz` that is not an N-Triples line."""
    kg = read_kg(folder / "kg.nt.gz")
    own = (e for e in kg.labels if in_world(e))
    finder = NameFinder(plain(n) for e in own for n in (*kg.labels[e], *kg.aliases.get(e, ())))
    passages = [_passage(line, finder) for line in _json_lines(folder / "corpus.jsonl")]
    shared = {line["name"]: line["entities"] for line in _json_lines(folder / "names.jsonl")}
    facts = json.loads((folder / "world.json").read_bytes())
    return World(folder, kg, passages, shared, facts, finder)


def _json_lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8", newline="\n") as lines:
        yield from map(json.loads, lines)


def _passage(line: dict[str, Any], finder: NameFinder) -> Passage:
    title, text = line["contents"].split("\n", 1)
    claims = [(s, p, v) for s, p, v in line["statements"]]
    return Passage(line["id"], title, text, line["entity"], claims, finder.sentences(plain(text)))
