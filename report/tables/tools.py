"""Which tools the systems called, and how often the calls failed."""

from collections.abc import Iterator

from branchwise.report.study_report import StudyReport, SystemReport
from branchwise.report.tables.table import CellValue, Table, TableColumn, system_column

_ALL = "all"
_NOTES = (
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
    rows = tuple(row for one in report.systems for row in _rows(one))
    return Table("tools", "Tools", columns, rows, _NOTES, False, "tools")


def _rows(system: SystemReport) -> Iterator[tuple[CellValue, ...]]:
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
