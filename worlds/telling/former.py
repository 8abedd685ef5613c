"""Values that were so before: draws what was replaced, and when."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from branchwise.kg.schema import Relation
from branchwise.worlds.draws import Ints, below
from branchwise.worlds.facts import Links
from branchwise.worlds.population import NOW, Population
from branchwise.worlds.telling.places import Literals

_GROWN_UP, _RETIRED = 20, 65  # ages
_LONGEST = 12  # years that a former value held beyond the first two


class FormerValues(NamedTuple):
    """By relation, the values that were replaced, with first and last year; numbers are `objects`.
    `since`: by relation and type, the year of a number that replaced one, else 0."""

    links: dict[str, Links]
    since: Literals


def draw_former(
    links: dict[str, Links], literals: Literals, population: Population, percent: int
) -> FormerValues:
    """A former value for so many per cent of those that change with time (`former` in the schema),
    as far as dates allow one. Links that replaced one get the year as their beginning."""
    drawing = _Drawing(population, literals, percent)
    former, since = {}, {}
    for name, relation in population.schema.relations.items():
        if relation.former is None:
            continue
        if name in links:
            rows, former[name] = drawing.of_links(name, relation, links[name])
            begins = links[name].begins.copy()
            begins[rows] = former[name].ends
            links[name] = links[name]._replace(begins=begins)
            continue
        parts = []
        for kind in population.schema.subjects(relation):
            first, _ = population.range_of(kind)
            numbers = literals[name, kind]
            parts.append(drawing.of_numbers(f"{name}/{kind}", relation, first, numbers))
            since[name, kind] = np.zeros_like(numbers)
            since[name, kind][parts[-1].subjects - first] = parts[-1].ends
        joined = Links(*(np.concatenate(column) for column in zip(*parts, strict=True)))
        order = np.argsort(joined.subjects, kind="stable")
        former[name] = Links(*(column[order] for column in joined))
    return FormerValues(former, since)


class _Drawing:
    def __init__(self, population: Population, literals: Literals, percent: int) -> None:
        self._population, self._percent = population, percent
        self._people = np.zeros(len(population), dtype=np.bool_)
        self._last: Ints = np.full(len(population), NOW)  # the year of death, or the present
        for name in population.types:
            if population.schema.is_a(name, "person"):
                here = slice(*population.range_of(name))
                self._people[here] = True
                died = literals["died", name] // 10_000
                self._last[here] = np.where(died > 0, died, NOW)

    def of_links(self, name: str, relation: Relation, links: Links) -> tuple[Ints, Links]:
        """Rows of the links whose objects replaced another, and the others."""
        subjects = links.subjects.astype(np.int64)
        ends = links.begins if relation.time is not None else self._ends(name, relation, subjects)
        begins = self._begins(name, subjects, ends)
        objects = self._objects(name, relation, begins, ends)
        kept = self._chosen(name, len(subjects)) & (ends - begins >= 2)
        kept &= (objects >= 0) & (objects != links.objects) & (objects != subjects)
        kept &= self._population.years[links.objects] < ends  # the successor was there
        if relation.exclusive:  # nobody does two things at once
            starts = np.zeros(len(self._population), dtype=np.int64)
            starts[links.objects] = links.begins
            later = starts[objects]
            kept &= (later == 0) | (later >= ends)
            rows = np.flatnonzero(kept)
            rows = rows[np.sort(np.unique(objects[rows], return_index=True)[1])]
        else:
            rows = np.flatnonzero(kept)
        return rows, _as_links(subjects[rows], objects[rows], begins[rows], ends[rows])

    def of_numbers(self, name: str, relation: Relation, first: int, numbers: Ints) -> Links:
        subjects = first + np.arange(len(numbers))
        ends = self._ends(name, relation, subjects)
        begins = self._begins(name, subjects, ends)
        percent = 45 + below(self._population.seed, f"former number/{name}", 50, len(numbers))
        up = below(self._population.seed, f"former larger/{name}", 100, len(numbers)) < 30
        others = np.where(up, numbers.astype(np.int64) * 100 // percent, numbers * percent // 100)
        low, high = relation.number or (0, 0)
        kept = self._chosen(name, len(numbers)) & (numbers > 0) & (ends - begins >= 2)
        rows = np.flatnonzero(kept & (others != numbers) & (low <= others) & (others <= high))
        return _as_links(subjects[rows], others[rows], begins[rows], ends[rows])

    def _chosen(self, name: str, count: int) -> NDArray[np.bool_]:
        return below(self._population.seed, f"former/{name}", 100, count) < self._percent

    def _ends(self, name: str, relation: Relation, subjects: Ints) -> Ints:
        """The year in which the value of each changed."""
        low, high = relation.former or (0, 0)
        ago = below(self._population.seed, f"changed/{name}", high - low + 1, len(subjects))
        return self._last[subjects] - low - ago

    def _begins(self, name: str, subjects: Ints, ends: Ints) -> Ints:
        """Since when the former values had held: not before subjects were there, or grown up."""
        grown = np.where(self._people[subjects], _GROWN_UP, 1)
        earliest = self._population.years[subjects] + grown
        held = 2 + below(self._population.seed, f"held/{name}", _LONGEST, len(subjects))
        begins: Ints = np.maximum(ends - held, earliest)
        return begins

    def _objects(self, name: str, relation: Relation, begins: Ints, ends: Ints) -> Ints:
        """For each the index of an entity that was there, and people at work; -1 where there was
        none. Relations have objects of one sort, people or things."""
        kinds = self._population.schema.objects(relation)
        members = np.concatenate([self._population.members(kind) for kind in kinds])
        years = self._population.years[members]
        order = np.argsort(years, kind="stable")
        members, years = members[order], years[order]
        people = bool(len(members)) and bool(self._people[members[0]])
        high = np.searchsorted(years, begins - (_GROWN_UP if people else 0), side="left")
        low = np.searchsorted(years, ends - _RETIRED, side="left") if people else 0 * high
        drawn = below(self._population.seed, f"former object/{name}", np.maximum(high - low, 1))
        places = np.minimum(low + drawn, len(members) - 1)
        return np.where(low < high, members[places], -1)


def _as_links(subjects: Ints, objects: Ints, begins: Ints, ends: Ints) -> Links:
    columns = (subjects, objects, begins, ends, np.ones_like(subjects))
    return Links(*(column.astype(np.int32) for column in columns))
