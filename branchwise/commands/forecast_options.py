"""Options of what may be expected, which are typed alone."""

from pathlib import Path
from typing import Annotated

import typer

from branchwise.base.errors import InputError
from branchwise.runs.options import ESTIMATE_FROM

DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run", help="Ask nothing: check everything, and say what it may cost at most."
    ),
]
EstimateFrom = Annotated[
    Path | None,
    typer.Option(
        help="With --dry-run: say what to expect by an earlier run or study of the same systems.",
        metavar="RUN",
    ),
]


def check_forecast(pilot: int | None, estimate_from: Path | None, *, dry_run: bool) -> None:
    """Raise InputError for options that have no effect on each other."""
    if estimate_from is None:
        return
    if pilot is not None:
        raise InputError(
            "stands beside --pilot", where=ESTIMATE_FROM, remedy="leave one of them out"
        )
    if not dry_run:
        raise InputError("has no effect alone", where=ESTIMATE_FROM, remedy="add --dry-run")
