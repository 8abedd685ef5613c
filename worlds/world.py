"""A world: everything that is true in it, one entity at a time."""

from bisect import bisect_right
from collections.abc import Sequence
from math import gcd

from branchwise.kg.schema import Relation
from branchwise.worlds.domains import world_schema
from branchwise.worlds.draws import below, stream_key
from branchwise.worlds.facts import (
    Fact,
    FactKind,
    FactValue,
    Item,
    ReadValues,
    read_inverse,
    read_links,
    read_literals,
)
from branchwise.worlds.links import draw_links
from branchwise.worlds.literals import add_sums, draw_literals
from branchwise.worlds.population import (
    FIRST_NUMBER,
    NO_SECOND,
    Population,
    populate,
)

_HAVE_ALIAS = 25  # per cent of entities


class World:
    """The entities of a world by index, their names and their facts.

    Memory: some 250 bytes an entity; names and texts are made when they are asked for.
    """

    def __init__(self, entities: int, seed: int, ambiguity: float, domains: Sequence[str]) -> None:
        self.schema = world_schema(domains)
        self.population: Population = populate(self.schema, entities, seed, ambiguity)
        self.years = self.population.years.data
        self.shared = self.population.groups.shared.data
        self._names = self.population.names
        self._numbers = self.population.name_numbers.data
        self._aliased = below(seed, "alias", 100, entities).data
        self._positions = self.population.groups.position.data
        self._second = self.population.second.data
        self._number_of, self._stride = _numbering(entities, seed)
        self.facts = self._all_facts()

    def __len__(self) -> int:
        return len(self.population)

    def in_order(self, place: int) -> int:
        """The index of the entity with the `place`-th number."""
        return (place - self._number_of) * self._stride[1] % len(self)

    def qid(self, entity: int) -> str:
        """Its number, as in Q2000000123. Numbers say nothing about types."""
        return f"Q{FIRST_NUMBER + (entity * self._stride[0] + self._number_of) % len(self)}"

    def type_number(self, entity: int) -> int:
        """The position of its type in `population.types`."""
        return bisect_right(self.population.starts, entity) - 1

    def label(self, entity: int) -> str:
        """Its name, which others may share."""
        return self._names.name(self._numbers[entity])

    def alias(self, entity: int) -> str:
        """Another name of it; empty if it has none."""
        if self._aliased[entity] >= _HAVE_ALIAS:
            return ""
        return self._names.alias(self._numbers[entity], self._positions[entity])

    def surname(self, person: int) -> str:
        """A person's family name."""
        return self._names.surname(self._numbers[person])

    def is_female(self, person: int) -> bool:
        """Whether a person is called she."""
        return self._names.is_female(self._numbers[person])

    def adjective(self, country: int) -> str:
        """A country's adjective."""
        return self._names.adjective(self._numbers[country])

    def _all_facts(self) -> tuple[tuple[Fact, ...], ...]:
        """By type number, what may be said of the type."""
        links = draw_links(self.population)
        literals = draw_literals(self.population)
        add_sums(self.population, literals, links)
        inverses = {name: read_inverse(found) for name, found in links.items()}
        forward = {
            name: read_links(found, self._items(self.schema.relations[name]))
            for name, found in links.items()
        }
        table: list[tuple[Fact, ...]] = []
        for number, kind in enumerate(self.population.types):
            first, _ = self.population.range_of(kind)
            facts: list[Fact] = []
            for name, relation in self.schema.relations.items():
                if kind in self.schema.subjects(relation):
                    if relation.source:
                        values = self._sourced(relation, number)
                    elif name in forward:
                        values = forward[name]
                    else:
                        values = read_literals(first, literals[name, kind])
                    facts.append(Fact(name, relation, _kind(relation), False, values))
                if relation.inverse and self._may_be_object(kind, relation):
                    facts.append(
                        Fact(relation.inverse, relation, FactKind.ENTITY, True, inverses[name])
                    )
            table.append(tuple(facts))
        return tuple(table)

    def _may_be_object(self, kind: str, relation: Relation) -> bool:
        """Whether entities of a type may be values: people may through a second occupation."""
        objects = self.schema.objects(relation)
        return kind in objects or any(other in objects for other in self.schema.types[kind].second)

    def _items(self, relation: Relation) -> tuple[Item, ...]:
        return tuple(Item(*entry) for entry in self.schema.items.get(relation.items, {}).items())

    def _sourced(self, relation: Relation, number: int) -> ReadValues:
        """Facts that follow from an entity's type, second occupation or name."""
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


def _kind(relation: Relation) -> FactKind:
    if relation.object:
        return FactKind.ENTITY
    if relation.date is not None:
        return FactKind.DATE
    return FactKind.NUMBER if relation.number is not None else FactKind.ITEM


def _numbering(entities: int, seed: int) -> tuple[int, tuple[int, int]]:
    """Offset, and multiplier with its inverse, of the map from indices to numbers.

    The multiplier is near the golden section, so that neighbours fall far apart.
    """
    key = stream_key(seed, "numbers")
    multiplier = entities * 618 // 1000 + key % (entities // 64 + 1)
    while gcd(multiplier, entities) != 1:
        multiplier += 1
    return (key >> 32) % entities, (multiplier, pow(multiplier, -1, entities))
