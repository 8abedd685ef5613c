"""What is known of entities, in a schema's terms: plans are made and executed with this."""

from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Protocol

from branchwise.corpora.schema import ANY, Schema
from branchwise.corpora.synthesis.statements import Statements
from branchwise.corpora.synthesis.terms import value_kind

TYPE, OCCUPATION = "P31", "P106"


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

    def type_of(self, entity: str) -> str | None:
        """The first concrete type in the schema's order that an entity is of."""
        ...

    def members(self, type_name: str) -> tuple[str, ...]:
        """All entities of a type, sorted. Raises KeyError for a type the schema does not have."""
        ...

    def label(self, entity: str) -> str:
        """What an entity or item is called; its number or IRI where it has no name."""
        ...

    def aliases(self, entity: str) -> tuple[str, ...]:
        """What else it is called, sorted."""
        ...


_Index = dict[str, tuple[str, ...]]


class GraphFacts:
    """The facts of a graph that fits into memory: some 0.4 KB a statement, all relations in use.

    How a relation leads from member to values is worked out when it is first asked for, and kept.
    """

    def __init__(self, statements: Statements, schema: Schema) -> None:
        self.schema = schema
        self._statements = statements
        self._names = statements.names
        self._indexes: dict[tuple[str, bool], _Index] = {}
        self._members: dict[str, frozenset[str]] = {}
        self._sorted: dict[str, tuple[str, ...]] = {}

    @classmethod
    def load(cls, folder: Path, schema: Schema) -> "GraphFacts":
        """From the folder of a built graph (or a world that has one), or a file of triples.

        Raises InputError where there is neither.
        """
        used = (relation.property for relation in schema.relations.values())
        statements = Statements((TYPE, OCCUPATION, *used))
        statements.read(folder)
        return cls(statements, schema)

    def related(
        self, relation: str, inverse: bool, members: Iterable[str]
    ) -> dict[str, tuple[str, ...]]:
        index = self._indexes.get((relation, inverse))
        if index is None:
            index = self._indexes[relation, inverse] = self._index(relation, inverse)
        find = index.get
        return {member: values for member in members if (values := find(member))}

    def type_of(self, entity: str) -> str | None:
        return self._types.get(entity)

    def members(self, type_name: str) -> tuple[str, ...]:
        if type_name not in self._sorted:
            self._sorted[type_name] = tuple(sorted(self._of_type(type_name)))
        return self._sorted[type_name]

    def label(self, entity: str) -> str:
        return self._names.label(entity)

    def aliases(self, entity: str) -> tuple[str, ...]:
        return self._names.aliases(entity)

    def _index(self, name: str, inverse: bool) -> _Index:
        """Sorted values by member."""
        found: dict[str, list[str]] = {}
        if inverse and value_kind(self.schema.relations[name]) != "thing":
            return {}
        for subject, value in self._pairs(name):
            member, other = (value, subject) if inverse else (subject, value)
            found.setdefault(member, []).append(other)
        return {
            member: tuple(values) if len(values) == 1 else tuple(sorted(set(values)))
            for member, values in found.items()
        }

    def _pairs(self, name: str) -> Iterator[tuple[str, str]]:
        """Subject and value of all of a relation's statements."""
        relation = self.schema.relations[name]
        pairs = self._statements.of(relation.property, value_kind(relation))
        subjects = self._of_types(relation.subject)
        if not relation.object:
            return (pair for pair in pairs if pair[0] in subjects)
        objects = self._of_types(relation.object)
        return (pair for pair in pairs if pair[0] in subjects and pair[1] in objects)

    def _of_types(self, names: tuple[str, ...]) -> frozenset[str]:
        if len(names) == 1:
            return self._of_type(names[0])
        return frozenset().union(*(self._of_type(name) for name in names))

    def _of_type(self, name: str) -> frozenset[str]:
        if name not in self._members:
            self._members[name] = self._find(name)
        return self._members[name]

    def _find(self, name: str) -> frozenset[str]:
        if name == ANY:
            return self._of_types(self.schema.concrete)
        kind = self.schema.resolved(name)
        found = self._classes.get(kind.class_id, frozenset())
        if not kind.occupation:
            return found
        having = self._occupations.get(kind.occupation, frozenset())
        return having & found if kind.class_id else having

    @cached_property
    def _classes(self) -> dict[str, frozenset[str]]:
        return self._by_value(TYPE, {kind.class_id for kind in self.schema.types.values()})

    @cached_property
    def _occupations(self) -> dict[str, frozenset[str]]:
        return self._by_value(OCCUPATION, {kind.occupation for kind in self.schema.types.values()})

    def _by_value(self, number: str, wanted: set[str]) -> dict[str, frozenset[str]]:
        found: dict[str, list[str]] = {}
        for subject, value in self._statements.of(number, "thing"):
            if value in wanted:
                found.setdefault(value, []).append(subject)
        return {value: frozenset(subjects) for value, subjects in found.items()}

    @cached_property
    def _types(self) -> dict[str, str]:
        return {
            entity: name
            for name in reversed(self.schema.concrete)
            for entity in self._of_type(name)
        }
