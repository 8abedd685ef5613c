"""Which published numbers stand beside the scores of runs."""

from collections.abc import Sequence
from typing import Annotated

import typer

from branchwise.base.errors import InputError
from branchwise.report.published import Published, are_generated, published, published_beside
from branchwise.report.run_folders import marks_of
from branchwise.report.terminal.console import console
from branchwise.runs.scoring.scored import ScoredAnswers

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
    """What was published of the benchmark, by default of the runs' own.

    Raises InputError if that was asked for, and no run is of a task that it has numbers for.
    """
    if benchmark == _NONE:
        return None
    found = published_beside(marks_of(runs), benchmark)
    tasks = dict.fromkeys(run.scores.scorer.task for _, run in runs)
    if found and benchmark and not tasks.keys() & {table.task for table in found.tables}:
        raise InputError(
            f"what is published of {benchmark} was not scored as {', '.join(tasks)}",
            remedy="leave out --published",
        )
    return found


def printed_published(
    benchmark: str | None,
    beside: Published | None,
    runs: Sequence[tuple[str, ScoredAnswers]],
    *,
    full: bool,
) -> Published | None:
    """What of it a terminal shows: what was asked for, and with `full` that of the same questions.

    Between one's own tables, a screen of other numbers is in the way.
    """
    asked = benchmark is not None
    return beside if asked or (full and not are_generated(marks_of(runs))) else None


def say_published(beside: Published) -> None:
    """Where the numbers are that a short report leaves out."""
    line = f"\nPublished numbers of {beside.benchmark}: --published {beside.benchmark}"
    console().print(line, markup=False)
