"""Plans: sets of entities, step by step, from a named entity to an answer set; and their execution.

The seven operations of DeepAmbigQA's pipeline (atomic, join, filter, union, intersection,
difference, group by with a count). A step refers to earlier ones by their place, from 0. Plans are
data: they are written as JSON beside a question, and read back to be executed on any graph.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator

from branchwise.kg.schema import Schema
from branchwise.worlds.questions.facts import Facts

_Model = TypeVar("_Model")
MAX_STEPS = 12
StepIndex = Annotated[int, Field(ge=0, lt=MAX_STEPS)]
Number = Annotated[str, Field(pattern=r"^(Q\d+|<[^<>\s]+>)$")]
"""An entity or item: Wikidata's number, or an IRI in angle brackets."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Years(_Frozen):
    """A date in these years, both included; open where one is None."""

    kind: Literal["years"] = "years"
    first: int | None = None
    last: int | None = None

    @model_validator(mode="after")
    def _has_a_bound(self) -> Self:
        return _bounded(self, self.first, self.last)


class Amount(_Frozen):
    """A number between these, both included; open where one is None."""

    kind: Literal["amount"] = "amount"
    least: float | None = None
    most: float | None = None

    @model_validator(mode="after")
    def _has_a_bound(self) -> Self:
        return _bounded(self, self.least, self.most)


class Holds(_Frozen):
    """A certain value: an award, a genre, an occupation."""

    kind: Literal["holds"] = "holds"
    value: Number


def _bounded(model: _Model, low: float | None, high: float | None) -> _Model:
    if low is None and high is None:
        raise ValueError("needs a bound")
    if low is not None and high is not None and low > high:
        raise ValueError("its bounds run backwards")
    return model


Condition = Annotated[Years | Amount | Holds, Field(discriminator="kind")]


class Atomic(_Frozen):
    """What an entity is related to: the films that Mara Voss directed.

    `relation` is a schema's name; it is read from its object to its subjects where `inverse`.
    """

    op: Literal["atomic"] = "atomic"
    relation: str
    inverse: bool = False
    entity: Number

    @property
    def sources(self) -> tuple[int, ...]:
        return ()


class _OfOne(_Frozen):
    of: StepIndex

    @property
    def sources(self) -> tuple[int, ...]:
        return (self.of,)


class Join(_OfOne):
    """What any member of a set is related to: who acted in these films."""

    op: Literal["join"] = "join"
    relation: str
    inverse: bool = False


class Filter(_OfOne):
    """Those members of a set whose value of a relation meets a condition."""

    op: Literal["filter"] = "filter"
    relation: str
    condition: Condition


class GroupBy(_OfOne):
    """What at least so many members of a set are related to."""

    op: Literal["group_by"] = "group_by"
    relation: str
    inverse: bool = False
    at_least: int = Field(ge=2)


class _OfTwo(_Frozen):
    of: StepIndex
    other: StepIndex

    @property
    def sources(self) -> tuple[int, ...]:
        return (self.of, self.other)


class Union(_OfTwo):
    op: Literal["union"] = "union"


class Intersection(_OfTwo):
    op: Literal["intersection"] = "intersection"


class Difference(_OfTwo):
    op: Literal["difference"] = "difference"


PlanStep = Annotated[
    Atomic | Join | Filter | GroupBy | Union | Intersection | Difference, Field(discriminator="op")
]
_STEPS: TypeAdapter[tuple[PlanStep, ...]] = TypeAdapter(tuple[PlanStep, ...])


class Plan(_Frozen):
    """Steps in order; the last one's set is the answer. `focus`: the atomic step about the entity
    that a question names. Where others share its name, the plan is executed for each of them."""

    steps: Annotated[tuple[PlanStep, ...], Field(min_length=1, max_length=MAX_STEPS)]
    focus: StepIndex = 0

    @model_validator(mode="after")
    def _refers_backwards_and_uses_all(self) -> Self:
        used: set[int] = set()
        for place, step in enumerate(self.steps):
            if any(source >= place for source in step.sources):
                raise ValueError(f"step {place} refers to one that does not come before it")
            used |= set(step.sources)
        if unused := set(range(len(self.steps) - 1)) - used:
            raise ValueError(f"step {min(unused)} is used by no other")
        if self.focus >= len(self.steps) or not isinstance(self.steps[self.focus], Atomic):
            raise ValueError("its focus is not an atomic step")
        return self

    def about(self, entity: str) -> "Plan":
        """The same plan for another entity in its focus."""
        steps = list(self.steps)
        steps[self.focus] = steps[self.focus].model_copy(update={"entity": entity})
        return Plan(steps=tuple(steps), focus=self.focus)

    @property
    def shape(self) -> str:
        """Its operations and how they hang together, without relations and entities."""
        return " ".join(f"{step.op}({','.join(map(str, step.sources))})" for step in self.steps)

    def to_json(self) -> list[dict[str, Any]]:
        """A list of steps, as a question keeps them; the focus is marked."""
        return [
            step.model_dump(mode="json", exclude_none=True)
            | ({"focus": True} if place == self.focus else {})
            for place, step in enumerate(self.steps)
        ]

    @classmethod
    def from_json(cls, steps: Sequence[Mapping[str, Any]]) -> "Plan":
        """The plan that a question keeps. Raises pydantic.ValidationError."""
        focus = next((n for n, step in enumerate(steps) if step.get("focus")), 0)
        bare = [{key: step[key] for key in step if key != "focus"} for step in steps]
        return cls(steps=_STEPS.validate_python(bare), focus=focus)

    def entities(self) -> Iterator[str]:
        """The entities that its steps name."""
        for step in self.steps:
            if isinstance(step, Atomic):
                yield step.entity
            elif isinstance(step, Filter) and isinstance(step.condition, Holds):
                yield step.condition.value


def meets(condition: Condition, value: str) -> bool:
    """Whether one value does; bounds belong to what they bound."""
    if isinstance(condition, Holds):
        return value == condition.value
    least: float | None
    most: float | None
    if isinstance(condition, Years):
        least, number, most = condition.first, float(year(value)), condition.last
    else:
        least, number, most = condition.least, float(value), condition.most
    return (least is None or least <= number) and (most is None or number <= most)


def year(date: str) -> int:
    """The year that a date begins with; it may be before Christ ("-0044-03-15")."""
    sign, digits = (-1, date[1:]) if date.startswith("-") else (1, date)
    return sign * int(digits.partition("-")[0])


def satisfying(condition: Condition, values: Mapping[str, Sequence[str]]) -> frozenset[str]:
    return frozenset(m for m, own in values.items() if any(meets(condition, v) for v in own))


Classes = frozenset[str]
"""What members may be: of classes ("Q5"), of groups of items ("items:genre"), dates, numbers."""

_KINDS = {Years: "date", Amount: "number", Holds: "thing"}


class PlanError(ValueError):
    """A plan that cannot be executed with a schema; names the step, from 0, and why."""


def check_plan(plan: Plan, schema: Schema) -> tuple[Classes, ...]:
    """The classes that the members of each step may be of.

    Types of one class, told apart by occupation, fit each other: an actor may direct, too. Raises
    PlanError for a relation that the schema lacks, never says of a set's classes, or has neither
    entities nor items as values, for a condition on another kind of value, and for two sets that
    can have nothing in common.
    """
    sets: list[Classes] = []
    for place, step in enumerate(plan.steps):
        try:
            sets.append(_classes(step, sets, schema))
        except PlanError as error:
            raise PlanError(f"step {place} ({step.op}): {error}") from None
    return tuple(sets)


def _classes(step: PlanStep, before: Sequence[Classes], schema: Schema) -> Classes:
    if isinstance(step, Union | Intersection | Difference):
        first, second = before[step.of], before[step.other]
        if not first & second:
            raise PlanError("its two sets can have nothing in common")
        if isinstance(step, Union):
            return first | second
        return first & second if isinstance(step, Intersection) else first
    if step.relation not in schema.relations:
        raise PlanError(f"the schema has no relation {step.relation!r}")
    kind = schema.relations[step.relation].value_kind
    subjects, values = schema.ends[step.relation]
    if isinstance(step, Filter):
        if kind != _KINDS[type(step.condition)]:
            raise PlanError(f"the values of {step.relation!r} are of another kind")
        start, end = subjects, before[step.of]
    else:
        if kind != "thing":
            raise PlanError(f"the values of {step.relation!r} are no entities")
        start, end = (values, subjects) if step.inverse else (subjects, values)
    if not isinstance(step, Atomic) and not before[step.of] & start:
        raise PlanError(f"{step.relation!r} is never said of its set")
    return end


Members = frozenset[str]


@dataclass(frozen=True)
class PlanExecution:
    """The set that each step of a plan came to, in the plan's order."""

    sets: tuple[Members, ...]

    @property
    def answers(self) -> Members:
        return self.sets[-1]

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(map(len, self.sets))

    def looked_at(self, plan: Plan) -> Members:
        """The entities that someone without the graph must look at one by one: the members of each
        set that is led on from, filtered or counted in, and of two sets that are compared the
        smaller one, or, where one is taken away, the first. A set of one is no work."""
        looked: set[str] = set()
        for step in plan.steps:
            read = [self.sets[source] for source in step.sources]
            if isinstance(step, Intersection):
                read = [min(read, key=len)]
            elif isinstance(step, Union):
                read = []
            looked.update(*(own for own in read[:1] if len(own) > 1))
        return frozenset(looked)


def execute(plan: Plan, facts: Facts) -> PlanExecution:
    """All steps' sets. An entity that the graph lacks leads nowhere: its sets are empty. Raises
    PlanError for a relation that the schema lacks, and for types that do not fit."""
    check_plan(plan, facts.schema)
    sets: list[Members] = []
    for step in plan.steps:
        sets.append(_run(step, sets, facts))
    return PlanExecution(tuple(sets))


def _run(step: PlanStep, sets: Sequence[Members], facts: Facts) -> Members:
    match step:
        case Atomic():
            values = facts.related(step.relation, step.inverse, (step.entity,))
            return frozenset(values.get(step.entity, ()))
        case Join():
            values = facts.related(step.relation, step.inverse, sets[step.of])
            return frozenset(chain.from_iterable(values.values()))
        case Filter():
            return satisfying(step.condition, facts.related(step.relation, False, sets[step.of]))
        case GroupBy():
            values = facts.related(step.relation, step.inverse, sets[step.of])
            counts = Counter(chain.from_iterable(values.values()))
            return frozenset(v for v, count in counts.items() if count >= step.at_least)
        case Union():
            return sets[step.of] | sets[step.other]
        case Intersection():
            return sets[step.of] & sets[step.other]
        case Difference():
            return sets[step.of] - sets[step.other]
