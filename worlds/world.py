"""A world, drawn from one seed: entities, facts and literals."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from math import gcd

import numpy as np

from branchwise.kg.dials import EASY, Dials
from branchwise.kg.schema import Relation
from branchwise.worlds.domains import world_schema
from branchwise.worlds.draws import Ints, below, stream_key
from branchwise.worlds.facts import (
    Fact,
    FactKind,
    FactValue,
    Item,
    Links,
    ReadValues,
    draw_links,
    read_inverse,
    read_links,
    read_literals,
)
from branchwise.worlds.population import FIRST_NUMBER, NO_SECOND, NOW, Population, populate
from branchwise.worlds.telling.former import FormerValues, draw_former
from branchwise.worlds.telling.places import one_sided, send_astray

_DAYS = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def draw_literals(population: Population) -> dict[tuple[str, str], Ints]:
    """By relation and type, a value for each entity of the type, dates as yyyymmdd; 0 for none."""
    seed = population.seed
    values: dict[tuple[str, str], Ints] = {}
    for name, relation in population.schema.relations.items():
        if relation.date is None and relation.number is None:
            continue
        for kind in population.schema.subjects(relation):
            stream = f"{name}/{kind}"
            years = population.years[slice(*population.range_of(kind))]
            if relation.number is not None:
                drawn = _numbers(stream, relation.skew, relation.number, len(years), seed)
            else:
                drawn = _dates(stream, relation, years, seed)
            values[name, kind] = drawn.astype(np.int32)
    return values


def add_sums(
    population: Population, literals: dict[tuple[str, str], Ints], links: Mapping[str, Links]
) -> None:
    """Make what a number is the whole of larger, a third at least, than the sum of its parts."""
    for name, relation in population.schema.relations.items():
        if not relation.more_than:
            continue
        part, number = relation.more_than
        (kind,) = population.schema.subjects(relation)
        (parts,) = population.schema.subjects(population.schema.relations[number])
        first, end = population.range_of(kind)
        sums = np.zeros(end - first, dtype=np.int64)
        subjects = links[part].subjects - population.range_of(parts)[0]
        np.add.at(sums, links[part].objects - first, literals[number, parts][subjects])
        percent = 133 + below(population.seed, f"more/{name}", 368, end - first)
        most = relation.number[1] if relation.number else 2**31 - 1
        literals[name, kind] = np.minimum(sums * percent // 100, most).astype(np.int32)


def _numbers(stream: str, skew: bool, bounds: tuple[int, int], count: int, seed: int) -> Ints:
    low, high = bounds
    drawn = below(seed, f"number/{stream}", high - low + 1, count)
    if not skew:
        other = below(seed, f"number again/{stream}", high - low + 1, count)
        return low + (drawn + other) // 2  # likelier in the middle
    for again in range(3):  # a product of uniform draws: most small, few large
        drawn = drawn * below(seed, f"number {again}/{stream}", 2**16, count) >> 16
    return low + drawn


def _dates(stream: str, relation: Relation, years: Ints, seed: int) -> Ints:
    count = len(years)
    if isinstance(relation.date, tuple):
        low, high = relation.date
        years = years + low + below(seed, f"after/{stream}", high - low + 1, count)
    months = below(seed, f"month/{stream}", 12, count)
    days = 1 + below(seed, f"day/{stream}", _DAYS[months])
    dates = years * 10_000 + (months + 1) * 100 + days
    return np.where(years > NOW, 0, dates)


def iso_date(date: int) -> str:
    """19760314 as 1976-03-14."""
    return f"{date // 10_000:04d}-{date // 100 % 100:02d}-{date % 100:02d}"


def spoken_date(date: int) -> str:
    """19760314 as 14 March 1976."""
    return f"{date % 100} {MONTHS[date // 100 % 100 - 1]} {date // 10_000}"


_HAVE_ALIAS = 25  # per cent of entities


class World:
    """The entities of a world by index, with names made on demand, in some 250 bytes each."""

    def __init__(
        self,
        entities: int,
        seed: int,
        ambiguity: float,
        domains: Sequence[str],
        dials: Dials = EASY,
    ) -> None:
        self.schema, self.dials = world_schema(domains), dials
        self.population: Population = populate(self.schema, entities, seed, ambiguity, dials)
        self.years = self.population.years.data
        self.shared = self.population.groups.shared.data
        self._names = self.population.names
        self._numbers = self.population.name_numbers.data
        self._aliased = below(seed, "alias", 100, entities).data
        self._positions = self.population.groups.position.data
        self._second = self.population.second.data
        # Numbers are entity * multiplier + offset: near the golden section, neighbours are far.
        key = stream_key(seed, "numbers")
        self._multiplier = entities * 618 // 1000 + key % (entities // 64 + 1)
        while gcd(self._multiplier, entities) != 1:
            self._multiplier += 1
        self._inverse = pow(self._multiplier, -1, entities)
        self._offset = (key >> 32) % entities
        retold = below(seed, "retellings", 100, entities) < dials.retellings
        self.retold = retold.data if dials.retellings else ()
        self.facts = self._all_facts()

    def __len__(self) -> int:
        return len(self.population)

    def in_order(self, place: int) -> int:
        """The index of the entity with the `place`-th number."""
        return (place - self._offset) * self._inverse % len(self)

    def qid(self, entity: int) -> str:
        """Its number, as in Q2000000123. Numbers say nothing about types."""
        return f"Q{FIRST_NUMBER + (entity * self._multiplier + self._offset) % len(self)}"

    def type_number(self, entity: int) -> int:
        return bisect_right(self.population.starts, entity) - 1

    def label(self, entity: int) -> str:
        """Its name, which others may share."""
        return self._names.name(self._numbers[entity])

    def alias(self, entity: int) -> str:
        """Another name of it; empty if it has none."""
        if self._aliased[entity] >= _HAVE_ALIAS:
            return ""
        return self._names.alias(self._numbers[entity], self._positions[entity])

    def is_universal(self, entity: int) -> bool:
        """Whether its name is one that all kinds may bear."""
        return self._names.is_universal(self._numbers[entity])

    def surname(self, person: int) -> str:
        return self._names.surname(self._numbers[person])

    def is_female(self, person: int) -> bool:
        if self.is_universal(person):  # the name does not say: every other bearer
            return bool((self._numbers[person] + self._positions[person]) % 2)
        return self._names.is_female(self._numbers[person])

    def second(self, entity: int) -> int:
        """The number of the type that its second occupation is of, or NO_SECOND."""
        return self._second[entity]

    def adjective(self, country: int) -> str:
        return self._names.adjective(self._numbers[country])

    def _all_facts(self) -> tuple[tuple[Fact, ...], ...]:
        links = draw_links(self.population)
        literals = draw_literals(self.population)
        add_sums(self.population, literals, links)
        former = FormerValues({}, {})
        if self.dials.former:
            former = draw_former(links, literals, self.population, self.dials.former)
        one_sided(links, self.population, self.dials.one_side)
        self.strays, at_home = None, literals
        if astray := self.dials.astray:
            self.strays, at_home = send_astray(links, literals, self.population, astray)
        inverses = {name: read_inverse(rows) for name, rows in links.items()}
        replaced = {name: read_links(rows, ()) for name, rows in former.links.items()}
        items = {name: self._items(self.schema.relations[name]) for name in links}
        forward = {name: read_links(rows, items[name]) for name, rows in links.items()}
        table: list[tuple[Fact, ...]] = []
        for number, kind in enumerate(self.population.types):
            first, _ = self.population.range_of(kind)
            # People may be values through a second occupation.
            own = {kind, *self.schema.types[kind].second}
            facts: list[Fact] = []
            for name, relation in self.schema.relations.items():
                if kind in self.schema.subjects(relation):
                    if relation.source:
                        values = self._sourced(relation, number)
                    elif name in forward:
                        values = forward[name]
                    else:
                        key = name, kind
                        told, since = at_home[key], former.since.get(key)
                        values = read_literals(first, literals[key], told, since)
                    fact_kind = _fact_kind(relation)
                    before = replaced.get(name)
                    facts.append(Fact(name, relation, fact_kind, False, values, before))
                if relation.inverse and own.intersection(self.schema.objects(relation)):
                    inverse = inverses[name]
                    facts.append(Fact(relation.inverse, relation, FactKind.ENTITY, True, inverse))
            table.append(tuple(facts))
        return tuple(table)

    def _items(self, relation: Relation) -> tuple[Item, ...]:
        return tuple(Item(*entry) for entry in self.schema.items.get(relation.items, {}).items())

    def _sourced(self, relation: Relation, number: int) -> ReadValues:
        kind = self.schema.resolved(self.population.types[number])
        if relation.source == "class":
            item = Item(kind.class_id, self.schema.items["class"][kind.class_id])
            return lambda entity: [FactValue(0, item)]
        items = {entry.qid: entry for entry in self._items(relation)}
        if relation.source == "gender":
            she, he = items.values()
            return lambda entity: [FactValue(0, she if self.is_female(entity) else he)]
        types = [self.schema.types[name] for name in self.population.types]
        own = items[kind.occupation]

        def occupations(entity: int) -> list[FactValue]:
            other = self._second[entity]
            if other == NO_SECOND:
                return [FactValue(0, own)]
            return [FactValue(0, own), FactValue(0, items[types[other].occupation])]

        return occupations


def _fact_kind(relation: Relation) -> FactKind:
    if relation.object:
        return FactKind.ENTITY
    if relation.date is not None:
        return FactKind.DATE
    return FactKind.NUMBER if relation.number is not None else FactKind.ITEM
