"""Numbers that a benchmark's paper published, as files; wherever they stand they are marked."""

import importlib.resources
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Protocol

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from branchwise.base.errors import InputError, did_you_mean
from branchwise.base.plugins.specs import BERTSCORE
from branchwise.base.yaml_lines import KeyPath, line_of, read_document, shown
from branchwise.eval.scores import SUBSETS
from branchwise.eval.tasks import TASKS, columns_of

_Number = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
_Note = Annotated[str, Field(max_length=300)]
"""Longer ones would be cut where tables are shown."""

BySubset = Mapping[str, Mapping[str, _Number]]
"""Subset of the questions to metric to value."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PublishedMetric(_Part):
    """A column of the paper: a `share` is 0 to 1 (63.9% is .639 with three `digits`). `ours`:
    our columns; a system is shown by the first that it has."""

    title: str
    unit: Literal["share", "value"] = "share"
    digits: int = 2
    ours: tuple[str, ...] = ()


class PublishedSetting(_Part):
    """What was run: its `place` in the paper, what reports call it (`ours`), if not by its name.
    A system with a `protocol` or `hints` differs in nothing else."""

    place: str
    ours: str | None = None
    protocol: str | None = None
    hints: str | None = None


class PublishedTable(_Part):
    """Numbers of one form: a row has every setting, a setting every subset, a subset every
    metric. `task`: as what questions were scored; `row`: what a row is."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*$")]
    title: str
    task: str
    row: str
    settings: Annotated[Mapping[str, PublishedSetting], Field(min_length=1)]
    subsets: Annotated[tuple[str, ...], Field(min_length=1)]
    metrics: Annotated[tuple[str, ...], Field(min_length=1)]
    rows: Annotated[Mapping[str, Mapping[str, BySubset]], Field(min_length=1)]


class BenchmarkFacts(_Part):
    """What someone must know who wants to run a benchmark: what it `asks` of a system, the
    `tasks` that score it, how to `get` questions, what a run costs, the `page` of the
    documentation."""

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


class _Problem(NamedTuple):
    """What is wrong at a place of a file, in words."""

    place: KeyPath
    words: str
    remedy: str | None = None


def read_published(path: Path) -> Published:
    """The published numbers in a YAML file. Raises InputError, naming file and line, for what is
    no YAML, missing, unknown, repeated, no number, or out of its metric's range."""
    document = read_document(
        path, wanted="published numbers", remedy="compare with deepambigqa.yaml"
    )
    problem: _Problem | None
    try:
        read = Published.model_validate(document.value)
        problem = next(_problems(read, path.stem), None)
    except ValidationError as error:
        # A misspelt field is one that is unknown and one that is missing: the first says more.
        errors = error.errors(include_url=False)
        first = min(errors, key=lambda error: error["type"] != "extra_forbidden")
        name = next((part for part in reversed(first["loc"]) if isinstance(part, str)), "the file")
        whats = {"extra_forbidden": f"unknown field {shown(name)}", "missing": f"{name} is missing"}
        otherwise = f"{name} is {shown(first['input'])}: {first['msg']}"
        problem = _Problem(first["loc"], whats.get(first["type"], otherwise))
    if problem:
        where = f"{path}:{line_of(document.lines, problem.place)}"
        raise InputError(problem.words, where=where, remedy=problem.remedy)
    return read


def _problems(read: Published, name: str) -> Iterator[_Problem]:
    if read.benchmark != name:
        yield _Problem(("benchmark",), f"benchmark is {shown(read.benchmark)}, the file {name}")
    for n, task in enumerate(read.about.tasks):
        yield from _unknown("task", task, TASKS, ("about", "tasks", n))
    names = [table.name for table in read.tables]
    for number, table in enumerate(read.tables):
        place: KeyPath = ("tables", number)
        if table.name in names[:number]:
            yield _Problem((*place, "name"), f"{table.name} is the name of two tables")
        yield from _unknown("task", table.task, TASKS, (*place, "task"))
        for n, subset in enumerate(table.subsets):
            yield from _unknown("subset", subset, SUBSETS, (*place, "subsets", n))
        columns = {*columns_of(table.task), BERTSCORE.removesuffix(":")}
        for n, metric in enumerate(table.metrics):
            yield from _unknown("metric", metric, read.metrics, (*place, "metrics", n))
            for nth, ours in enumerate(read.metrics[metric].ours):
                if ours not in columns:
                    words = f"{table.task} has no column {shown(ours)}"
                    column = ("metrics", metric, "ours", nth)
                    yield _Problem(column, words, did_you_mean(ours, columns))
        for row, settings in table.rows.items():
            yield from _of_row(read, table, settings, (*place, "rows", row))


def _of_row(
    read: Published, table: PublishedTable, settings: Mapping[str, BySubset], place: KeyPath
) -> Iterator[_Problem]:
    yield from _keys("setting", settings, table.settings, place)
    for setting, subsets in settings.items():
        yield from _keys("subset", subsets, table.subsets, (*place, setting))
        for subset, scores in subsets.items():
            inner = (*place, setting, subset)
            yield from _keys("metric", scores, table.metrics, inner)
            for metric, value in scores.items():
                if read.metrics[metric].unit == "share" and value > 1:
                    yield _Problem((*inner, metric), f"{metric} is {value}", "a share is 0 to 1")


def _keys(
    noun: str, given: Collection[str], wanted: Collection[str], place: KeyPath
) -> Iterator[_Problem]:
    """The same names on both sides; a misspelt one before the missing one."""
    for name in given:
        yield from _unknown(noun, name, wanted, (*place, name))
    for name in wanted:
        if name not in given:
            yield _Problem(place, f"the {noun} {shown(name)} is missing", "every row has all")


def _unknown(noun: str, name: str, known: Collection[str], place: KeyPath) -> Iterator[_Problem]:
    if name not in known:
        yield _Problem(place, f"unknown {noun} {shown(name)}", did_you_mean(name, known))


_OTHER_QUESTIONS = (
    "The questions of this report are not the paper's: they were generated in its form, or do not "
    "say what they are. Compare what leads, and by how much, rather than the numbers."
)


class _Marked(Protocol):
    """A question, or a report of one."""

    @property
    def meta(self) -> Mapping[str, Any]: ...


@cache
def benchmarks() -> tuple[str, ...]:
    there = importlib.resources.files(__package__).iterdir()
    names = (file.name for file in there if file.name.endswith(".yaml"))
    return tuple(sorted(name.removesuffix(".yaml") for name in names))


@cache
def published(benchmark: str) -> Published:
    """The published numbers of a benchmark. Raises InputError with the nearest name."""
    if benchmark not in benchmarks():
        raise InputError(
            f"nothing is published of a benchmark {benchmark!r} here",
            remedy=did_you_mean(benchmark, benchmarks()),
        )
    shipped = importlib.resources.files(__package__).joinpath(f"{benchmark}.yaml")
    with importlib.resources.as_file(shipped) as file:
        return read_published(file)


def benchmark_of(questions: Sequence[_Marked]) -> str | None:
    """The benchmark that all questions say they are of (`meta.benchmark`), or None."""
    names = [question.meta.get("benchmark") for question in questions]
    first = names[0] if names else None
    return first if isinstance(first, str) and all(name == first for name in names) else None


def are_generated(questions: Sequence[_Marked]) -> bool:
    """Whether questions in a benchmark's form were made here (`meta.generated`)."""
    return any(question.meta.get("generated") for question in questions)


def published_beside(
    questions: Sequence[_Marked], benchmark: str | None = None
) -> Published | None:
    """What stands beside answers to these questions: published of the `benchmark` that was asked
    for, else of their own, if anything is. A note says so where they are not the paper's. Raises
    InputError where nothing is published of the benchmark that was asked for."""
    own = benchmark_of(questions)
    name = benchmark or own
    # What a question file says is compared with names, never used as a path.
    if name is None or (benchmark is None and name not in benchmarks()):
        return None
    numbers = published(name)
    if name == own and not are_generated(questions):
        return numbers
    return numbers.model_copy(update={"notes": (_OTHER_QUESTIONS, *numbers.notes)})
