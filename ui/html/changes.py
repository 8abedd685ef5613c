"""What each change does: paired differences to the base, as figures and tables."""

from collections.abc import Mapping, Sequence

from branchwise.eval.reporting.study_report import StudyReport, SystemReport
from branchwise.eval.reporting.tables.changes import total_notes
from branchwise.eval.statistics import Difference, p_value, signed
from branchwise.eval.tasks import Role
from branchwise.eval.tasks.column import capital
from branchwise.ui.html.figures import Figure
from branchwise.ui.html.forest import ForestSystem, draw_forest
from branchwise.ui.html.published import published_beside, published_notes, published_rows
from branchwise.ui.html.score_tables import headline_family, subset_groups
from branchwise.ui.html.spending import ratio_words
from branchwise.ui.html.summary import told, verdict
from branchwise.ui.html.systems import changes_words, subsets, system_name
from branchwise.ui.html.tables import Cell, Row, Table, interval, subset_words

_NOTES = (
    "Each difference is the system's mean less the base's, over the questions that both have, "
    "with Student's paired 95% interval. p tests for no difference: McNemar's exact test for EM, "
    "else a permutation test; corrected by Holm's method where several systems are compared with "
    "one base.",
)
_WORDS: Mapping[Role | None, str] = {
    "precision": "Precision",
    "recall": "Recall",
    "exact": "Exact match",
}


def change_table(report: StudyReport) -> Table:
    """A row a system, as DeepAmbigQA's Table 5: differences of each metric, subset by subset."""
    chosen, metrics = subsets(report), _metrics(report)
    rows = [_row(report, system, chosen) for system in report.systems[1:]]
    headings = tuple(heading for _, heading in metrics) * len(chosen)
    return Table(
        "Change against the base",
        ("system", *headings, "spending"),
        tuple(rows),
        (("", 1), *subset_groups(report, len(metrics)), ("", 1)),
        notes=(*_NOTES, *total_notes(report)),
    )


def published_changes(report: StudyReport) -> Table | None:
    """What the paper's modules scored, where the benchmark is the same."""
    known = published_beside(report)
    if known is None:
        return None
    both = ["unambiguous", "ambiguous"]
    rows = [
        row for row in published_rows(known, (4, 5), both) if row.heading.text.startswith("GPT-5")
    ]
    return Table(
        "Published: modules of GPT-5",
        ("system", *("P", "R", "EM") * 2),
        tuple(rows),
        (("", 1), ("non-ambiguous", 3), ("ambiguous", 3)),
        notes=published_notes(known),
    )


def change_figures(report: StudyReport) -> list[Figure]:
    """A forest plot for each main metric."""
    return [
        Figure(f"{words}: change against the base", draw_forest(words, systems), table)
        for metric, words in _words(report)
        for systems in [_forest_systems(report, metric)]
        for table in [_metric_table(report, metric, words)]
        if any(one.differences for one in systems)
    ]


def _forest_systems(report: StudyReport, metric: str) -> list[ForestSystem]:
    return [
        ForestSystem(index, system_name(system), tuple(_differences(report, system, metric)))
        for index, system in enumerate(report.systems)
        if index
    ]


def _differences(report: StudyReport, system: SystemReport, metric: str) -> list[Difference]:
    compared = report.comparisons[system.name]
    found = [compared.find(metric, subset) for subset in reversed(subsets(report))]
    return [one for one in found if one.difference is not None]


def _metric_table(report: StudyReport, metric: str, words: str) -> Table:
    rows = [
        Row(
            Cell(system_name(system)),
            (
                Cell(subset_words(one.subset)),
                Cell(signed(one.difference or 0.0), interval(one.low, one.high)),
                Cell(f"{one.higher} / {one.lower} / {one.same}"),
                Cell(_p(one)),
            ),
        )
        for system in report.systems[1:]
        for one in _differences(report, system, metric)
    ]
    columns = ("system", "questions", "change", "higher / lower / same", "test")
    return Table(words, columns, tuple(rows), words=(1,), notes=(*_NOTES, *total_notes(report)))


def _row(report: StudyReport, system: SystemReport, chosen: Sequence[str]) -> Row:
    compared = report.comparisons[system.name]
    cells = [
        _cell(compared.find(metric, subset)) for subset in chosen for metric, _ in _metrics(report)
    ]
    spending = Cell(ratio_words(report, system) or "unknown")
    return Row(Cell(system_name(system), changes_words(system.changes)), (*cells, spending))


def _cell(found: Difference) -> Cell:
    if found.difference is None:
        return Cell("–")
    sign = {"better": " ▲", "worse": " ▼"}.get(verdict(found), "")
    under = f"{interval(found.low, found.high)} {_p(found)}".strip()
    return Cell(signed(found.difference) + sign, under)


def _p(found: Difference) -> str:
    p = found.p if found.p_holm is None else found.p_holm
    return "" if p is None else p_value(p)


def _metrics(report: StudyReport) -> tuple[tuple[str, str], ...]:
    further = tuple((column.key, column.title) for column in report.further)
    return (*headline_family(report).columns, *further)


def _words(report: StudyReport) -> list[tuple[str, str]]:
    """Metric and its word, recall first."""
    own = [(column.key, _WORDS.get(column.role, capital(column.title))) for column in told(report)]
    further = [(column.key, column.title) for column in report.further]
    return [*own, *further]
