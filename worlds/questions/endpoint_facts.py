"""The facts of a graph that is asked in SPARQL, since it is too large or on another server."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from branchwise.kg.answers import MAX_ROWS, Graph, KgError, QueryResult, Term
from branchwise.kg.schema import ANY, Schema, ValueKind
from branchwise.kg.vocabulary import ENTITY
from branchwise.worlds.questions.facts import OCCUPATION, TYPE, RelatedValues
from branchwise.worlds.questions.statements import (
    ALIAS,
    DIRECT,
    LABEL,
    LANGUAGES,
    TaggedName,
    best_aliases,
    best_label,
    entity_iri,
    literal,
    said,
    thing,
)


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
