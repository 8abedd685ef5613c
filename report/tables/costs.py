"""What the systems cost, which tools they called, and how often calls failed."""

from branchwise.report.figures.cost import ratio, spending, unpriced_notes
from branchwise.report.study_report import StudyReport
from branchwise.report.table import CellValue, Table, TableColumn, count_columns, system_column
from branchwise.runs.costs.usage import COUNTS

PER_RIGHT = TableColumn(
    "tokens_per_right", "tokens a right answer", "tokens", heading="tokens/\nright"
)
_UNITS = {"calls": "count", "seconds": "seconds"}
_TOOL_NOTES = (
    "Failed: arguments that did not fit, no such tool, an error, or no budget left.",
    "A tool of 0 calls was offered, and the agent never called it.",
)


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
        PER_RIGHT,
    )
    rows: list[tuple[CellValue, ...]] = []
    for system in report.systems:
        name, costs = system.name, system.run.costs
        for role in costs.roles:
            counts = (getattr(role.usage, count) for count in COUNTS)
            rows.append((name, role.role, role.model, *counts, role.cost, None, None))
        if len(costs.roles) != 1:
            counts = (getattr(costs.usage, count) for count in COUNTS)
            rows.append((name, "all", None, *counts, costs.cost, None, None))
        means = costs.per_item
        counts = (means[count] for count in COUNTS)
        mean = means["cost"], ratio(report, system), system.run.tokens_per_right
        rows.append((name, "per item", None, *counts, *mean))
    notes = [
        "Cached is part of input, reasoning of output; seconds are summed over requests.",
        "Tokens a right answer: of all roles and items, for each gold answer that is right.",
    ]
    if unit := spending(report):
        notes.append(f"Times base: of the {unit.words} of an item.")
    priced = (system.run.costs for system in report.systems if system.run.costs.source)
    if published := next(priced, None):
        as_of = f" as of {published.as_of}" if published.as_of else ""
        notes.append(f"USD by {published.source}{as_of}, or by the prices that were given.")
    notes += unpriced_notes(report)
    return Table("costs", "Costs", columns, tuple(rows), tuple(notes), section="cost")


def tools_table(report: StudyReport) -> Table:
    """Calls of each tool that a system has, most called first; no rows where none has any."""
    columns = (
        system_column(),
        TableColumn("tool", "tool", "text", is_key=True),
        *count_columns(calls="calls", per_item="calls an item", failed="failed"),
    )
    rows: list[tuple[CellValue, ...]] = []
    for system in report.systems:
        tools, items = system.run.modules.tools, len(system.scores.items)
        counts = [(name, work.calls, work.failed) for name, work in tools.items()]
        counts.sort(key=lambda named: -named[1])
        if len(tools) > 1:
            counts.append(("all", sum(calls for _, calls, _ in counts), sum(n for *_, n in counts)))
        for name, calls, failed in counts if items else ():
            rows.append((system.name, name, calls, calls / items, failed))
    return Table("tools", "Tools", columns, tuple(rows), _TOOL_NOTES, False, "tools")
