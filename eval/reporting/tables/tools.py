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
    traced = [item.evidence for item in analysis.items if item.evidence]
    if not traced:
        return
    made = [call for evidence in traced for call in evidence.calls]
    calls = Counter(call.tool for call in made)
    failed = Counter(call.tool for call in made if call.error)
    for tool, times in calls.most_common():
        yield (name, tool, times, times / len(traced), failed[tool])
    if len(calls) != 1:
        yield (name, _ALL, len(made), len(made) / len(traced), failed.total())
