"""Published numbers: `branchwise benchmarks`, and what `report` shows of them beside scores."""

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Annotated

import typer

from branchwise.base.errors import InputError
from branchwise.commands.options import AsJson
from branchwise.report.published import (
    Published,
    are_generated,
    benchmarks,
    published,
    published_beside,
)
from branchwise.report.run_folders import marks_of
from branchwise.report.terminal.console import console, print_json
from branchwise.runs.scoring.scored import ScoredAnswers

benchmarks_app = typer.Typer(no_args_is_help=True, add_completion=False)
_WORDS = {
    "asks": "asks for",
    "tasks": "task",
    "sizes": "sizes",
    "source": "source",
    "licence": "licence",
    "get": "get it",
    "cost": "a run",
    "page": "more",
}
"""What each fact is called, in the order of reading."""


@benchmarks_app.callback()
def options() -> None:
    """Say what can be run."""


@benchmarks_app.command("list")
def list_benchmarks(json_output: AsJson = False) -> None:
    """List the benchmarks: task, sizes, source, licence, how to get one, the cost of a run.

    Example: branchwise benchmarks list --json
    """
    known = [published(name) for name in benchmarks()]
    if json_output:
        names = ({"name": each.benchmark, "paper": each.paper} for each in known)
        facts = (each.about.model_dump(mode="json") for each in known)
        print_json([name | about for name, about in zip(names, facts, strict=True)])
        return
    screen = console()
    for benchmark in known:
        heading = f"{benchmark.benchmark}: {benchmark.about.title} ({benchmark.paper})"
        screen.print(heading, style="bold", markup=False, soft_wrap=not screen.is_terminal)
        for line in _lines(benchmark, screen.width if screen.is_terminal else None):
            screen.print(line, markup=False, soft_wrap=True)
        screen.print()


def _lines(benchmark: Published, width: int | None) -> Iterator[str]:
    """A fact a line, continued below itself where the terminal ends."""
    for key, words in _WORDS.items():
        value = getattr(benchmark.about, key)
        text = ", ".join(value) if isinstance(value, tuple) else value
        first, *more = wrap(text, max(20, width - 12)) if width else [text]
        yield f"  {words:<9} {first}"
        yield from (f"{'':<12}{line}" for line in more)


_NONE = "none"

PublishedOption = Annotated[
    str | None,
    typer.Option(
        metavar="BENCHMARK",
        help="Show what a paper published beside the scores: deepambigqa, condambigqa, cambignq, "
        "ambignq, mdcr, or none. Default: with --full and in files, of the benchmark that the "
        "questions name; in files alone if they were generated in its form.",
    ),
]


def check_published(benchmark: str | None) -> None:
    """Raise InputError if nothing is published of the benchmark."""
    if benchmark not in (None, _NONE):
        published(benchmark)


def chosen_published(
    benchmark: str | None, runs: Sequence[tuple[str, ScoredAnswers]]
) -> Published | None:
    """What was published of the benchmark, by default of the runs' own. Raises InputError."""
    if benchmark == _NONE:
        return None
    beside = published_beside(marks_of(runs), benchmark)
    tasks = dict.fromkeys(run.scores.scorer.task for _, run in runs)
    if beside and benchmark and not tasks.keys() & {table.task for table in beside.tables}:
        problem = f"what is published of {benchmark} was not scored as {', '.join(tasks)}"
        raise InputError(problem, remedy="leave out --published")
    return beside


def printed_published(
    benchmark: str | None,
    beside: Published | None,
    runs: Sequence[tuple[str, ScoredAnswers]],
    *,
    full: bool,
) -> Published | None:
    """What of it a terminal shows: what was asked for; with `full`, of the same questions."""
    asked = benchmark is not None
    return beside if asked or (full and not are_generated(marks_of(runs))) else None


def say_published(beside: Published) -> None:
    """Where the numbers are that a short report leaves out."""
    line = f"\nPublished numbers of {beside.benchmark}: --published {beside.benchmark}"
    console().print(line, markup=False)
