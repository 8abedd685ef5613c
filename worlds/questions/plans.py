"""Plans: sets of entities, step by step, from a named entity to an answer set.

The seven operations of DeepAmbigQA's pipeline (atomic, join, filter, union, intersection,
difference, group by with a count). A step refers to earlier ones by their place, from 0. Plans are
data: they are written as JSON beside a question, and read back to be executed on any graph.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator

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
    """What is in either set."""

    op: Literal["union"] = "union"


class Intersection(_OfTwo):
    """What is in both sets."""

    op: Literal["intersection"] = "intersection"


class Difference(_OfTwo):
    """What is in the first set and not in the other."""

    op: Literal["difference"] = "difference"


PlanStep = Annotated[
    Atomic | Join | Filter | GroupBy | Union | Intersection | Difference,
    Field(discriminator="op"),
]
_STEPS: TypeAdapter[tuple[PlanStep, ...]] = TypeAdapter(tuple[PlanStep, ...])


class Plan(_Frozen):
    """Steps in order; the last one's set is the answer.

    `focus` is the atomic step whose entity a question names: where others share its name, the plan
    is executed once for each of them.
    """

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
