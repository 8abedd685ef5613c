"""What a file of published numbers holds: tables of a paper, their scores by metric and subset."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

_Number = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
_Note = Annotated[str, Field(max_length=300)]
"""Longer ones would be cut where tables are shown."""

BySubset = Mapping[str, Mapping[str, _Number]]
"""Subset of the questions to metric to value."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PublishedMetric(_Part):
    """A column of the paper. A standard deviation beside a mean is a metric of its own.

    A `share` is 0 to 1, with `digits` after the point: 63.9% is .639 with three. `ours`: keys of
    columns of the task and its variants; a system is shown by the first that it was scored by.
    """

    title: str
    unit: Literal["share", "value"] = "share"
    digits: int = 2
    ours: tuple[str, ...] = ()


class PublishedSetting(_Part):
    """What was run: the `place` in the paper. `ours`: what reports call it, if not by its name.

    With a `protocol` it is what puts the questions in that way, and differs in nothing else; with
    `hints` likewise, where rows are told apart by strategy, too.
    """

    place: str
    ours: str | None = None
    protocol: str | None = None
    hints: str | None = None


class PublishedTable(_Part):
    """Numbers of one form: a row has every setting, a setting every subset, a subset every metric.

    `task`: what the questions were scored as. `row`: what a row is, a model for one. The names of
    `settings` stand above the columns where there are several. `rows`: by name, scores by setting.
    """

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*$")]
    title: str
    task: str
    row: str
    settings: Annotated[Mapping[str, PublishedSetting], Field(min_length=1)]
    subsets: Annotated[tuple[str, ...], Field(min_length=1)]
    metrics: Annotated[tuple[str, ...], Field(min_length=1)]
    rows: Annotated[Mapping[str, Mapping[str, BySubset]], Field(min_length=1)]


class BenchmarkFacts(_Part):
    """What someone must know who wants to run a benchmark.

    `asks`: what of a system. `tasks`: as what its questions are scored here. `get`: how to come by
    questions, `cost`: of a run over them, `page`: of the documentation.
    """

    title: str
    asks: _Note
    tasks: Annotated[tuple[str, ...], Field(min_length=1)]
    sizes: _Note
    source: _Note
    licence: _Note
    get: _Note
    cost: _Note
    page: str


class Published(_Part):
    """What a paper published on its benchmark, and what must be said wherever it is shown."""

    benchmark: str
    paper: str
    about: BenchmarkFacts
    notes: tuple[_Note, ...]
    metrics: Mapping[str, PublishedMetric]
    tables: Annotated[tuple[PublishedTable, ...], Field(min_length=1)]
