"""What a schema must hold together: every name it uses is declared, every range is in order."""

from collections.abc import Collection, Iterable, Iterator, Mapping

from branchwise.base.errors import InputError
from branchwise.kg.schema import ANY, EntityType, Relation, Schema


def check_types(schema: Schema) -> None:
    """Raises InputError for the first type that is named and not declared, or descends from itself.

    This much is asked of any schema, also of one that only questions are planned over. Merge it
    with `keep`: what refers to no type would be left out else.
    """
    for name, kind in schema.types.items():
        for fault in _kinship_faults(schema, name, kind):
            raise InputError(fault, where=f"type {name!r}")
    for name, relation in schema.relations.items():
        for fault in _side_faults(schema, relation):
            raise InputError(fault, where=f"relation {name!r}")


def check_schema(schema: Schema) -> None:
    """Raises InputError for the first fault, naming the type or relation that has it.

    For a whole schema: in a world of some domains only, names of the others are left out.
    """
    check_types(schema)
    for name, kind in schema.types.items():
        for fault in _type_faults(schema, kind):
            raise InputError(fault, where=f"type {name!r}")
    for kind_name in schema.concrete:
        if not schema.resolved(kind_name).class_id:
            raise InputError("has no class", where=f"type {kind_name!r}")
    for name, relation in schema.relations.items():
        for fault in _relation_faults(schema, relation):
            raise InputError(fault, where=f"relation {name!r}")


def _kinship_faults(schema: Schema, name: str, kind: EntityType) -> Iterator[str]:
    yield from _unknown("type", _given(kind.parent), schema.types)
    yield from _unknown("type", (*kind.second, *kind.covers), schema.types)
    line = [name]
    while (parent := schema.types[line[-1]].parent) in schema.types:
        if parent in line:
            yield f"it descends from itself ({' is '.join([*line, parent])})"
            return
        line.append(parent)


def _side_faults(schema: Schema, relation: Relation) -> Iterator[str]:
    types = schema.types.keys() | {ANY}
    yield from _unknown("type", relation.subject, types)
    yield from _unknown("type", relation.object, types)


def _type_faults(schema: Schema, kind: EntityType) -> Iterator[str]:
    yield from _unknown("item of `class`", _given(kind.class_id), schema.items.get("class", {}))
    occupations = schema.items.get("occupation", {})
    yield from _unknown("item of `occupation`", _given(kind.occupation), occupations)
    if kind.years[0] > kind.years[1]:
        yield f"its years {list(kind.years)} run backwards"
    if kind.share and not kind.years[1]:
        yield "has a share, and no years"
    if kind.at_least > kind.at_most:
        yield "at_least is more than at_most"


def _relation_faults(schema: Schema, relation: Relation) -> Iterator[str]:
    types = schema.types.keys() | {ANY}
    for setting in (relation.chance, relation.era):
        if isinstance(setting, Mapping):
            yield from _unknown("type", setting, types)
    if relation.items and not relation.source:
        yield from _unknown("list of items", [relation.items], schema.items)
    paths = (relation.via, _given(relation.within), *relation.agree, relation.more_than)
    for path in paths:
        yield from _unknown("relation", path, schema.relations)
    yield from _range_faults(relation)
    if relation.inverse and not relation.object:
        yield "has an inverse, and its values are not entities"


def _range_faults(relation: Relation) -> Iterator[str]:
    eras = relation.era.values() if isinstance(relation.era, Mapping) else [relation.era]
    date = None if relation.date == "year" else relation.date
    for name, bounds in (
        ("count", relation.count),
        ("number", relation.number),
        ("date", date),
        *(("era", era) for era in eras),
        ("time", None if relation.time_as == "spells" else relation.time),
    ):
        if bounds and bounds[0] > bounds[1]:
            yield f"its {name} {list(bounds)} runs backwards"
    if relation.count[0] < 1:
        yield "its count begins below 1; say with `chance` that some have none"
    chances = (
        relation.chance.values() if isinstance(relation.chance, Mapping) else [relation.chance]
    )
    if not all(0 <= chance <= 100 for chance in chances):
        yield "its chance is not a percentage"


def _given(name: str) -> tuple[str, ...]:
    return (name,) if name else ()


def _unknown(what: str, names: Iterable[str], known: Collection[str]) -> Iterator[str]:
    for name in names:
        if name not in known:
            yield f"unknown {what} {name!r}"
