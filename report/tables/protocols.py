"""Answers in free text: protocols beside each other, bands of scores, scores by conditions."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping

from branchwise.eval.scores import aggregates_of, question_means
from branchwise.eval.tasks import totals_of
from branchwise.report.figures.protocols import protocol_means
from branchwise.report.study_report import StudyReport, SystemReport
from branchwise.report.tables.table import CellValue, Table, TableColumn, system_column

BY_CONDITIONS = "conditions"
"""What `--by` calls the number of gold conditions."""
_EDGES = (0.20, 0.35, 0.50)
_BANDS = ("below .20", ".20 to .35", ".35 to .50", ".50 and above")
_FOR_EXAMPLE = "examples"
_EXAMPLES = 3
_MAX_ID = 40
SENTENCES = "Answers are sentences: it cannot be told where one was lost."


def protocol_tables(report: StudyReport) -> Iterator[Table]:
    """Nothing for tasks whose answers are not graded."""
    if report.task.is_graded:
        yield _protocols(report)
        yield _bands(report)
        yield by_conditions_table(report)


def comparison_tables(report: StudyReport) -> Iterator[Table]:
    """Protocols and bands, without what is too wide for a terminal."""
    for table in protocol_tables(report):
        if table.name in ("protocols", "bands") and table.rows:
            keys = [column.key for column in table.columns if column.key != _FOR_EXAMPLE]
            yield table.with_columns(keys)


def _protocols(report: StudyReport) -> Table:
    main, found = report.task.main, protocol_means(report)
    protocols = report.task.protocol_words
    columns = (
        TableColumn("model", "model", "text", is_key=True),
        *(TableColumn(name, words, main.unit) for name, words in protocols.items()),
    )
    rows = tuple((model, *(means.get(name) for name in protocols)) for model, means in found)
    notes = ("Over all questions, with 95% bootstrap intervals.",)
    title = f"What conditions are worth: {main.title}"
    return Table("protocols", title, columns, rows, notes, section="scores")


def _bands(report: StudyReport) -> Table:
    """How many questions score so much, and the first of them."""
    columns = (
        system_column(),
        TableColumn("metric", "metric", "text", is_key=True),
        TableColumn("band", "band", "text", is_key=True),
        TableColumn("n", "n", "count"),
        TableColumn(_FOR_EXAMPLE, "for example", "text"),
    )
    rows: list[tuple[CellValue, ...]] = []
    for system in report.systems:
        for metric in report.task.headline:
            banded = _banded(system, metric.key)
            for band, ids in zip(_BANDS, banded, strict=True) if any(banded) else ():
                examples = ", ".join(id[:_MAX_ID] for id in ids[:_EXAMPLES])
                rows.append((system.name, metric.title, band, len(ids), examples or None))
    notes = ("Questions by their score; a band begins with its lower end.", SENTENCES)
    return Table("bands", "Bands of scores", columns, tuple(rows), notes, section="scores")


def _banded(system: SystemReport, metric: str) -> list[list[str]]:
    """The ids of the scored questions of each band."""
    rows = system.scores.items
    found: list[list[str]] = [[] for _ in _BANDS]
    ids = dict.fromkeys(row.id for row in rows)
    for id, mean in zip(ids, question_means(rows, metric), strict=True):
        if mean is not None:
            found[bisect_right(_EDGES, mean)].append(id)
    return found


def by_conditions_table(report: StudyReport) -> Table:
    """The headline metrics by the number of gold conditions."""
    metrics = report.task.headline
    columns = (
        system_column(),
        TableColumn("conditions", "gold conditions", "text", is_key=True),
        TableColumn("n", "n", "count"),
        *(TableColumn(one.key, one.title, one.unit, one.digits) for one in metrics),
    )
    rows: list[tuple[CellValue, ...]] = []
    totals = totals_of(metrics)
    for system in report.systems:
        sizes = _conditions(system)
        groups = defaultdict(list)
        for row in system.scores.items:
            if row.id in sizes:
                groups[sizes[row.id]].append(row)
        for size, found in sorted(groups.items()):
            means = aggregates_of(found, [one.key for one in metrics], totals=totals)
            n = len({row.id for row in found})
            rows.append((system.name, str(size), n, *means.values()))
    return Table("by-conditions", "By gold conditions", columns, tuple(rows))


def _conditions(system: SystemReport) -> Mapping[str, int]:
    return {item.question.id: len(item.question.branches) for item in system.run.settled.items}
