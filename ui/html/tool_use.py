"""Tools: which were called, how often in vain, and what the systems scored with them."""

from collections import Counter
from dataclasses import dataclass

from branchwise.eval.reporting.study_report import StudyReport, SystemReport
from branchwise.ui.cells import NOTHING
from branchwise.ui.html.published import published_beside, published_notes, published_rows
from branchwise.ui.html.score_tables import headline_family, score_cells, subset_groups
from branchwise.ui.html.systems import subsets, system_name
from branchwise.ui.html.tables import Cell, Row, Table, count
from branchwise.ui.html.text import percent, short


@dataclass(frozen=True)
class ToolUse:
    """Calls of a system over all its items that have a trace, by tool, and how many failed."""

    items: int
    calls: Counter[str]
    failed: Counter[str]


def tool_use(system: SystemReport) -> ToolUse | None:
    """None where no item has a trace."""
    analysis = system.run.analysis
    traced = [item.evidence for item in analysis.items if item.evidence] if analysis else []
    if not traced:
        return None
    calls = [call for evidence in traced for call in evidence.calls]
    failed = Counter(call.tool for call in calls if call.error)
    return ToolUse(len(traced), Counter(call.tool for call in calls), failed)


def tool_table(report: StudyReport) -> Table | None:
    """A row a system, as DeepAmbigQA's Table 7; None where nobody called a tool."""
    used = [(system, tool_use(system)) for system in report.systems]
    if not any(found and found.calls for _, found in used):
        return None
    chosen, family = subsets(report), headline_family(report)
    rows = [
        Row(
            Cell(system_name(system)),
            (*_use_cells(found), *score_cells(system, family, chosen)),
            "base" if system is report.base else "plain",
        )
        for system, found in used
    ]
    known = published_beside(report)
    if known:
        found = published_rows(known, (4, 7), chosen, 2)
        rows += [row for row in found if row.heading.text.startswith("GPT-5")]
    headings = tuple(heading for _, heading in family.columns)
    return Table(
        "Tools and scores",
        ("system", "calls a question", "failed", *headings * len(chosen)),
        tuple(rows),
        (("", 1), ("tools", 2), *subset_groups(report, len(headings))),
        (1, 2),
        ("Failed: arguments that did not fit, no such tool, an error, or no budget left.",)
        + (published_notes(known) if known else ()),
    )


def _use_cells(found: ToolUse | None) -> tuple[Cell, Cell]:
    if found is None:
        return Cell(NOTHING), Cell(NOTHING)
    total = found.calls.total()
    by_tool = " · ".join(
        f"{short(tool, 60)} {count(calls / found.items).text}"
        for tool, calls in found.calls.most_common(8)
    )
    failed = " · ".join(f"{short(tool, 60)} {n:,}" for tool, n in found.failed.most_common(8))
    return (
        Cell(count(total / found.items).text, by_tool),
        Cell(percent(found.failed.total(), total), failed),
    )
