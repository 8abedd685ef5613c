"""Ceilings: how far a perfect reader would have come at each place on the way."""

from collections.abc import Sequence

from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.reporting.study_report import StudyReport, SystemReport
from branchwise.ui.html.effort import line_figure
from branchwise.ui.html.figures import Figure
from branchwise.ui.html.line_chart import LineChart, Series
from branchwise.ui.html.systems import subsets, system_name
from branchwise.ui.html.tables import Cell, Row, Table, mean, subset_words
from branchwise.ui.html.text import short

_CEILINGS = (
    ("ceiling_reach", "within reach"),
    ("ceiling_retrieved", "retrieved"),
    ("ceiling_extracted", "extracted"),
    ("ceiling_shown", "shown"),
)
_LOSSES = (
    ("retrieval_loss", "lost in retrieval"),
    ("extraction_loss", "in extraction"),
    ("context_loss", "in context"),
    ("reasoning_loss", "in reasoning"),
)


def ceiling_figures(report: StudyReport) -> list[Figure]:
    """A line a system over the places, for each subset; none where nobody recorded any evidence."""
    found = [_figure(report, subset) for subset in subsets(report)]
    return [figure for figure in found if figure]


def _stages(report: StudyReport) -> tuple[tuple[str, str], ...]:
    """The ceilings, and the answers' own recall."""
    return (*_CEILINGS, (report.task.main.key, "answered"))


def _figure(report: StudyReport, subset: str) -> Figure | None:
    known = [
        (index, system, _means(system, subset, _stages(report)))
        for index, system in enumerate(report.systems)
        if _has_evidence(system)
    ]
    stages = _stages(report)
    kept = [i for i in range(len(stages)) if any(means[i].n for _, _, means in known)]
    chart = LineChart(
        f"{subset_words(subset).capitalize()} questions",
        "from what there is to what is answered",
        tuple(stages[i][1] for i in kept),
        tuple(
            Series(index, system_name(system), tuple(means[i] for i in kept))
            for index, system, means in known
        ),
    )
    return line_figure(report, chart, _table(report, subset))


def _table(report: StudyReport, subset: str) -> Table:
    known = [system for system in report.systems if _has_evidence(system)]
    shown = (*_stages(report), *_LOSSES)
    rows = [_row(system, subset, shown) for system in known]
    unknown = [
        f"{system_name(system)}: {short(why)}"
        for system in known
        if system.run.analysis
        for why in system.run.analysis.ceilings.unknown[:5]
    ]
    headings = (heading for _, heading in shown)
    return Table("Ceilings and losses", ("system", *headings), tuple(rows), notes=tuple(unknown))


def _row(system: SystemReport, subset: str, shown: Sequence[tuple[str, str]]) -> Row:
    assert system.run.analysis is not None
    found = system.run.analysis.ceilings.aggregates[subset]
    return Row(Cell(system_name(system)), tuple(mean(found[key]) for key, _ in shown))


def _means(system: SystemReport, subset: str, stages: Sequence[tuple[str, str]]) -> list[Aggregate]:
    assert system.run.analysis is not None
    return [system.run.analysis.ceilings.aggregates[subset][key] for key, _ in stages]


def _has_evidence(system: SystemReport) -> bool:
    analysis = system.run.analysis
    return bool(analysis and analysis.ceilings.aggregates["all"]["ceiling_retrieved"].n)
