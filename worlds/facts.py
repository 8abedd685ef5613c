"""The facts of a world: dates that agree with each other, links, and what follows from them.

Years, not days, keep the order: what must come later comes in a later year, so that full dates
never contradict each other.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto
from math import isqrt
from typing import NamedTuple, TypeVar

import numpy as np

from branchwise.kg.schema import Range, Relation, Schema
from branchwise.worlds.draws import Ints, below, scaled, stream_key, words
from branchwise.worlds.population import NOW, Population


def draw_times(
    name: str, relation: Relation, subjects: Ints, years: Ints, seed: int
) -> tuple[Ints, Ints]:
    """First and last year of each statement; 0 where it has none, -1 where it would be to come.
    `subjects` in order: spells of one subject follow each other without overlap."""
    none = np.zeros(len(subjects), dtype=np.int64)
    if relation.time is None:
        return none, none
    draws = words(seed, f"time/{name}", len(subjects))
    if relation.time_as == "spells":
        # Years from the subject's year to the first spell, and from one spell to the next.
        first, slot = relation.time
        new = np.concatenate([[True], subjects[1:] != subjects[:-1]]) if len(subjects) else subjects
        row = np.arange(len(subjects))
        rank = row - np.maximum.accumulate(np.where(new, row, 0))
        begins = years + first + slot * rank + scaled(draws, 2)
        ends = begins + 1 + scaled(draws << np.uint64(32), slot - 1)
        return np.where(begins > NOW, -1, begins), np.where(ends > NOW, 0, ends)
    low, high = relation.time
    base = np.full(len(subjects), NOW) if relation.at == "now" else years
    latest = np.minimum(high, NOW - base)
    begins = base + low + scaled(draws, np.maximum(latest - low + 1, 1))
    if relation.at == "now":  # not before the subject is there
        begins = np.maximum(begins, np.minimum(years + 1, NOW))
    return np.where(latest < low, -1, begins), none


_MOST_FAME = 400
"""How many times as likely as the least famous the most famous of very many entities may be. Of few
entities one would then be in everything: the limit grows with their number."""

_EQUAL_CHANCE = 35  # per cent of links that go to anyone, so that most people have something
_GROWN_UP = 20  # years
_ELSEWHERE = 8  # per cent who are citizens of another country than that of their birthplace
_TOLD_BY = ((60, 1), (85, 2), (100, 3))
"""Of a relation with two sides, per cent told about the subject (1), the object (2) or both (3)."""

_Setting = TypeVar("_Setting")


class Links(NamedTuple):
    """The values of one relation, in order of subject; int32 each. `objects`: indices of entities,
    or of items; `begins`, `ends`: years, or 0; `sides`: as `FactValue` has it."""

    subjects: Ints
    objects: Ints
    begins: Ints
    ends: Ints
    sides: Ints


HUB_LINKS = 300
"""How many links of one relation a hub has, where the era of its subjects lets it."""

_GENERATION = 30  # years: an object whose subjects' era is no longer is no hub


class CandidatePool(NamedTuple):
    """Entities that may be objects, by year, with the running sum of their fame."""

    members: Ints
    years: Ints
    fame: Ints


def draw_links(population: Population) -> dict[str, Links]:
    """The links of every relation whose values are entities or items."""
    drawing = _Drawing(population)
    for name, relation in population.schema.relations.items():
        if relation.source == "" and (relation.object or relation.items):
            drawing.links[name] = drawing.draw(name, relation)
    return drawing.links


class _Drawing:
    def __init__(self, population: Population) -> None:
        self.population = population
        self.schema: Schema = population.schema
        self.seed = population.seed
        self.links: dict[str, Links] = {}
        draws = below(self.seed, "fame", 2**20, len(population))
        self.fame = 2**20 // (draws + 1)
        self._pools: dict[str, CandidatePool] = {}
        # Persons come last.
        types = zip(population.types, population.starts, strict=False)
        persons = (start for name, start in types if self.schema.is_a(name, "person"))
        self._first_person = next(persons, population.starts[-1])

    def draw(self, name: str, relation: Relation) -> Links:
        subjects = np.concatenate(
            [np.arange(*self.population.range_of(kind)) for kind in self.schema.subjects(relation)]
        )
        if relation.within:
            # For each subject, the first entity whose own value of `within` is the subject.
            inner = self.links[relation.within]
            values, firsts = np.unique(inner.objects, return_index=True)
            subjects = subjects[np.isin(subjects, values)]
            objects = inner.subjects[firsts[np.searchsorted(values, subjects)]]
        elif relation.agree:
            objects = self._agreeing(name, relation, subjects)
        elif relation.via:
            # For most, the value at the end of the relations `via`; for the others, any.
            values = self._follow(subjects, relation.via)
            anyone = self._entities(name, relation, subjects)
            moved = below(self.seed, f"moved/{name}", 100, len(subjects)) < _ELSEWHERE
            objects = np.where(moved | (values < 0), anyone, values)
        else:
            subjects = np.repeat(subjects, self._counts(name, relation, subjects))
            draw = self._items if relation.items else self._entities
            subjects, objects = _distinct(subjects, draw(name, relation, subjects))
            if relation.exclusive:
                kept = np.sort(np.unique(objects, return_index=True)[1])
                subjects, objects = subjects[kept], objects[kept]
        years = self.population.years[subjects]
        begins, ends = draw_times(name, relation, subjects, years, self.seed)
        past = begins >= 0
        sides = np.ones(len(subjects), dtype=np.int64)
        if relation.inverse:
            draws = below(self.seed, f"side/{name}", 100, len(subjects))
            bounds, choices = np.array(_TOLD_BY).T
            sides = choices[np.searchsorted(bounds, draws, side="right")]
        return Links(*(a[past].astype(np.int32) for a in (subjects, objects, begins, ends, sides)))

    def _counts(self, name: str, relation: Relation, subjects: Ints) -> Ints:
        low, high = relation.count
        draws = words(self.seed, f"count/{name}", len(subjects))
        if relation.even:
            counts = low + scaled(draws, high - low + 1)
        else:  # each further value half as likely
            halvings = np.array([2**16 >> n for n in range(1, high - low + 1)], dtype=np.int64)
            counts = low + np.searchsorted(-halvings, -scaled(draws, 2**16), side="left")
        chances = np.zeros(len(self.population), dtype=np.int64)
        for kind in self.schema.subjects(relation):
            chance = _of_type(relation.chance, kind, self.schema, 0)
            chances[slice(*self.population.range_of(kind))] = chance
        has = below(self.seed, f"chance/{name}", 100, len(subjects)) < chances[subjects]
        return np.where(has, counts, 0)

    def _items(self, name: str, relation: Relation, subjects: Ints) -> Ints:
        """Positions in the list of items; the first ones likelier, none before its time."""
        items = self.schema.items[relation.items]
        first = below(self.seed, f"item/{name}", len(items), len(subjects))
        again = below(self.seed, f"item again/{name}", len(items), len(subjects))
        drawn = np.minimum(first, again)
        since = np.array([self.schema.since.get(number, 0) for number in items])
        grown = np.where(subjects >= self._first_person, _GROWN_UP, 0)
        return np.where(since[drawn] <= self.population.years[subjects] + grown, drawn, 0)

    def _entities(self, name: str, relation: Relation, subjects: Ints) -> Ints:
        """An object for each, or -1 if none fits the era."""
        kinds = self.schema.objects(relation)
        if relation.cover:
            return self._covering(name, kinds[0], subjects)
        pools = [self._pool(kind) for kind in kinds]
        sizes = np.cumsum([len(pool.members) for pool in pools])
        draws = below(self.seed, f"kind/{name}", int(sizes[-1]), len(subjects))
        chosen = np.searchsorted(sizes, draws, side="right")
        objects = np.full(len(subjects), -1, dtype=np.int64)
        for number, (kind, pool) in enumerate(zip(kinds, pools, strict=True)):
            mine = chosen == number
            objects[mine] = self._from_pool(f"{name}/{kind}", relation, kind, pool, subjects[mine])
        for kind, pool in zip(kinds, pools, strict=True):  # no entity of the chosen type fits
            lacking = objects < 0
            stream = f"{name}/{kind} instead"
            objects[lacking] = self._from_pool(stream, relation, kind, pool, subjects[lacking])
        return objects

    def _from_pool(
        self, stream: str, relation: Relation, kind: str, pool: CandidatePool, subjects: Ints
    ) -> Ints:
        is_now = relation.at == "now"
        years = np.full_like(subjects, NOW) if is_now else self.population.years[subjects]
        low = np.zeros_like(subjects)
        high = np.full_like(subjects, len(pool.members))
        era = _of_type(relation.era, kind, self.schema, None)
        if era is not None:
            low = np.searchsorted(pool.years, years - era[1], side="left")
            high = np.searchsorted(pool.years, years - era[0], side="right")
        draws = words(self.seed, f"object/{stream}", len(subjects))
        famous = pool.fame[low] + scaled(draws, pool.fame[high] - pool.fame[low])
        places = np.searchsorted(pool.fame, famous, side="right") - 1
        equal = below(self.seed, f"equal/{stream}", 100, len(subjects)) < _EQUAL_CHANCE
        if relation.evenly:
            equal = np.ones_like(equal)
        places = np.where(equal, low + scaled(draws, high - low), places)
        if self.population.dials.hubs and not relation.evenly:
            self._to_hubs(stream, era, pool, years, places)
        empty = low >= high
        places[empty] = 0
        return np.where(empty, -1, pool.members[places])

    def _to_hubs(
        self, stream: str, era: Range | None, pool: CandidatePool, years: Ints, places: Ints
    ) -> None:
        """Send a share of links to hubs that fit the era, in place. Hubs are spread over the pool's
        years: of each stretch the most famous; of every other stretch one that shares its name."""
        if era is not None and era[1] - era[0] < _GENERATION:
            return
        share = self.population.dials.hubs
        number = max(1, round(len(places) * share / 100 / HUB_LINKS))
        shared = self.population.groups.shared[pool.members]
        fame = self.fame[pool.members]
        first = stream_key(self.seed, f"hub/{stream}") % 2
        hubs = []
        for n, stretch in enumerate(np.array_split(np.arange(len(pool.members)), number)):
            fitting = stretch[shared[stretch]] if (n + first) % 2 else stretch
            if len(stretch):
                own = fitting if len(fitting) else stretch
                hubs.append(int(own[np.argmax(fame[own])]))
        hub = np.array(hubs, dtype=np.int64)
        low, high = np.zeros_like(places), np.full_like(places, len(hub))
        if era is not None:
            low = np.searchsorted(pool.years[hub], years - era[1], side="left")
            high = np.searchsorted(pool.years[hub], years - era[0], side="right")
        draws = words(self.seed, f"hub/{stream}", len(places))
        sent = below(self.seed, f"to hub/{stream}", 100, len(places)) < share
        sent &= low < high
        places[sent] = hub[low[sent] + scaled(draws[sent], (high - low)[sent])]

    def _pool(self, kind: str) -> CandidatePool:
        if kind not in self._pools:
            members = self.population.members(kind)
            members = members[np.argsort(self.population.years[members], kind="stable")]
            most = min(_MOST_FAME, 20 + isqrt(len(members)))
            fame = np.concatenate([[0], np.cumsum(np.minimum(most, self.fame[members]))])
            self._pools[kind] = CandidatePool(members, self.population.years[members], fame)
        return self._pools[kind]

    def _covering(self, name: str, kind: str, subjects: Ints) -> Ints:
        """Each object once, then at random; entities that share a name get different ones."""
        first, end = self.population.range_of(kind)
        size = end - first
        shared = self.population.groups.position[subjects]
        groups = self.population.name_numbers[subjects] * (self.population.groups.shared[subjects])
        draws = scaled(words(self.seed, f"object/{name}", len(self.population))[groups], size)
        alone = below(self.seed, f"alone/{name}", size, len(subjects))
        chosen = np.where(groups > 0, (draws + shared) % size, alone)
        chosen[:size] = np.arange(min(size, len(subjects)))
        return first + chosen

    def _agreeing(self, name: str, relation: Relation, subjects: Ints) -> Ints:
        """An object that has the same as the subject at the end of `agree`; else any."""
        members = self._pool(self.schema.objects(relation)[0]).members
        keys = self._follow(members, relation.agree[1])
        order = np.argsort(keys, kind="stable")
        wanted = self._follow(subjects, relation.agree[0])
        low = np.searchsorted(keys[order], wanted, side="left")
        high = np.searchsorted(keys[order], wanted, side="right")
        draws = words(self.seed, f"agree/{name}", len(subjects))
        rows = np.minimum(low + scaled(draws, high - low), len(members) - 1)
        anyone = self._entities(name, relation, subjects)
        return np.where(low < high, members[order][rows], anyone)

    def _follow(self, entities: Ints, path: tuple[str, ...]) -> Ints:
        """The first value at the end of a path of relations for each; -1 where there is none."""
        values = entities
        for step in path:
            links = self.links[step]
            rows = np.minimum(np.searchsorted(links.subjects, values), len(links.subjects) - 1)
            known = links.subjects[rows] == values
            values = np.where(known, links.objects[rows], -1).astype(np.int64)
        return values


def _distinct(subjects: Ints, objects: Ints) -> tuple[Ints, Ints]:
    kept = objects >= 0
    keys = np.unique((subjects[kept] << 32) | objects[kept])
    return keys >> 32, keys & 0xFFFFFFFF


def _of_type(
    setting: Mapping[str, _Setting] | _Setting, kind: str, schema: Schema, default: _Setting
) -> _Setting:
    """A setting for one type: the same for all, or that of the first type it is."""
    if not isinstance(setting, Mapping):
        return setting
    values = (value for name, value in setting.items() if schema.is_a(kind, name))
    return next(values, default)


class FactKind(Enum):
    ENTITY = auto()
    ITEM = auto()
    DATE = auto()
    NUMBER = auto()


class Item(NamedTuple):
    """An entry of a closed list that Wikidata has a number for."""

    qid: str
    label: str


class FactValue(NamedTuple):
    """One value: the index of an entity, a date (yyyymmdd), a number; or an item. `begin`, `end`:
    years, or 0. `side`: whether it is told about the subject (1), the object (2), both (3), or in
    another's article (0)."""

    content: int
    item: Item | None = None
    begin: int = 0
    end: int = 0
    side: int = 1


ReadValues = Callable[[int], list[FactValue]]


class Fact(NamedTuple):
    """A relation, seen from its subject or from its object (`inverse`), and how to read it.
    `former`: values that were replaced."""

    name: str
    relation: Relation
    kind: FactKind
    inverse: bool
    values: ReadValues
    former: ReadValues | None = None


def read_links(links: Links, items: Sequence[Item]) -> ReadValues:
    return _read_rows(links, links.subjects, links.objects, items)


def read_inverse(links: Links) -> ReadValues:
    """By object, the subjects of those links that are rows about the object."""
    rows = np.flatnonzero(links.sides & 2)
    rows = rows[np.argsort(links.objects[rows], kind="stable")]
    chosen = Links(*(column[rows] for column in links))
    return _read_rows(chosen, chosen.objects, chosen.subjects, ())


def _read_rows(links: Links, keys: Ints, others: Ints, items: Sequence[Item]) -> ReadValues:
    """The arrays as a sparse row matrix; a memory view is read in a third of an array's time."""
    if not len(keys):
        return lambda entity: []
    first, last = int(keys[0]), int(keys[-1])
    starts = np.searchsorted(keys, np.arange(first, last + 2)).astype(np.int32).data
    content, begins, ends, sides = (
        np.ascontiguousarray(a).data for a in (others, links.begins, links.ends, links.sides)
    )

    def values(entity: int) -> list[FactValue]:
        if not first <= entity <= last:
            return []
        row = range(starts[entity - first], starts[entity - first + 1])
        if items:
            return [FactValue(content[n], items[content[n]], 0, 0, sides[n]) for n in row]
        return [FactValue(content[n], None, begins[n], ends[n], sides[n]) for n in row]

    return values


def read_literals(first: int, literals: Ints, at_home: Ints, since: Ints | None) -> ReadValues:
    """A date or number for each entity from `first` on, where it is not 0; its own article tells
    it where it is not 0 in `at_home` either. `since`: the year in which it replaced another."""
    numbers, told = literals.data, at_home.data
    begins = since.data if since is not None else None

    def values(entity: int) -> list[FactValue]:
        row = entity - first
        number = numbers[row]
        begin = begins[row] if begins else 0
        return [FactValue(number, None, begin, 0, 1 if told[row] else 0)] if number else []

    return values
