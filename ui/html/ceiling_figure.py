"""Ceilings: how far a perfect reader would have come at each place on the way."""

from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.reporting.study_report import StudyReport, SystemReport
from branchwise.ui.html.effort import line_figure
from branchwise.ui.html.figures import Figure
from branchwise.ui.html.line_chart import LineChart, Series
from branchwise.ui.html.systems import subsets, system_name
from branchwise.ui.html.tables import Cell, Row, Table, mean, subset_words, with_questions
from branchwise.ui.html.text import short

_STAGES = (
    ("ceiling_reach", "within reach"),
    ("ceiling_retrieved", "retrieved"),
    ("ceiling_extracted", "extracted"),
    ("ceiling_shown", "shown"),
    ("strict_recall", "answered"),
)
_LOSSES = (
    ("retrieval_loss", "lost in retrieval"),
    ("extraction_loss", "in extraction"),
    ("context_loss", "in context"),
    ("reasoning_loss", "in reasoning"),
)
_NOTE = (
    "Strict recall of a perfect reader: of what the tools could have given, of what they returned, "
    "of what extraction left, of what the agent was shown; then the agent's own. A mention need "
    "not state an answer, so all but the last are upper bounds."
)


def ceiling_figure(report: StudyReport) -> Figure | None:
    """A line a system over the places; None where no system recorded any evidence."""
    series = tuple(
        Series(index, system_name(system), tuple(_means(system, "all")))
        for index, system in enumerate(report.systems)
        if _has_evidence(system)
    )
    if not series:
        return None
    kept = [i for i in range(len(_STAGES)) if any((s.means[i] or _NONE).n for s in series)]
    columns = tuple(_STAGES[i][1] for i in kept)
    chosen = tuple(Series(s.index, s.name, tuple(s.means[i] for i in kept)) for s in series)
    title = "Where recall is lost on the way"
    chart = LineChart(title, "from what there is to what is answered", columns, chosen)
    return line_figure(report, chart, _table(report), _NOTE)


_NONE = Aggregate(None, 0, None, None)


def _table(report: StudyReport) -> Table:
    rows: list[Row] = []
    known = [system for system in report.systems if _has_evidence(system)]
    for subset in with_questions([(s, 1) for s in subsets(report)]):
        rows.append(Row(Cell(subset_words(subset)), kind="group"))
        rows += [_row(system, subset) for system in known]
    unknown = [
        f"{system_name(system)}: {short(why)}"
        for system in known
        if system.run.analysis
        for why in system.run.analysis.ceilings.unknown[:5]
    ]
    headings = (heading for _, heading in (*_STAGES, *_LOSSES))
    return Table("Ceilings and losses", ("system", *headings), tuple(rows), notes=tuple(unknown))


def _row(system: SystemReport, subset: str) -> Row:
    assert system.run.analysis is not None
    found = system.run.analysis.ceilings.aggregates[subset]
    return Row(
        Cell(system_name(system)), tuple(mean(found[key]) for key, _ in (*_STAGES, *_LOSSES))
    )


def _means(system: SystemReport, subset: str) -> list[Aggregate]:
    assert system.run.analysis is not None
    return [system.run.analysis.ceilings.aggregates[subset][key] for key, _ in _STAGES]


def _has_evidence(system: SystemReport) -> bool:
    analysis = system.run.analysis
    return bool(analysis and analysis.ceilings.aggregates["all"]["ceiling_retrieved"].n)
