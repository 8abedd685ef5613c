"""Reads the files of a world with the standard library alone."""

import json
import re
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
    """One line of `corpus.jsonl`, with its text parted into sentences that know their names.
    `former`: what it claims that was so before."""

    id: str
    title: str
    text: str
    entity: str
    claims: list[Statement]
    former: list[Statement]
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

    @cached_property
    def bare(self) -> set[str]:
        """Shared names that stand alone as titles of passages."""
        return {passage.title for passage in self.passages} & self.titles.keys()

    @cached_property
    def claimed_in(self) -> dict[Statement, list[Passage]]:
        """Statement -> the passages that claim it."""
        passages = defaultdict(list)
        for passage in self.passages:
            for claim in passage.claims:
                passages[claim].append(passage)
        return passages

    def told_of(self, passage: Passage, sentence: Sentence) -> set[str]:
        """Of whom a sentence may tell: the passage's subject, and entities named in it of whom the
        passage claims what has nothing to do with its subject."""
        others = {s for s, _, v in passage.claims if passage.entity not in (s, v)}
        named = {entity for name in sentence.names for entity in self.known_as[name]}
        return {passage.entity} | (others & named)

    def former_of(self, passage: Passage, text: str) -> list[Statement]:
        """What was so before, by the passage's claim, in a year that the text names."""
        return [claim for claim in passage.former if self.dated(claim, text)]

    def dated(self, former: Statement, text: str) -> bool:
        """Whether a text names a year in which a former statement was so."""
        years = [int(year) for year in re.findall(r"\b\d{4}\b", text)]
        spans = [(time["P580"], time["P582"]) for time in self.kg.former.get(former, ())]
        return any(start <= year < end for start, end in spans for year in years)

    def is_retelling(self, passage: Passage) -> bool:
        """Whether it is of another source than its subject's article."""
        return passage.title not in (self.title(passage.entity), self.kg.label(passage.entity))

    def kinds(self, entity: str) -> set[str]:
        """Its class, or a person's occupations."""
        return set(self.kg.of(entity, "P106") or self.kg.of(entity, "P31"))

    @cached_property
    def kinds_with(self) -> dict[tuple[str, bool], set[str]]:
        """Property, and whether as its value -> kinds of which a thing of one kind has it."""
        kinds = defaultdict(set)
        for subject, prop, value in self.kg.statements:
            for entity, as_value in ((subject, False), (value, True)):
                if len(own := self.kinds(entity)) == 1:
                    kinds[prop, as_value] |= own
        return kinds

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
    former = [(s, p, v) for s, p, v in line.get("former", ())]
    return Passage(
        line["id"], title, text, line["entity"], claims, former, finder.sentences(plain(text))
    )
