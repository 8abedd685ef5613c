"""What is known of entities, in a schema's terms: plans are made and executed with this."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple, Protocol, overload

import numpy as np

from branchwise.kg.schema import ANY, Relation, Schema
from branchwise.worlds.questions.statements import Statements, value_kind

TYPE, OCCUPATION = "P31", "P106"
_NONE = np.uint32(2**32 - 1)
"""Above all numbers of texts."""
_MEMBERS_AT_HAND = 2**18


class Facts(Protocol):
    """A graph as a schema sees it.

    A relation means: its property, between subjects of its subject types and, where it has any,
    values of its object types. An entity is of a type when it is an instance (P31) of the type's
    class and, for a type with an occupation, has it (P106): it may be of several types.
    """

    @property
    def schema(self) -> Schema:
        """What there is to say."""
        ...

    def related(
        self, relation: str, inverse: bool, members: Iterable[str]
    ) -> dict[str, tuple[str, ...]]:
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
    """The facts of a graph as arrays: some 30 bytes a statement, of which most are mapped.

    How a relation leads from member to values is worked out when it is first asked for, and kept.
    """

    def __init__(self, statements: Statements, schema: Schema) -> None:
        self.schema = schema
        self._statements = statements
        self._ways: dict[tuple[str, bool], _Way] = {}
        # What was asked for lately: plans ask for the same members again and again.
        self._related: dict[tuple[str, bool], dict[str, tuple[str, ...]]] = {}
        self._at_hand = 0
        self._masks: dict[str, np.ndarray] = {}
        self._sorted: dict[str, _Members] = {}
        self._numbers = lru_cache(2)(self._numbers_of)

    @classmethod
    def load(cls, path: Path, schema: Schema, keep: Path | None = None) -> "KgFacts":
        """From the folder of a built graph (or a world that has one), or a file of triples.

        See `Statements.load`. Raises InputError where there is neither.
        """
        used = (relation.property for relation in schema.relations.values())
        return cls(Statements.load(path, (TYPE, OCCUPATION, *used), keep), schema)

    def related(
        self, relation: str, inverse: bool, members: Iterable[str]
    ) -> dict[str, tuple[str, ...]]:
        if self._at_hand > _MEMBERS_AT_HAND:
            self._related.clear()
            self._at_hand = 0
        known = self._related.setdefault((relation, inverse), {})
        wanted = list(members)
        if unknown := [member for member in wanted if member not in known]:
            known.update(self._found(self._way(relation, inverse), unknown))
            self._at_hand += len(unknown)
        return {member: values for member in wanted if (values := known[member])}

    def _found(self, way: "_Way", members: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Each member with its values, which may be none."""
        text = self._statements.text
        starts, ends = way.bounds(self._numbers_of(members))
        for member, start, end in zip(members, starts.tolist(), ends.tolist(), strict=True):
            yield member, tuple(map(text, way.values[start:end].tolist())) if start < end else ()

    def degrees(self, relation: str, inverse: bool, members: tuple[str, ...]) -> np.ndarray:
        way = self._way(relation, inverse)
        every = np.zeros(len(self._statements) + 1, dtype=np.int64)
        every[way.members[:-1]] = np.diff(way.starts[:-1])
        degrees: np.ndarray = every[self._numbers(members)]
        return degrees

    def type_of(self, entity: str) -> str | None:
        number = self._statements.number(entity)
        place = -1 if number is None else int(self._types[number])
        return None if place < 0 else self.schema.concrete[place]

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
        number, lacking = self._statements.number, len(self._statements)
        found = (lacking if (known := number(m)) is None else known for m in members)
        return np.fromiter(found, dtype=np.uint32, count=len(members))

    def _way(self, relation: str, inverse: bool) -> "_Way":
        if (relation, inverse) not in self._ways:
            self._ways[relation, inverse] = self._find_way(self.schema.relations[relation], inverse)
        return self._ways[relation, inverse]

    def _find_way(self, relation: Relation, inverse: bool) -> "_Way":
        kind = value_kind(relation)
        subjects, values = self._statements.of(relation.property, kind).T
        kept = self._of_types(relation.subject)[subjects]
        if relation.object:
            kept &= self._of_types(relation.object)[values]
        if not inverse:
            return _Way.of(subjects[kept], values[kept])
        if kind != "thing":
            return _Way.of(subjects[:0], values[:0])
        subjects, values = subjects[kept], values[kept]
        order = np.argsort(values, kind="stable")
        return _Way.of(values[order], subjects[order])

    def _of_types(self, names: Iterable[str]) -> np.ndarray:
        """bool [texts]: what is of any of the types."""
        found: np.ndarray = np.logical_or.reduce([self._of_type(name) for name in names])
        return found

    def _of_type(self, name: str) -> np.ndarray:
        if name not in self._masks:
            self._masks[name] = self._find(name)
        return self._masks[name]

    def _find(self, name: str) -> np.ndarray:
        if name == ANY:
            return self._of_types(self.schema.concrete)
        kind = self.schema.resolved(name)
        if not kind.occupation:
            return self._having(TYPE, kind.class_id)
        having = self._having(OCCUPATION, kind.occupation)
        return having & self._having(TYPE, kind.class_id) if kind.class_id else having

    def _having(self, number: str, value: str) -> np.ndarray:
        """bool [texts]: of which a property has this value."""
        found = np.zeros(len(self._statements), dtype=bool)
        subjects, values = self._statements.of(number, "thing").T
        wanted = self._statements.number(value)
        if wanted is not None:
            found[subjects[values == wanted]] = True
        return found

    @cached_property
    def _types(self) -> np.ndarray:
        """int16 [texts]: the place of the first concrete type; -1 where there is none."""
        found = np.full(len(self._statements), -1, dtype=np.int16)
        for place, name in reversed(list(enumerate(self.schema.concrete))):
            found[self._of_type(name)] = place
        return found


class _Way(NamedTuple):
    """Where a relation leads: those of `members[n]` are `values[starts[n]:starts[n + 1]]`.

    After the last member comes `_NONE`, which has none.
    """

    members: np.ndarray
    starts: np.ndarray
    values: np.ndarray

    @classmethod
    def of(cls, members: np.ndarray, values: np.ndarray) -> "_Way":
        """From pairs that are sorted by member."""
        different, starts = np.unique(members, return_index=True)
        ends = np.append(starts, [len(members)] * 2)
        return cls(np.append(different, _NONE), ends.astype(np.uint32), values)

    def bounds(self, members: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where the values of each begin and end."""
        places = np.searchsorted(self.members, members)
        known = self.members[places] == members
        return self.starts[places], self.starts[places + known]


@dataclass(frozen=True)
class _Members(Sequence[str]):
    """Members of a type, whose texts are made when they are asked for."""

    numbers: np.ndarray
    text: Callable[[int], str]

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[str]: ...
    def __getitem__(self, place: int | slice) -> str | Sequence[str]:
        if isinstance(place, slice):
            return _Members(self.numbers[place], self.text)
        return self.text(int(self.numbers[place]))
