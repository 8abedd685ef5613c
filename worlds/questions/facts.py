"""What is known of entities, in a schema's terms: plans are made and executed with this.

The facts of a graph are arrays, or asked in SPARQL (`endpoint_facts`).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple, Protocol, overload

import numpy as np

from branchwise.kg.schema import ANY, Schema
from branchwise.worlds.questions.statements import Statements

TYPE, OCCUPATION = "P31", "P106"
RelatedValues = dict[str, Sequence[str]]
"""By member."""
_NONE = np.uint32(2**32 - 1)  # above all numbers of texts
_MEMBERS_AT_HAND = 2**18
_FEW = 100  # values of one member; more are read when they are asked for, one by one


def fact_properties(schema: Schema) -> tuple[str, ...]:
    """The properties whose statements are the facts of a schema."""
    every = (*schema.relations.values(), *schema.former.values())
    return tuple(dict.fromkeys((TYPE, OCCUPATION, *(relation.kept_as() for relation in every))))


class Facts(Protocol):
    """A graph as a schema sees it.

    A relation means: its property, between subjects of its subject types and, where it has any,
    values of its object types. An entity is of a type when it is an instance (P31) of the type's
    class and, for a type with an occupation, has it (P106): it may be of several types.
    """

    @property
    def schema(self) -> Schema:
        """With relations to former values ("formerly owner") where the graph has any."""
        ...

    def related(self, relation: str, inverse: bool, members: Iterable[str]) -> RelatedValues:
        """For each member that has any, in the members' order: its values, sorted.

        From a relation's object to its subjects where `inverse`; dates and numbers lead nowhere.
        Entities and items are "Q42" or "<iri>", dates "1976-03-14", numbers decimal text. Raises
        KeyError for a relation that the schema does not have.
        """
        ...

    def degrees(self, relation: str, inverse: bool, members: tuple[str, ...]) -> np.ndarray:
        """int64 [members]: how many values `related` gives each."""
        ...

    def type_of(self, entity: str) -> str | None:
        """The first concrete type in the schema's order that an entity is of."""
        ...

    def members(self, type_name: str) -> Sequence[str]:
        """All entities of a type, sorted. Raises KeyError for a type the schema does not have."""
        ...

    def label(self, entity: str) -> str:
        """What an entity or item is called; its number or IRI where it has no name."""
        ...

    def aliases(self, entity: str) -> tuple[str, ...]:
        """What else it is called, sorted."""
        ...


class KgFacts:
    """The facts of a graph as arrays: some 30 bytes a statement, of which most are mapped. How a
    relation leads from member to values is worked out when it is first asked for, and kept."""

    def __init__(self, statements: Statements, schema: Schema) -> None:
        former = schema.former.items()
        self.schema = schema.with_former(
            [name for name, r in former if len(statements.of(r.kept_as(), r.value_kind))]
        )
        self._statements = statements
        self._ways: dict[tuple[str, bool], _Way] = {}
        # What was asked for lately: plans ask for the same members again and again.
        self._related: dict[tuple[str, bool], RelatedValues] = {}
        self._at_hand = 0
        self._masks: dict[str, np.ndarray] = {}
        self._sorted: dict[str, _Members] = {}
        self._numbers = lru_cache(2)(self._numbers_of)

    @classmethod
    def load(cls, path: Path, schema: Schema, keep: Path | None = None) -> "KgFacts":
        """From a built graph's (or its world's) folder, or triples: see `Statements.load`."""
        return cls(Statements.load(path, fact_properties(schema), keep), schema)

    def related(self, relation: str, inverse: bool, members: Iterable[str]) -> RelatedValues:
        if self._at_hand > _MEMBERS_AT_HAND:
            self._related.clear()
            self._at_hand = 0
        known = self._related.setdefault((relation, inverse), {})
        wanted = list(members)
        if unknown := [member for member in wanted if member not in known]:
            way, text = self._way(relation, inverse), self._statements.text
            starts, ends = way.bounds(self._numbers_of(unknown))
            for member, start, end in zip(unknown, starts.tolist(), ends.tolist(), strict=True):
                own = way.values[start:end]
                few = end - start <= _FEW
                known[member] = tuple(map(text, own.tolist())) if few else _Members(own, text)
            self._at_hand += len(unknown)
        return {member: values for member in wanted if (values := known[member])}

    def degrees(self, relation: str, inverse: bool, members: tuple[str, ...]) -> np.ndarray:
        way = self._way(relation, inverse)
        every = np.zeros(len(self._statements) + 1, dtype=np.int64)
        every[way.members[:-1]] = np.diff(way.starts[:-1])
        degrees: np.ndarray = every[self._numbers(members)]
        return degrees

    def type_of(self, entity: str) -> str | None:
        number = self._statements.number(entity)
        index = -1 if number is None else int(self._types[number])
        return None if index < 0 else self.schema.concrete[index]

    def members(self, type_name: str) -> "_Members":
        if type_name not in self._sorted:
            numbers = np.flatnonzero(self._of_type(type_name))
            self._sorted[type_name] = _Members(numbers, self._statements.text)
        return self._sorted[type_name]

    def label(self, entity: str) -> str:
        return self._statements.label(entity)

    def aliases(self, entity: str) -> tuple[str, ...]:
        return self._statements.aliases(entity)

    def _numbers_of(self, members: Sequence[str]) -> np.ndarray:
        """The numbers of their texts; one that no text has for what the graph lacks."""
        numbers, lacking = map(self._statements.number, members), len(self._statements)
        known = (lacking if number is None else number for number in numbers)
        return np.fromiter(known, dtype=np.uint32, count=len(members))

    def _way(self, relation: str, inverse: bool) -> "_Way":
        if (relation, inverse) in self._ways:
            return self._ways[relation, inverse]
        declared = self.schema.relations[relation]
        kind = declared.value_kind
        subjects, values = self._statements.of(declared.kept_as(), kind).T
        kept = self._of_types(declared.subject)[subjects]
        if declared.ended:
            numbers, one = (declared.kept_as(), declared.property), np.array([2**32, 1], np.uint64)
            had, has = (self._statements.of(n, kind).astype(np.uint64) @ one for n in numbers)
            kept &= ~np.isin(had, has)
        if declared.object:
            kept &= self._of_types(declared.object)[values]
        subjects, values = subjects[kept], values[kept]
        if inverse:
            # Dates and numbers lead nowhere.
            order = np.argsort(values, kind="stable") if kind == "thing" else slice(0)
            subjects, values = values[order], subjects[order]
        different, starts = np.unique(subjects, return_index=True)
        ends = np.append(starts, [len(subjects)] * 2).astype(np.uint32)
        self._ways[relation, inverse] = _Way(np.append(different, _NONE), ends, values)
        return self._ways[relation, inverse]

    def _of_types(self, names: Iterable[str]) -> np.ndarray:
        mask: np.ndarray = np.logical_or.reduce([self._of_type(name) for name in names])
        return mask

    def _of_type(self, name: str) -> np.ndarray:
        if name in self._masks:
            return self._masks[name]
        if name == ANY:
            mask = self._of_types(self.schema.concrete)
        else:
            kind = self.schema.resolved(name)
            first = (OCCUPATION, kind.occupation) if kind.occupation else (TYPE, kind.class_id)
            mask = self._having(*first)
            if kind.occupation and kind.class_id:
                mask = mask & self._having(TYPE, kind.class_id)
        self._masks[name] = mask
        return mask

    def _having(self, number: str, value: str) -> np.ndarray:
        mask = np.zeros(len(self._statements), dtype=bool)
        subjects, values = self._statements.of(number, "thing").T
        wanted = self._statements.number(value)
        if wanted is not None:
            mask[subjects[values == wanted]] = True
        return mask

    @cached_property
    def _types(self) -> np.ndarray:
        """int16 [texts]: the place of the first concrete type; -1 where there is none."""
        types = np.full(len(self._statements), -1, dtype=np.int16)
        for place, name in reversed(list(enumerate(self.schema.concrete))):
            types[self._of_type(name)] = place
        return types


class _Way(NamedTuple):
    """Those of `members[n]` are `values[starts[n]:starts[n + 1]]`; the last member is `_NONE`."""

    members: np.ndarray
    starts: np.ndarray
    values: np.ndarray

    def bounds(self, members: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        places = np.searchsorted(self.members, members)
        known = self.members[places] == members
        return self.starts[places], self.starts[places + known]


@dataclass(frozen=True)
class _Members(Sequence[str]):
    numbers: np.ndarray
    text: Callable[[int], str]

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[str]:
        return map(self.text, self.numbers.tolist())

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[str]: ...
    def __getitem__(self, place: int | slice) -> str | Sequence[str]:
        if isinstance(place, slice):
            return _Members(self.numbers[place], self.text)
        return self.text(int(self.numbers[place]))
