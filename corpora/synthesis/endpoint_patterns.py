"""SPARQL for what a schema says: which types, and which relation between two variables."""

from collections.abc import Iterable, Sequence

from branchwise.corpora.graph.vocabulary import ENTITY
from branchwise.corpora.schema import ANY, Relation, Schema
from branchwise.corpora.synthesis.facts import OCCUPATION, TYPE
from branchwise.corpora.synthesis.statements import DIRECT
from branchwise.corpora.synthesis.values import entity_iri


def iri(text: str) -> str:
    """An entity as SPARQL writes it: "Q42" or "<iri>" in angle brackets."""
    return f"<{entity_iri(text)}>"


def direct(number: str) -> str:
    """The predicate of a property's plain statements."""
    return f"<{DIRECT}{number}>"


def relation_pattern(schema: Schema, relation: Relation) -> str:
    """`?s` has the relation to `?o`, both of the relation's types."""
    objects = _is_of(schema, relation.object, "?o") if relation.object else ""
    return f"?s {direct(relation.property)} ?o . {_is_of(schema, relation.subject, '?s')} {objects}"


def type_pattern(schema: Schema, name: str, variable: str) -> str:
    """The variable is of a type."""
    return " UNION ".join(f"{{ {part} }}" for part in _alternatives(schema, (name,), variable))


def after(variable: str, last: str) -> str:
    """The variable's text comes after one; nothing where there is no last one."""
    if not last:
        return ""
    escaped = last.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'FILTER(STR({variable}) > "{escaped}")'


def values(variable: str, members: Iterable[str]) -> str:
    """The variable is one of these."""
    return f"VALUES {variable} {{ {' '.join(map(iri, members))} }}"


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
    return [_pattern(class_id, wanted, variable) for class_id, wanted in jobs.items()]


def _pattern(class_id: str, jobs: Sequence[str], variable: str) -> str:
    """Of a class ("": any) and, unless one of the types has no occupation, with one of these."""
    parts = [f"{variable} {direct(TYPE)} <{ENTITY}{class_id}> ."] if class_id else []
    if all(jobs):
        one = f"{variable}_job"
        listed = ", ".join(f"<{ENTITY}{job}>" for job in jobs)
        parts.append(f"{variable} {direct(OCCUPATION)} {one} . FILTER({one} IN ({listed}))")
    return " ".join(parts)
