"""What is known of entities, in a schema's terms: plans are made and executed with this.

The facts of a graph are arrays, or asked in SPARQL where it is too large or on another server.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple, Protocol, overload

import numpy as np

from branchwise.kg.answers import MAX_ROWS, Graph, KgError, QueryResult, Term
from branchwise.kg.schema import ANY, Schema, ValueKind
from branchwise.kg.vocabulary import ENTITY
from branchwise.worlds.questions.statements import (
    ALIAS,
    DIRECT,
    LABEL,
    LANGUAGES,
    Statements,
    TaggedName,
    best_aliases,
    best_label,
    entity_iri,
    literal,
    said,
    thing,
)

TYPE, OCCUPATION = "P31", "P106"
RelatedValues = dict[str, tuple[str, ...]]
"""By member."""
_NONE = np.uint32(2**32 - 1)  # above all numbers of texts
_MEMBERS_AT_HAND = 2**18


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
        every = (*schema.relations.values(), *schema.former.values())
        used = (relation.kept_as() for relation in every)
        return cls(Statements.load(path, (TYPE, OCCUPATION, *used), keep), schema)

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
                known[member] = tuple(map(text, way.values[start:end].tolist()))
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

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[str]: ...
    def __getitem__(self, place: int | slice) -> str | Sequence[str]:
        if isinstance(place, slice):
            return _Members(self.numbers[place], self.text)
        return self.text(int(self.numbers[place]))


def _iri(text: str) -> str:
    return f"<{entity_iri(text)}>"


def _direct(number: str) -> str:
    return f"<{DIRECT}{number}>"


def values(variable: str, members: Iterable[str]) -> str:
    return f"VALUES {variable} {{ {' '.join(map(_iri, members))} }}"


def _is_of(schema: Schema, names: Sequence[str], variable: str) -> str:
    """A filter: it is looked at after the statements, which are fewer than a type's members."""
    parts = _alternatives(schema, names, variable)
    return f"FILTER({' || '.join(f'EXISTS {{ {part} }}' for part in parts)})"


def _alternatives(schema: Schema, names: Sequence[str], variable: str) -> list[str]:
    """One pattern for all types that a class alone makes, and one for each class with jobs."""
    known = schema.concrete if ANY in names else names
    jobs: dict[str, list[str]] = {}
    for kind in map(schema.resolved, known):
        jobs.setdefault(kind.class_id, []).append(kind.occupation)
    patterns = []
    for class_id, wanted in jobs.items():
        parts = [f"{variable} {_direct(TYPE)} <{ENTITY}{class_id}> ."] if class_id else []
        if all(wanted):  # no type of the class is without an occupation
            job, listed = f"{variable}_job", ", ".join(f"<{ENTITY}{job}>" for job in wanted)
            parts.append(f"{variable} {_direct(OCCUPATION)} {job} . FILTER({job} IN ({listed}))")
        patterns.append(" ".join(parts))
    return patterns


SECONDS = 30.0
"""What one query may take."""

BATCH_LENGTH = 10_000
"""Characters of the members that are asked about at once; a query may have 16 KB."""


class EndpointFacts:
    """The facts of a graph that answers SPARQL, embedded or remote. See `Facts`. What was answered
    is kept. A batch with more than `MAX_ROWS` rows is asked again in halves, and a member with more
    than that page by page. Every method raises KgError where the graph does not answer."""

    def __init__(self, kg: Graph, schema: Schema, seconds: float = SECONDS) -> None:
        self._kg, self._seconds = kg, seconds
        former = schema.former.items()
        self.schema = schema.with_former(
            [name for name, r in former if self._ask(f"SELECT ?s {{ {said(r)} }} LIMIT 1").rows]
        )
        self._related: dict[tuple[str, bool], RelatedValues] = {}
        self._names: dict[str, tuple[str, tuple[str, ...]]] = {}
        self._types: dict[str, str | None] = {}

    def related(self, relation: str, inverse: bool, members: Iterable[str]) -> RelatedValues:
        wanted = list(dict.fromkeys(members))
        known = self._related.setdefault((relation, inverse), {})
        unknown = sorted(member for member in wanted if member not in known)
        for batch in _batches(unknown):
            answers = self._ask_related(relation, inverse, batch)
            known |= {member: tuple(sorted(answers.get(member, ()))) for member in batch}
        return {member: known[member] for member in wanted if known[member]}

    def degrees(self, relation: str, inverse: bool, members: tuple[str, ...]) -> np.ndarray:
        related = self.related(relation, inverse, members)
        return np.array([len(related.get(member, ())) for member in members], dtype=np.int64)

    def type_of(self, entity: str) -> str | None:
        if entity not in self._types:
            self._types[entity] = self._ask_type(entity)
        return self._types[entity]

    def members(self, type_name: str) -> tuple[str, ...]:
        parts = _alternatives(self.schema, (type_name,), "?o")
        pattern = " UNION ".join(f"{{ {part} }}" for part in parts)
        return tuple(sorted(set(self._pages(pattern, "?o", "thing"))))

    def label(self, entity: str) -> str:
        return self._named(entity)[0]

    def aliases(self, entity: str) -> tuple[str, ...]:
        return self._named(entity)[1]

    def _ask_related(
        self, relation: str, inverse: bool, members: Sequence[str]
    ) -> dict[str, set[str]]:
        declared = self.schema.relations[relation]
        kind = declared.value_kind
        if inverse and kind != "thing":
            return {}
        member, other = ("?o", "?s") if inverse else ("?s", "?o")
        objects = _is_of(self.schema, declared.object, "?o") if declared.object else ""
        pattern = (
            f"{values(member, members)} {said(declared)} "
            f"{_is_of(self.schema, declared.subject, '?s')} {objects}"
        )
        answer = self._ask(f"SELECT {member} {other} WHERE {{ {pattern} }}")
        related: dict[str, set[str]] = {}
        if answer.complete:
            for term, other_term in answer.cells(member[1:], other[1:]):
                entity, value = _value(term, "thing"), _value(other_term, kind)
                if entity and value:
                    related.setdefault(entity, set()).add(value)
        elif len(members) == 1:
            related[members[0]] = set(self._pages(pattern, other, kind))
        else:
            half = len(members) // 2
            for part in (members[:half], members[half:]):
                related |= self._ask_related(relation, inverse, part)
        return related

    def _pages(self, pattern: str, variable: str, kind: ValueKind) -> Iterator[str]:
        """All values of a variable of a kind, by as many queries as it takes."""
        after = ""
        while True:
            order = f"ORDER BY STR({variable}) LIMIT {MAX_ROWS}"
            answer = self._ask(f"SELECT DISTINCT {variable} WHERE {{ {pattern} {after} }} {order}")
            terms = [term for (term,) in answer.cells(variable[1:]) if term is not None]
            yield from (value for term in terms if (value := _value(term, kind)))
            if answer.complete and len(terms) < MAX_ROWS:
                return
            if not terms:
                raise KgError("resources", "The graph's answer was cut before its first row.")
            last = terms[-1].value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
            after = f'FILTER(STR({variable}) > "{last}")'

    def _ask_type(self, entity: str) -> str | None:
        answer = self._ask(
            f"SELECT ?p ?o WHERE {{ VALUES ?p {{ {_direct(TYPE)} {_direct(OCCUPATION)} }} "
            f"{_iri(entity)} ?p ?o }}"
        )
        has: dict[str, set[str]] = {TYPE: set(), OCCUPATION: set()}
        for predicate, term in answer.cells("p", "o"):
            if predicate and (value := _value(term, "thing")):
                has[predicate.value.rpartition("/")[2]].add(value)
        for name in self.schema.concrete:
            kind = self.schema.resolved(name)
            classed = not kind.class_id or kind.class_id in has[TYPE]
            if classed and (not kind.occupation or kind.occupation in has[OCCUPATION]):
                return name
        return None

    def _named(self, entity: str) -> tuple[str, tuple[str, ...]]:
        if entity not in self._names:
            understood = ", ".join(f'"{language}"' for language in LANGUAGES)
            labels = self._ask_names(entity, LABEL, f"FILTER(LANG(?o) IN ({understood}))")
            aliases = self._ask_names(entity, ALIAS, f"FILTER(LANG(?o) IN ({understood}))")
            label = best_label(labels or self._ask_names(entity, LABEL, "")) or entity
            self._names[entity] = label, best_aliases(aliases, label)
        return self._names[entity]

    def _ask_names(self, entity: str, predicate: str, which: str) -> list[TaggedName]:
        answer = self._ask(f"SELECT ?o WHERE {{ {_iri(entity)} <{predicate}> ?o {which} }}")
        return [TaggedName(term.value, term.language) for (term,) in answer.cells("o") if term]

    def _ask(self, query: str) -> QueryResult:
        try:
            return self._kg.query(query, self._seconds)
        except KgError as error:
            if error.kind == "unknown":  # no row, and the graph says that there can be none
                return QueryResult((), ())
            raise


def _batches(members: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    length = 0
    for member in members:
        length += len(_iri(member)) + 1
        if batch and length > BATCH_LENGTH:
            yield batch
            batch, length = [], len(_iri(member)) + 1
        batch.append(member)
    if batch:
        yield batch


def _value(term: Term | None, kind: ValueKind) -> str | None:
    """The text of a value of a kind; None for a blank node, and a value of another kind."""
    if term is None or term.kind == "blank":
        return None
    value = thing(term.value) if term.kind == "iri" else literal(term.value, term.datatype)
    return value.text if value and value.kind == kind else None
