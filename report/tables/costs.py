"""What the systems cost, which tools they called, and how often calls failed."""

from collections.abc import Iterator, Mapping

from branchwise.report.figures.cost import ratio, spending, unpriced_notes
from branchwise.report.study_report import StudyReport, SystemReport
from branchwise.report.table import CellValue, Table, TableColumn, system_column
from branchwise.runs.costs.usage import COUNTS

_UNITS = {"calls": "count", "seconds": "seconds"}
_PER_ITEM = "per item"


def costs_table(report: StudyReport) -> Table:
    """Calls, tokens, seconds and USD of each role, of all roles, and the mean for an item."""
    columns = (
        system_column(),
        TableColumn("role", "role", "text", is_key=True),
        TableColumn("model", "model", "text"),
        TableColumn("calls", "calls", "count"),
        *(TableColumn(name, name, "tokens") for name in COUNTS if name not in _UNITS),
        TableColumn("seconds", "seconds", "seconds", 1),
        TableColumn("cost_usd", "USD", "usd", 4),
        TableColumn("ratio", "times base", "ratio", 2),
    )
    rows = [row for system in report.systems for row in _rows(report, system)]
    notes = tuple(_notes(report))
    return Table("costs", "Costs", columns, tuple(rows), notes, section="cost")


def _rows(report: StudyReport, system: SystemReport) -> Iterator[tuple[CellValue, ...]]:
    found = system.run.costs
    for role in found.roles:
        counts = _counts(vars(role.usage))
        yield (system.name, role.role, role.model, *counts, role.cost, None)
    if len(found.roles) != 1:
        yield (system.name, "all", None, *_counts(vars(found.usage)), found.cost, None)
    means = found.per_item
    times = ratio(report, system)
    yield (system.name, _PER_ITEM, None, *_counts(means), means["cost"], times)


def _counts(values: Mapping[str, float | None]) -> list[float | None]:
    return [values[name] for name in COUNTS]


def _notes(report: StudyReport) -> Iterator[str]:
    costs = [system.run.costs for system in report.systems]
    yield "Cached is part of input, reasoning of output; seconds are summed over requests."
    if unit := spending(report):
        yield f"Times base: of the {unit.words} of an item."
    published = next((one for one in costs if one.source), None)
    if published:
        as_of = f" as of {published.as_of}" if published.as_of else ""
        yield f"USD by {published.source}{as_of}, or by the prices that were given."
    yield from unpriced_notes(report)


_ALL = "all"
_TOOL_NOTES = (
    "Failed: arguments that did not fit, no such tool, an error, or no budget left.",
    "A tool of 0 calls was offered, and the agent never called it.",
)


def tools_table(report: StudyReport) -> Table:
    """Calls of each tool that a system has, or was asked for; without rows where none has any."""
    columns = (
        system_column(),
        TableColumn("tool", "tool", "text", is_key=True),
        TableColumn("calls", "calls", "count"),
        TableColumn("per_item", "calls an item", "count"),
        TableColumn("failed", "failed", "count"),
    )
    rows = tuple(row for one in report.systems for row in _tool_rows(one))
    return Table("tools", "Tools", columns, rows, _TOOL_NOTES, False, "tools")


def _tool_rows(system: SystemReport) -> Iterator[tuple[CellValue, ...]]:
    """The tool that was called most first; all of them last where there is more than one."""
    tools, items = system.run.modules.tools, len(system.scores.items)
    if not items:
        return
    ranked = sorted(tools.items(), key=lambda named: -named[1].calls)
    for name, work in ranked:
        yield (system.name, name, work.calls, work.calls / items, work.failed)
    if len(tools) > 1:
        every = sum(work.calls for work in tools.values())
        failed = sum(work.failed for work in tools.values())
        yield (system.name, _ALL, every, every / items, failed)
