"""Where facts are told: about which side of a relation, and which of them in others' articles."""

from typing import NamedTuple

import numpy as np

from branchwise.worlds.draws import Ints, below
from branchwise.worlds.facts import Links
from branchwise.worlds.population import Population

Literals = dict[tuple[str, str], Ints]


def one_sided(links: dict[str, Links], population: Population, percent: int) -> None:
    """Have so many per cent of the links of two-sided relations told once, about subject or object
    as a coin falls: neither's article is then a whole list."""
    for name, rows in links.items():
        if percent and population.schema.relations[name].inverse:
            count = len(rows.subjects)
            chosen = below(population.seed, f"one side/{name}", 100, count) < percent
            side = 1 + below(population.seed, f"which side/{name}", 2, count)
            sides = np.where(chosen, side, rows.sides).astype(np.int32)
            links[name] = rows._replace(sides=sides)


class Stray(NamedTuple):
    """A fact of an entity that another's article tells. `content`: as `FactValue` has it."""

    entity: int
    relation: str
    content: int


class Strays:
    """What articles tell of others: 12 bytes a fact, and 4 an entity."""

    def __init__(self, size: int, hosts: Ints, columns: Ints, relations: tuple[str, ...]) -> None:
        """`hosts`: whose article tells each. `columns` [3, n]: entity, relation, content."""
        order = np.argsort(hosts, kind="stable")
        self._columns = [column.astype(np.int32).data for column in columns[:, order]]
        self._starts = np.searchsorted(hosts[order], np.arange(size + 1)).astype(np.int32).data
        self._relations = relations

    def told_by(self, host: int) -> list[Stray]:
        entities, numbers, contents = self._columns
        rows = range(self._starts[host], self._starts[host + 1])
        return [Stray(entities[n], self._relations[numbers[n]], contents[n]) for n in rows]


def send_astray(
    links: dict[str, Links], literals: Literals, population: Population, percent: int
) -> tuple[Strays, Literals]:
    """So many per cent of all values, each told in the article of an entity that links lead to from
    its own, and there alone: the sides of such links become 0. Also the literals that are told at
    home, with 0 for others."""
    relations = population.schema.relations
    names = tuple(relations)
    parts: list[Ints] = []  # [3, n] each: entity, relation, content
    places: list[tuple[str, str, Ints]] = []  # the relation, the type of literals, and their rows
    for number, name in enumerate(names):
        for kind, entities, contents in _values(name, links, literals, population):
            stream = f"astray/{name}/{kind}"
            drawn = below(population.seed, stream, 100, len(entities)) < percent
            rows = np.flatnonzero(drawn & (contents != 0) if kind else drawn)
            count = np.full(len(rows), number)
            parts.append(np.stack([entities[rows], count, contents[rows]]).astype(np.int64))
            places.append((name, kind, rows))
    values = np.concatenate(parts, axis=1)
    linking = np.array([bool(relation.object) for relation in relations.values()])
    hosts = _Hosts(links, population).draw(values[0], np.where(linking[values[1]], values[2], -1))
    away = np.split(hosts >= 0, np.cumsum([part.shape[1] for part in parts])[:-1])
    at_home = dict(literals)
    for (name, kind, rows), gone in zip(places, away, strict=True):
        if kind:
            at_home[name, kind] = literals[name, kind].copy()
            at_home[name, kind][rows[gone]] = 0
        else:
            sides = links[name].sides.copy()
            sides[rows[gone]] = 0
            links[name] = links[name]._replace(sides=sides)
    placed = hosts >= 0
    return Strays(len(population), hosts[placed], values[:, placed], names), at_home


def _values(
    name: str, links: dict[str, Links], literals: Literals, population: Population
) -> list[tuple[str, Ints, Ints]]:
    """Type (of literals alone), entities and contents of a relation's values."""
    if name in links:
        return [("", links[name].subjects, links[name].objects)]
    kinds = population.schema.subjects(population.schema.relations[name])
    return [
        (kind, np.arange(*population.range_of(kind)), literals[name, kind])
        for kind in kinds
        if (name, kind) in literals
    ]


_MOST_TOLD = 8  # of others, in one article
_MOST_WAYS = 40  # links of an entity over which another's is still related
_ROUNDS = 8


class _Hosts:
    """Draws whose article tells a fact of another: one or two links away."""

    def __init__(self, links: dict[str, Links], population: Population) -> None:
        relations = population.schema.relations
        ends = [
            (rows.subjects, rows.objects) for name, rows in links.items() if relations[name].object
        ]
        subjects, objects = (np.concatenate(column) for column in zip(*ends, strict=True))
        here = np.concatenate([subjects, objects])
        order = np.argsort(here, kind="stable")
        self._others = np.concatenate([objects, subjects])[order]
        self._starts = np.searchsorted(here[order], np.arange(len(population) + 1))
        self._seed, self._size = population.seed, len(population)

    def draw(self, entities: Ints, objects: Ints) -> Ints:
        """For each fact of an entity, and its object or -1, the host; -1 where none is free."""
        hosts = np.full(len(entities), -1, dtype=np.int64)
        load = np.zeros(self._size, dtype=np.int64)
        for number in range(_ROUNDS):
            open_ = np.flatnonzero(hosts < 0)
            near = self._step(f"{number}", entities[open_])
            far = self._step(f"{number} further", near)
            ways = self._starts[near + 1] - self._starts[near]
            further = below(self._seed, f"host/{number} far", 100, len(open_)) < 60
            chosen = np.where(further & (ways <= _MOST_WAYS), far, near)
            fits = (chosen != entities[open_]) & (chosen != objects[open_])
            open_, chosen = open_[fits], chosen[fits]
            order = np.argsort(chosen, kind="stable")
            open_, chosen = open_[order], chosen[order]
            rank = np.arange(len(chosen)) - np.searchsorted(chosen, chosen)
            free = load[chosen] + rank < _MOST_TOLD
            hosts[open_[free]] = chosen[free]
            np.add.at(load, chosen[free], 1)
        return hosts

    def _step(self, stream: str, entities: Ints) -> Ints:
        """An entity linked with each, or itself where there is none."""
        first = self._starts[entities]
        ways = self._starts[entities + 1] - first
        drawn = below(self._seed, f"host/{stream}", np.maximum(ways, 1))
        rows = np.minimum(first + drawn, len(self._others) - 1)
        return np.where(ways > 0, self._others[rows], entities)
