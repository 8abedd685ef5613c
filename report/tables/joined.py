"""Several question sets together: a row a set, all questions, and the mean over sets."""

from collections.abc import Iterator, Sequence

from branchwise.report.joined import JoinedReport
from branchwise.report.table import (
    OF_INTERVALS,
    CellValue,
    Table,
    TableColumn,
    subset_column,
    system_column,
)
from branchwise.report.tables.changes import HOLM, change_cells, change_columns

ALL_QUESTIONS, MEAN_OF_SETS = "all questions", "mean over sets"
_NOTES = (
    "All questions: each counts once, whatever its set. Mean over sets: each set counts once.",
    f"{OF_INTERVALS}: 95% bootstrap interval, questions being drawn.",
)
_CHANGE_NOTES = (
    "A difference is the system's mean less the base's, over the questions of all sets that both "
    "have.",
    f"{OF_INTERVALS}: paired 95% interval, stratified by set.",
    "p: exact McNemar test for EM, else a permutation test within each question's pair.",
)


def joined_tables(report: JoinedReport) -> Sequence[Table]:
    """Scores, and changes where systems are compared; nothing where the sets share no metric."""
    return [*_tables(report)] if report.systems else []


def _tables(report: JoinedReport) -> Iterator[Table]:
    metrics = report.metrics
    values = (TableColumn(m.key, m.title, m.unit, m.digits, heading=m.heading) for m in metrics)
    columns = (system_column(), subset_column(), TableColumn("n", "n", "count"), *values)
    rows: list[tuple[CellValue, ...]] = []
    for key in (*report.sets, ALL_QUESTIONS, MEAN_OF_SETS):
        for name, system in report.systems.items():
            if key == MEAN_OF_SETS:
                rows.append((name, key, None, *(system.mean_of_sets(m.key) for m in metrics)))
                continue
            scores = system.scores if key == ALL_QUESTIONS else system.by_set[key]
            means = (scores.mean(m.key, "all") for m in metrics)
            rows.append((name, key, scores.questions("all"), *means))
    notes = (*_NOTES, *(metric.note for metric in metrics if metric.note))
    title = f"{len(report.sets)} question sets together"
    yield Table("together", title, columns, tuple(rows), notes, section="scores")
    if not report.comparisons:
        return
    columns = (system_column(), TableColumn("n", "n", "count"), *change_columns(metrics))
    rows = [
        (name, *change_cells([compared.find(metric.key) for metric in metrics]))
        for name, compared in report.comparisons.items()
    ]
    bases = [report.bases[name] for name in report.comparisons]
    against = bases[0] if len(set(bases)) == 1 else "the base of the same model"
    cautions = (f"{n}: {text}." for n, of in report.comparisons.items() for text in of.cautions)
    notes = (*_CHANGE_NOTES, *([HOLM] if len(rows) > 1 else []), *cautions)
    title = f"Changes against {against}, over all questions"
    yield Table("together-changes", title, columns, tuple(rows), notes, section="changes")
