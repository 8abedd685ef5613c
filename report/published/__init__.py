"""Numbers that a benchmark's paper published, as files; wherever they stand they are marked."""

import importlib.resources
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Protocol

from branchwise.base.errors import InputError, did_you_mean
from branchwise.report.published.reading import read_published
from branchwise.report.published.schema import (
    Published,
    PublishedMetric,
    PublishedSetting,
    PublishedTable,
)

__all__ = [
    "Published",
    "PublishedMetric",
    "PublishedSetting",
    "PublishedTable",
    "are_generated",
    "benchmark_of",
    "benchmarks",
    "published",
    "published_beside",
]

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
    """The benchmarks that have published numbers here."""
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
    """What stands beside answers to these questions: published of the benchmark that was asked for,
    else of their own, if anything is. A note says so where they are not the paper's.

    Raises InputError where nothing is published of the benchmark that was asked for.
    """
    own = benchmark_of(questions)
    name = benchmark or own
    # What a question file says is compared with names, never used as a path.
    if name is None or (benchmark is None and name not in benchmarks()):
        return None
    found = published(name)
    if name == own and not are_generated(questions):
        return found
    return found.model_copy(update={"notes": (_OTHER_QUESTIONS, *found.notes)})
