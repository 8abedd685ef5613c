"""Reading a file of published numbers: every complaint in one line, with its line in the file."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, TypeVar

from pydantic import ValidationError

from branchwise.base.errors import InputError, did_you_mean
from branchwise.base.plugins.specs import BERTSCORE
from branchwise.base.yaml_lines import KeyPath, line_of, read_document, shown
from branchwise.eval.scores import SUBSETS
from branchwise.eval.tasks import TASKS, columns_of
from branchwise.report.published.schema import Published, PublishedTable

_Value = TypeVar("_Value")


class _Problem(NamedTuple):
    place: KeyPath
    what: str
    remedy: str | None = None


def read_published(path: Path) -> Published:
    """The published numbers in a YAML file.

    Raises InputError, naming file and line: no YAML, a field, setting, subset or metric that is
    missing, unknown or repeated, a value that is not a number, or is out of its metric's range.
    """
    document = read_document(
        path, wanted="published numbers", remedy="compare with deepambigqa.yaml"
    )

    def refusal(found: _Problem) -> InputError:
        where = f"{path}:{line_of(document.lines, found.place)}"
        return InputError(found.what, where=where, remedy=found.remedy)

    try:
        read = Published.model_validate(document.value)
    except ValidationError as error:
        raise refusal(_of_form(error)) from None
    if found := next(_of_content(read, path.stem), None):
        raise refusal(found)
    return read


def _of_form(error: ValidationError) -> _Problem:
    # A misspelt field is one that is unknown and one that is missing: the first says more.
    problems = error.errors(include_url=False)
    found = min(problems, key=lambda one: one["type"] != "extra_forbidden")
    name = next((part for part in reversed(found["loc"]) if isinstance(part, str)), "the file")
    match found["type"]:
        case "extra_forbidden":
            what = f"unknown field {shown(name)}"
        case "missing":
            what = f"{name} is missing"
        case _:
            what = f"{name} is {shown(found['input'])}: {found['msg']}"
    return _Problem(found["loc"], what)


def _of_content(read: Published, name: str) -> Iterator[_Problem]:
    if read.benchmark != name:
        yield _Problem(("benchmark",), f"benchmark is {shown(read.benchmark)}, the file {name}")
    for nth, task in enumerate(read.about.tasks):
        if task not in TASKS:
            remedy = did_you_mean(task, TASKS)
            yield _Problem(("about", "tasks", nth), f"unknown task {shown(task)}", remedy)
    names = [table.name for table in read.tables]
    for number, table in enumerate(read.tables):
        place: KeyPath = ("tables", number)
        if table.name in names[:number]:
            yield _Problem((*place, "name"), f"{table.name} is the name of two tables")
        if table.task not in TASKS:
            remedy = did_you_mean(table.task, TASKS)
            yield _Problem((*place, "task"), f"unknown task {shown(table.task)}", remedy)
            continue
        for nth, subset in enumerate(table.subsets):
            if subset not in SUBSETS:
                remedy = did_you_mean(subset, SUBSETS)
                yield _Problem((*place, "subsets", nth), f"unknown subset {shown(subset)}", remedy)
        yield from _of_metrics(read, table, place)
        for row, settings in table.rows.items():
            yield from _of_row(read, table, settings, (*place, "rows", row))


def _of_metrics(read: Published, table: PublishedTable, place: KeyPath) -> Iterator[_Problem]:
    """Each is described, and its nearest column is one of the table's task, or of a metric that is
    built in."""
    columns = {*columns_of(table.task), BERTSCORE.removesuffix(":")}
    for number, metric in enumerate(table.metrics):
        if metric not in read.metrics:
            remedy = did_you_mean(metric, read.metrics)
            what = f"unknown metric {shown(metric)}"
            yield _Problem((*place, "metrics", number), what, remedy)
            continue
        for nth, ours in enumerate(read.metrics[metric].ours):
            if ours not in columns:
                what = f"{table.task} has no column {shown(ours)}"
                yield _Problem(("metrics", metric, "ours", nth), what, did_you_mean(ours, columns))


def _of_row(
    read: Published,
    table: PublishedTable,
    settings: Mapping[str, Mapping[str, Mapping[str, float]]],
    place: KeyPath,
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
    kind: str, found: Mapping[str, _Value], wanted: Iterable[str], place: KeyPath
) -> Iterator[_Problem]:
    """The same names on both sides; a misspelt one before the missing one."""
    names = list(wanted)
    for name in found:
        if name not in names:
            remedy = did_you_mean(name, names)
            yield _Problem((*place, name), f"unknown {kind} {shown(name)}", remedy)
    for name in names:
        if name not in found:
            yield _Problem(place, f"the {kind} {shown(name)} is missing", "every row has all")
