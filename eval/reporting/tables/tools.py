"""Which tools the systems called, and how often the calls failed."""

from collections import Counter
from collections.abc import Iterator

from branchwise.eval.analysis import Analysis
from branchwise.eval.reporting.study_report import StudyReport
from branchwise.eval.reporting.tables.table import CellValue, Table, TableColumn, system_column

_ALL = "all"
_NOTE = "Failed: arguments that did not fit, no such tool, an error, or no budget left."


def tools_table(report: StudyReport) -> Table:
    """Calls of each tool over the items that have a trace; without rows where none was called."""
    columns = (
        system_column(),
        TableColumn("tool", "tool", "text", is_key=True),
        TableColumn("calls", "calls", "count"),
        TableColumn("per_item", "calls an item", "count"),
        TableColumn("failed", "failed", "count"),
    )
    rows = [row for _, name, analysis in report.analysed for row in _rows(name, analysis)]
    shown = tuple(rows) if any(row[2] for row in rows) else ()
    return Table("tools", "Tools", columns, shown, (_NOTE,), False, "tools")


def _rows(name: str, analysis: Analysis) -> Iterator[tuple[CellValue, ...]]:
    """The tool that was called most first; all of them last where there is more than one."""
    items, made, failed = analysis.tool_calls
    if not items:
        return
    for tool, times in Counter(made).most_common():
        yield (name, tool, times, times / items, failed.get(tool, 0))
    if len(made) != 1:
        every = sum(made.values())
        yield (name, _ALL, every, every / items, sum(failed.values()))
