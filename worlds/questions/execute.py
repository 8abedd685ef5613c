"""What a plan gives over a graph: the conditions of its filters, its steps, its answers."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from random import Random

from branchwise.kg.schema import Relation, Schema
from branchwise.worlds.questions.drafts import Neighbours
from branchwise.worlds.questions.facts import Facts
from branchwise.worlds.questions.plans import (
    Amount,
    Atomic,
    Condition,
    Difference,
    Filter,
    GroupBy,
    Holds,
    Intersection,
    Join,
    Plan,
    PlanStep,
    Union,
    Years,
)
from branchwise.worlds.questions.statements import value_kind


def meets(condition: Condition, value: str) -> bool:
    """Whether one value does; bounds belong to what they bound.

    A date has the year that its text begins with, which may be before Christ ("-0044-03-15").
    """
    if isinstance(condition, Years):
        return _between(condition.first, year(value), condition.last)
    if isinstance(condition, Amount):
        return _between(condition.least, float(value), condition.most)
    return value == condition.value


def year(date: str) -> int:
    """The year of a date or of the part of it that is known."""
    sign, digits = (-1, date[1:]) if date.startswith("-") else (1, date)
    return sign * int(digits.partition("-")[0])


def _between(least: float | None, value: float, most: float | None) -> bool:
    return (least is None or least <= value) and (most is None or value <= most)


_ROUND_YEARS = ((80, 10), (16, 5))
"""Where years range so widely, bounds are multiples of the second number."""

_BETWEEN = 0.2
"""The share of date conditions with two bounds."""


def conditions(relation: Relation, values: Neighbours, rng: Random) -> Iterator[Condition]:
    """Conditions that may divide the members, likely ones first; few, and perhaps none.

    `values`: of each member that has any.
    """
    if relation.date is not None:
        yield from _years(sorted(year(v) for found in values.values() for v in found), rng)
    elif relation.number is not None:
        yield from _amounts(sorted(float(v) for found in values.values() for v in found), rng)
    else:
        yield from _holds(values, rng)


def satisfying(condition: Condition, values: Neighbours) -> frozenset[str]:
    """The members with a value that meets the condition."""
    return frozenset(m for m, found in values.items() if any(meets(condition, v) for v in found))


def _years(years: Sequence[int], rng: Random) -> Iterator[Condition]:
    if len(set(years)) < 2:
        return
    spread = years[-1] - years[0]
    unit = next((unit for width, unit in _ROUND_YEARS if spread >= width), 1)
    for _ in range(3):
        cut = -(-_inner(years, rng) // unit) * unit
        if rng.random() < _BETWEEN and cut + 2 * unit < years[-1]:
            last = max(cut + 2 * unit, cut + (years[-1] - cut) // 2 // unit * unit)
            yield Years(first=cut, last=last)
        elif rng.random() < 0.5:
            yield Years(first=cut)
        else:
            yield Years(last=cut - 1)


def _amounts(numbers: Sequence[float], rng: Random) -> Iterator[Condition]:
    if len(set(numbers)) < 2:
        return
    for _ in range(3):
        cut = _rounded(_inner(numbers, rng), numbers)
        yield Amount(least=cut) if rng.random() < 0.5 else Amount(most=cut)


def _inner(values: Sequence[float], rng: Random) -> int:
    """A value from the middle of sorted ones, above the smallest."""
    above = [value for value in values if value > values[0]]
    middle = values[len(values) // 4 : max(len(values) * 3 // 4, len(values) // 4 + 1)]
    chosen = [value for value in middle if value > values[0]] or above[:1]
    return int(rng.choice(chosen))


def _rounded(value: int, numbers: Sequence[float]) -> float:
    """The value with as few digits as still divide the numbers."""
    for digits in range(len(str(value)) - 1, -1, -1):
        cut = round(value / 10**digits) * 10**digits
        if numbers[0] < cut < numbers[-1]:
            return float(cut)
    return float(value)


def _holds(values: Neighbours, rng: Random) -> Iterator[Condition]:
    common = Counter(v for found in values.values() for v in dict.fromkeys(found))
    dividing = sorted(v for v, count in common.items() if count < len(values)) or sorted(common)
    for _ in range(min(3, len(dividing))):
        weights = [common[v] for v in dividing]
        yield Holds(value=rng.choices(dividing, weights)[0])


Classes = frozenset[str]
"""What members may be: of classes ("Q5"), of groups of items ("items:genre"), dates, numbers."""

_DATES, _NUMBERS = frozenset({"date"}), frozenset({"number"})
_KINDS = {Years: "date", Amount: "number", Holds: "thing"}


class PlanError(ValueError):
    """A plan that cannot be executed with a schema; names the step, from 0, and why."""


def check_plan(plan: Plan, schema: Schema) -> tuple[Classes, ...]:
    """The classes that the members of each step may be of.

    Types of one class, told apart by occupation, fit each other: an actor may direct, too. Raises
    PlanError for a relation that the schema lacks or never says of a set's classes, for one whose
    values are neither entities nor items, for a condition on another kind of value, and for two
    sets that can have nothing in common.
    """
    ends = ends_of(schema)
    found: list[Classes] = []
    for place, step in enumerate(plan.steps):
        try:
            found.append(_classes(step, found, schema, ends))
        except PlanError as error:
            raise PlanError(f"step {place} ({step.op}): {error}") from None
    return tuple(found)


Ends = tuple[Classes, Classes]
"""What a relation is said of, and what its values are."""


def ends_of(schema: Schema) -> Mapping[str, Ends]:
    """The ends of each of a schema's relations; worked out once."""
    return _ends_of(_Same(schema))


def _classes(
    step: PlanStep, before: list[Classes], schema: Schema, ends: Mapping[str, Ends]
) -> Classes:
    if isinstance(step, Union | Intersection | Difference):
        return _of_two(step, before[step.of], before[step.other])
    if step.relation not in ends:
        raise PlanError(f"the schema has no relation {step.relation!r}")
    subjects, values = ends[step.relation]
    if isinstance(step, Filter):
        if value_kind(schema.relations[step.relation]) != _KINDS[type(step.condition)]:
            raise PlanError(f"the values of {step.relation!r} are of another kind")
        return _said_of(step.relation, before[step.of], subjects, before[step.of])
    if values in (_DATES, _NUMBERS):
        raise PlanError(f"the values of {step.relation!r} are no entities")
    start, end = (values, subjects) if step.inverse else (subjects, values)
    return end if isinstance(step, Atomic) else _said_of(step.relation, before[step.of], start, end)


def _said_of(relation: str, members: Classes, start: Classes, end: Classes) -> Classes:
    if not members & start:
        raise PlanError(f"{relation!r} is never said of its set")
    return end


def _of_two(step: Union | Intersection | Difference, one: Classes, other: Classes) -> Classes:
    if not one & other:
        raise PlanError("its two sets can have nothing in common")
    if isinstance(step, Union):
        return one | other
    return one & other if isinstance(step, Intersection) else one


class _Same:
    """A schema, equal to itself alone: what is in it cannot be hashed."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.schema is self.schema

    def __hash__(self) -> int:
        return id(self.schema)


@lru_cache(maxsize=8)
def _ends_of(same: _Same) -> dict[str, Ends]:
    schema = same.schema
    return {
        name: (_of_types(schema, schema.subjects(relation)), _values(schema, relation))
        for name, relation in schema.relations.items()
    }


def _values(schema: Schema, relation: Relation) -> Classes:
    if relation.object:
        return _of_types(schema, schema.objects(relation))
    if (kind := value_kind(relation)) != "thing":
        return _DATES if kind == "date" else _NUMBERS
    return frozenset({f"items:{relation.items or relation.source}"})


def _of_types(schema: Schema, names: Iterable[str]) -> Classes:
    kinds = [schema.resolved(name) for name in names]
    return frozenset(kind.class_id or kind.occupation for kind in kinds)


Members = frozenset[str]


@dataclass(frozen=True)
class PlanExecution:
    """The set that each step of a plan came to, in the plan's order."""

    sets: tuple[Members, ...]

    @property
    def answers(self) -> Members:
        """The last step's set."""
        return self.sets[-1]

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many are in each step's set."""
        return tuple(map(len, self.sets))


def execute(plan: Plan, facts: Facts) -> PlanExecution:
    """All steps' sets. An entity that the graph lacks leads nowhere: its sets are empty.

    Raises PlanError for a relation that the schema lacks, and for types that do not fit.
    """
    check_plan(plan, facts.schema)
    sets: list[Members] = []
    for step in plan.steps:
        sets.append(_run(step, sets, facts))
    return PlanExecution(tuple(sets))


def _run(step: PlanStep, sets: Sequence[Members], facts: Facts) -> Members:
    match step:
        case Atomic():
            found = facts.related(step.relation, step.inverse, (step.entity,))
            return frozenset(found.get(step.entity, ()))
        case Join():
            found = facts.related(step.relation, step.inverse, sets[step.of])
            return frozenset(chain.from_iterable(found.values()))
        case Filter():
            return _filter(step, sets[step.of], facts)
        case GroupBy():
            found = facts.related(step.relation, step.inverse, sets[step.of])
            counts = Counter(chain.from_iterable(found.values()))
            return frozenset(one for one, count in counts.items() if count >= step.at_least)
        case Union():
            return sets[step.of] | sets[step.other]
        case Intersection():
            return sets[step.of] & sets[step.other]
        case Difference():
            return sets[step.of] - sets[step.other]


def _filter(step: Filter, members: Members, facts: Facts) -> Members:
    """Those with any value that meets the condition."""
    found = facts.related(step.relation, False, members)
    return frozenset(
        member
        for member, values in found.items()
        if any(meets(step.condition, value) for value in values)
    )
