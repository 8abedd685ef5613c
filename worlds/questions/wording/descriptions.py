"""What a plan's sets are, as descriptions: things of some types, of which certain things hold.
Sets that begin alike are told apart by the rest alone. Nothing is said twice."""

from dataclasses import dataclass, replace

from branchwise.base.errors import InputError
from branchwise.kg.schema import Relation, Schema
from branchwise.worlds.questions.drafts import Types
from branchwise.worlds.questions.plans import (
    Amount,
    Atomic,
    Condition,
    Filter,
    GroupBy,
    Holds,
    Intersection,
    Join,
    Plan,
    PlanStep,
    Union,
)


@dataclass(frozen=True)
class NamedEntity:
    number: str


@dataclass(frozen=True)
class Mentioned:
    """A step by its number (from 1), where a plan's steps are said one by one."""

    description: "Description"
    number: int


@dataclass(frozen=True)
class Related:
    """In a relation to an entity, or to so many members of a set: its subjects where `inverse`."""

    relation: str
    inverse: bool
    to: "NamedEntity | Mentioned | Description"
    at_least: int = 1


@dataclass(frozen=True)
class Meets:
    relation: str
    condition: Condition


@dataclass(frozen=True)
class Either:
    """All of one of these hold."""

    options: tuple[tuple["Constraint", ...], ...]


@dataclass(frozen=True)
class Except:
    """Not all of these hold."""

    parts: tuple["Constraint", ...]

    @property
    def is_plain(self) -> bool:
        """Whether "did not" says it: one thing, and no number."""
        part = self.parts[0]
        if isinstance(part, Meets):
            return len(self.parts) == 1 and not isinstance(part.condition, Amount)
        return len(self.parts) == 1 and isinstance(part, Related) and part.at_least == 1


Constraint = Related | Meets | Either | Except


@dataclass(frozen=True)
class Description:
    """Things of any of these types of which all of these hold."""

    types: Types
    parts: tuple[Constraint, ...]


def describe(plan: Plan, schema: Schema) -> tuple[Description, ...]:
    """A description for each step. Raises InputError for relations that the schema lacks."""
    described: list[Description] = []
    for step in plan.steps:
        described.append(describe_step(step, [described[n] for n in step.sources], schema))
    return tuple(described)


def describe_step(
    step: PlanStep, sources: "list[Description]", schema: Schema, to: Mentioned | None = None
) -> Description:
    """What a step gives, by what its sources are; `to` stands for the source of a relation."""
    match step:
        case Atomic():
            return _related(step.relation, step.inverse, NamedEntity(step.entity), 1, schema)
        case Join() | GroupBy():
            least = step.at_least if isinstance(step, GroupBy) else 1
            return _related(step.relation, step.inverse, to or sources[0], least, schema)
        case Filter(relation=relation, condition=condition):
            declared = _declared(relation, schema)
            if isinstance(condition, Holds) and declared.object:
                other = _related(relation, True, NamedEntity(condition.value), 1, schema)
            else:
                other = Description(schema.subjects(declared), (Meets(relation, condition),))
            return _both(sources[0], other)
        case Union():
            return _either(*sources)
        case Intersection():
            return _both(*sources)
        case _:
            return _without(*sources)


def _related(
    relation: str,
    inverse: bool,
    to: NamedEntity | Mentioned | Description,
    least: int,
    schema: Schema,
) -> Description:
    declared = _declared(relation, schema)
    if isinstance(to, NamedEntity) and inverse and not declared.object:
        meets = Meets(relation, Holds(value=to.number))
        return Description(schema.subjects(declared), (meets,))
    types, others = schema.subjects(declared), schema.objects(declared)
    if not inverse:
        types, others = others, types
    if isinstance(to, Description) and (fit := tuple(t for t in to.types if t in others)):
        to = replace(to, types=fit)
    return Description(types, (Related(relation, inverse, to, least),))


def _declared(relation: str, schema: Schema) -> Relation:
    if relation not in schema.relations:
        raise InputError(f"the schema has no relation {relation!r}")
    return schema.relations[relation]


def _both(first: Description, second: Description) -> Description:
    """Who has two occupations is of two types: types that share nothing are kept side by side."""
    shared = tuple(name for name in first.types if name in second.types)
    types = shared or (*first.types, *second.types)
    added = (part for part in second.parts if part not in first.parts)
    return Description(types, (*first.parts, *added))


def _either(first: Description, second: Description) -> Description:
    types = (*first.types, *(name for name in second.types if name not in first.types))
    common = tuple(part for part in first.parts if part in second.parts)
    rests = [tuple(p for p in side.parts if p not in common) for side in (first, second)]
    if not all(rests):
        return Description(types, common)
    alone = [rest[0] if len(rest) == 1 else None for rest in rests]
    if merged := _merged(*alone):
        return Description(types, (*common, merged))
    options: list[tuple[Constraint, ...]] = []
    for rest, only in zip(rests, alone, strict=True):
        options.extend(only.options if isinstance(only, Either) else (rest,))
    return Description(types, (*common, Either(tuple(options))))


def _merged(first: Constraint | None, second: Constraint | None) -> Related | None:
    """Related to any of two sets, for related to one or the other; None where they are named."""
    if not isinstance(first, Related) or not isinstance(second, Related):
        return None
    sets = first.to, second.to
    alike = replace(first, to=second.to) == second and first.at_least == 1
    if not alike or not isinstance(sets[0], Description) or not isinstance(sets[1], Description):
        return None
    return replace(first, to=_either(sets[0], sets[1])) if sets[0].types == sets[1].types else None


def is_single(described: Description, schema: Schema) -> bool:
    """Whether it describes one thing at most, by the schema's `count` and `exclusive`."""
    for part in described.parts:
        if not isinstance(part, Related) or isinstance(part.to, Mentioned):
            continue
        if isinstance(part.to, NamedEntity) or is_single(part.to, schema):
            relation = schema.relations[part.relation]
            if relation.exclusive if part.inverse else relation.count[1] == 1:
                return True
    return False


def covered(
    described: Description, schema: Schema, within: Related | None = None
) -> tuple[str, ...]:
    """Types that a noun of the description also means to most readers, and of which all may hold.

    Of the companies in a city, film studios; of those that somebody founded, none where a schema
    knows founders of companies alone. `within`: what holds of others through these.
    """
    parts = described.parts
    if within:
        parts = (*parts, replace(within, inverse=not within.inverse))
    others = (other for name in described.types for other in schema.types[name].covers)
    return tuple(
        other
        for other in dict.fromkeys(others)
        if other not in described.types and all(may_hold(part, other, schema) for part in parts)
    )


def exceeds(described: Description, schema: Schema) -> bool:
    """Whether an alternative, said of all these types, would take in what its relation does not:
    "bands or singers signed to X", of bands alone."""
    options = (o for part in described.parts if isinstance(part, Either) for o in part.options)
    for part in (part for option in options for part in option if isinstance(part, Related)):
        relation = schema.relations[part.relation]
        own = schema.subjects(relation) if part.inverse else schema.objects(relation)
        if any(name not in own and may_hold(part, name, schema) for name in described.types):
            return True
    return False


def may_hold(part: Constraint, type_name: str, schema: Schema) -> bool:
    """Whether things of a type have the property of what is said."""
    if isinstance(part, Except):
        return True
    if isinstance(part, Either):
        return any(all(may_hold(p, type_name, schema) for p in option) for option in part.options)
    side = schema.subjects if isinstance(part, Meets) or part.inverse else schema.objects
    number = schema.relations[part.relation].property
    alike = (relation for relation in schema.relations.values() if relation.property == number)
    return any(type_name in side(relation) for relation in alike)


def _without(first: Description, second: Description) -> Description:
    rest = tuple(part for part in second.parts if part not in first.parts) or second.parts
    if len(rest) == 1 and isinstance(choice := rest[0], Either):
        exceptions = tuple(Except(option) for option in choice.options)
    else:
        exceptions = (Except(rest),)
    return replace(first, parts=(*first.parts, *exceptions))
