"""Options of how requests are made: patience, the most that they may cost, and what to expect."""

from pathlib import Path
from typing import Annotated

import click
import typer

from branchwise.agents.outages import PATIENCE, Outages
from branchwise.agents.restraints import Restraints
from branchwise.base.durations import read_duration
from branchwise.base.errors import InputError
from branchwise.runs.costs.prices import Prices
from branchwise.runs.costs.spending import Spending
from branchwise.runs.on_ray.connection import RayPlace
from branchwise.runs.studies.samples import OPTION


class _Duration(click.ParamType[float]):
    """Seconds, or a number with a unit: 90s, 2m, 1.5h."""

    name = "DURATION"

    def convert(
        self, value: str | float, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        return read_duration(value, param.opts[0] if param else None)


Patience = Annotated[
    float | None,
    typer.Option(
        click_type=_Duration(),
        metavar="DURATION",
        help="How long to wait for a server that is gone, before stopping: 90s, 10m. 0: not at "
        "all, its questions fail. Default: 2m.",
    ),
]
MaxCost = Annotated[
    float | None,
    typer.Option(
        min=0,
        help="USD: stop before the cost exceeds this. Needs prices and a limit of output tokens.",
    ),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run", help="Ask nothing: check everything, and say what it may cost at most."
    ),
]
Pilot = Annotated[
    int | None,
    typer.Option(
        help="Ask only this many questions, say what all are expected to cost, and stop. They are "
        "kept: the same command without --pilot goes on.",
        min=1,
        metavar="N",
    ),
]
EstimateFrom = Annotated[
    Path | None,
    typer.Option(
        help="With --dry-run: say what to expect by an earlier run or study of the same systems.",
        metavar="RUN",
    ),
]

On = Annotated[
    str | None,
    typer.Option(
        help="Where to answer: ray (all cores of this machine) or ray://HOST:PORT (a cluster). "
        "Default: one core.",
        metavar="PLACE",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(help="With --on: processes that answer. Default: one a core.", min=1),
]


def place_of(on: str | None, workers: int | None) -> RayPlace | None:
    """Where Ray answers; None: this process does. Raises InputError, also without Ray."""
    if on is None and workers is not None:
        raise InputError("has no effect alone", where="--workers", remedy="add --on ray")
    return None if on is None else RayPlace.parse(on, workers)


def outages_of(patience: float | None) -> Outages:
    """The watches of servers, with the patience of the option."""
    return Outages(PATIENCE if patience is None else patience)


def restraints_of(patience: float | None, max_cost: float | None, prices: Prices) -> Restraints:
    """What holds requests back; that costs have a bound must have been checked."""
    allowance = None if max_cost is None else Spending(max_cost, prices)
    return Restraints(None, allowance, outages_of(patience))


def check_forecast(pilot: int | None, estimate_from: Path | None, *, dry_run: bool) -> None:
    """Raise InputError for options that have no effect on each other."""
    if estimate_from is None:
        return
    if pilot is not None:
        raise InputError("stands beside --pilot", where=OPTION, remedy="leave one of them out")
    if not dry_run:
        raise InputError("has no effect alone", where=OPTION, remedy="add --dry-run")
