"""What the systems cost."""

from collections.abc import Iterator, Mapping

from branchwise.eval.costs.usage import COUNTS, Costs
from branchwise.eval.reporting.study_report import StudyReport, SystemReport
from branchwise.eval.reporting.tables.table import Cell, Column, Table, system_column

_UNITS = {"calls": "count", "seconds": "seconds"}
_PER_ITEM = "per item"


def costs_table(report: StudyReport) -> Table:
    """Calls, tokens, seconds and USD of each role, of all roles, and the mean for an item."""
    columns = (
        system_column(),
        Column("role", "role", "text"),
        Column("model", "model", "text"),
        Column("calls", "calls", "count"),
        *(Column(name, name, "tokens") for name in COUNTS if name not in _UNITS),
        Column("seconds", "seconds", "seconds", 1),
        Column("cost_usd", "USD", "usd", 4),
        Column("cost_ratio", "times base", "ratio", 2),
    )
    rows = [row for system in report.systems for row in _rows(system, report.base.run.costs)]
    return Table("costs", "Costs", columns, tuple(rows), tuple(_notes(report)))


def _rows(system: SystemReport, base: Costs) -> Iterator[tuple[Cell, ...]]:
    found = system.run.costs
    for role in found.roles:
        counts = _counts(vars(role.usage))
        yield (system.name, role.role, role.model, *counts, role.cost, None)
    if found.unsplit.items:
        # Sums of tokens that were not kept by role would leave those out that were not.
        yield (system.name, "all", None, *(None for _ in COUNTS), found.cost, None)
    elif len(found.roles) != 1:
        yield (system.name, "all", None, *_counts(vars(found.usage)), found.cost, None)
    means, cost = found.per_item, found.per_item["cost"]
    yield (system.name, _PER_ITEM, None, *_counts(means), cost, _ratio(cost, base.per_item["cost"]))


def _counts(values: Mapping[str, float | None]) -> list[float | None]:
    return [values[name] for name in COUNTS]


def _ratio(cost: float | None, base: float | None) -> float | None:
    """None where a side is unknown or the base costs nothing."""
    return None if cost is None or not base else cost / base


def _notes(report: StudyReport) -> Iterator[str]:
    costs = [system.run.costs for system in report.systems]
    yield "Cached is part of input, reasoning of output; seconds are summed over requests."
    if costs[0].source:
        as_of = f" as of {costs[0].as_of}" if costs[0].as_of else ""
        yield f"USD by {costs[0].source}{as_of}, or by the prices that were given."
    for model in dict.fromkeys(model for one in costs for model in one.unpriced):
        yield f"No price is known for {model}: what it costs is unknown, not nothing."
    for system in report.systems:
        if items := system.run.costs.unsplit.items:
            yield f"{system.name}: usage of {items} items was not kept by role, and is in no row."
