"""What may be said of each type of entity, and what is true of one entity."""

from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import NamedTuple

import numpy as np

from branchwise.kg.schema import Relation
from branchwise.worlds.draws import Ints
from branchwise.worlds.links import Links


class FactKind(Enum):
    """What a fact's values are."""

    ENTITY = auto()
    ITEM = auto()
    DATE = auto()
    NUMBER = auto()


class Item(NamedTuple):
    """An entry of a closed list that Wikidata has a number for."""

    qid: str
    label: str


class FactValue(NamedTuple):
    """One value: the index of an entity, a date (yyyymmdd) or a number; or an item.

    `begin` and `end` are years, 0 where there is none. `side` says where it is told: about the
    subject (1), about the object (2) or about both (3).
    """

    content: int
    item: Item | None = None
    begin: int = 0
    end: int = 0
    side: int = 1


ReadValues = Callable[[int], list[FactValue]]


class Fact(NamedTuple):
    """A relation, seen from its subject or from its object (`inverse`), and how to read it."""

    name: str
    relation: Relation
    kind: FactKind
    inverse: bool
    values: ReadValues


def read_links(links: Links, items: Sequence[Item]) -> ReadValues:
    """The values of a relation by subject: entities, or items where these are given."""
    return _reader(links, links.subjects, links.objects, items)


def read_inverse(links: Links) -> ReadValues:
    """By object, the subjects of those links that are told about the object."""
    told = np.flatnonzero(links.sides & 2)
    told = told[np.argsort(links.objects[told], kind="stable")]
    chosen = Links(*(column[told] for column in links))
    return _reader(chosen, chosen.objects, chosen.subjects, ())


def _reader(links: Links, keys: Ints, others: Ints, items: Sequence[Item]) -> ReadValues:
    """Reading of rows: the arrays as a compressed sparse row matrix, through memory views.

    A memory view gives a plain integer in a third of the time that an array takes.
    """
    if not len(keys):
        return lambda entity: []
    first, last = int(keys[0]), int(keys[-1])
    starts = np.searchsorted(keys, np.arange(first, last + 2)).astype(np.int32).data
    content, begins, ends, sides = (
        np.ascontiguousarray(a).data for a in (others, links.begins, links.ends, links.sides)
    )

    def values(entity: int) -> list[FactValue]:
        place = entity - first
        if place < 0 or entity > last:
            return []
        row = range(starts[place], starts[place + 1])
        if items:
            return [FactValue(content[n], items[content[n]]) for n in row]
        return [FactValue(content[n], None, begins[n], ends[n], sides[n]) for n in row]

    return values


def read_literals(first: int, literals: Ints) -> ReadValues:
    """A date or number for each entity from `first` on, where it is not 0."""
    numbers = literals.data

    def values(entity: int) -> list[FactValue]:
        number = numbers[entity - first]
        return [FactValue(number)] if number else []

    return values
