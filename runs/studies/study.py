"""The contents of a study file as written: paths and names are checked later."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    PlainSerializer,
    PlainValidator,
    ValidationInfo,
)
from pydantic_core import PydanticCustomError

from branchwise.agents.headers import checked_headers
from branchwise.base.setting import Text
from branchwise.eval.selection import CONCURRENCY
from branchwise.runs.options import Concurrency, CostOptions, QuestionOptions, ScoreOptions
from branchwise.runs.studies.settings import (
    MODEL,
    MODEL_LIST,
    Texts,
    Value,
    checked_base,
    checked_factors,
)

Design = Literal["vary", "factorial"]
MAX_NAME = 80

_STRICT = ConfigDict(frozen=True, extra="forbid", strict=True)


class Questions(QuestionOptions):
    """The questions: a question set, as for `run --questions`, and which part of it.

    `fields` and `separator`: as `--field` and `--separator` say, of sets whose columns have other
    names than the fields. `ids`: these questions only, or a file that lists them, one a line.
    """

    model_config = _STRICT

    source: Text
    fields: Mapping[str, Text] = Field(default={})
    separator: Text | None = None
    ids: Texts | Text | None = Field(default=None, union_mode="left_to_right")


def _as_questions(value: Any) -> Any:
    return {"source": value} if isinstance(value, str) else value


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """As JSON has it."""
    return {key: [*value] if isinstance(value, tuple) else value for key, value in values.items()}


def _base(values: Any, info: ValidationInfo) -> dict[str, Value]:
    base = checked_base(values, info.data.get("nodes", ()))
    if MODEL in base and MODEL_LIST in base:
        said = {"remedy": f"keep one of {MODEL} and {MODEL_LIST}", "place": (MODEL_LIST,)}
        raise PydanticCustomError("study", f"stands beside {MODEL}", said)
    return base


def _factors(values: Any, info: ValidationInfo) -> dict[str, tuple[Value, ...]]:
    factors = checked_factors(values, info.data.get("nodes", ()))
    if MODEL in factors and MODEL_LIST in info.data.get("base", ()):
        remedy = f"leave it out, or write {MODEL}: in base and keep the factor"
        said = {"remedy": remedy, "place": (MODEL,)}
        raise PydanticCustomError("study", f"is a factor beside {MODEL_LIST} in base", said)
    return factors


_Settings = Annotated[
    Mapping[str, Value],
    PlainValidator(_base),
    PlainSerializer(_plain, return_type=dict[str, Any]),
]
_Factors = Annotated[
    Mapping[str, tuple[Value, ...]],
    PlainValidator(_factors),
    PlainSerializer(_plain, return_type=dict[str, Any]),
]


def _left_out(values: Any, info: ValidationInfo) -> tuple[dict[str, Value], ...]:
    if not isinstance(values, list | tuple):
        remedy = "write {shots: 0, reasoning: steps} for each combination"
        raise PydanticCustomError("study", "is not a list of combinations", {"remedy": remedy})
    return tuple(checked_base(one, info.data.get("nodes", ())) for one in values)


_Combinations = Annotated[
    tuple[Mapping[str, Value], ...],
    PlainValidator(_left_out),
    PlainSerializer(lambda found: [*map(_plain, found)], return_type=list[dict[str, Any]]),
]


class Study(ScoreOptions, CostOptions):
    """A base system, what is varied about it, and the questions that all systems answer.

    `base` and `factors` use the words of `runs/studies/settings.py`. Where a factor does not name
    the value that `base` gives, that value comes first; where `base` gives none, the factor's first
    value is the base's. `design`: each value alone against the base (`vary`), or all combinations
    (`factorial`), but for those with all the values of one of `leave_out`. Where `base` names
    `models`, each is varied so, from a base of its own. `nodes`: plug-ins' steps by names of the
    file's own, which are on or off in `base` and `factors`; `settings`: those of plug-ins, by the
    plug-ins' names; `metrics`: further metrics. `keys`: by HOST or HOST:PORT the environment
    variable whose key goes there; `headers`: of requests to model servers. Paths are relative to
    the study file.
    """

    model_config = _STRICT

    name: str = Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]*$", max_length=MAX_NAME)
    questions: Annotated[Questions, BeforeValidator(_as_questions)]
    nodes: Mapping[str, Text] = Field(default={})
    base: _Settings = Field(default={})
    factors: _Factors
    design: Design = "vary"
    leave_out: _Combinations = ()
    concurrency: Concurrency = CONCURRENCY
    settings: Mapping[str, Mapping[str, JsonValue]] = Field(default={})
    metrics: Texts = ()
    keys: Mapping[str, Text] = Field(default={})
    headers: Annotated[Mapping[str, str], BeforeValidator(checked_headers)] = Field(default={})

    @property
    def models(self) -> tuple[str, ...]:
        """The models that each have a base of their own; empty where the study has one base."""
        found = self.base.get(MODEL_LIST)
        return found if isinstance(found, tuple) else ()

    def to_json(self) -> dict[str, Any]:
        """JSON-serialisable; `Study.model_validate` reads it back."""
        return self.model_dump(mode="json")
