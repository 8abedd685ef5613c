"""What a paper published on the benchmark, below the report's own systems in the same settings.

Never rows among the measured ones: the paper's questions, prompts and means are its own.
"""

import re
from collections.abc import Iterator
from itertools import product

from branchwise.eval.tasks import columns_of
from branchwise.report.figures.lines import BY_PROTOCOL
from branchwise.report.published import Published, PublishedMetric, PublishedTable
from branchwise.report.study_report import StudyReport, SystemReport
from branchwise.report.table import CellValue, Table, TableColumn, subset_column
from branchwise.report.tables.protocols import BY_STRATEGY, strategy

_OWN = (
    "Measured: this report's systems, where they have such a setting. Its base is what it was "
    "compared with, whatever that uses."
)


def published_tables(report: StudyReport) -> Iterator[Table]:
    """A table for each that was published of the report's task; settings are groups of columns."""
    if report.published:
        for table in report.published.tables:
            if table.task == report.task.name:
                yield _laid_out(report, report.published, table)


def _laid_out(report: StudyReport, published: Published, table: PublishedTable) -> Table:
    columns = []
    for setting, name in product(table.settings, table.metrics):
        metric, group = published.metrics[name], setting if len(table.settings) > 1 else ""
        # In a spreadsheet, a key that begins with + would be a formula.
        key = re.sub(r"\W+", "_", f"{group}_{name}").strip("_")
        columns.append(TableColumn(key, metric.title, metric.unit, metric.digits, group=group))
    own = _own_systems(report, table)
    rows: list[tuple[CellValue, ...]] = []
    wanted = list(product(table.settings, table.metrics))
    for subset in table.subsets:
        for row_name, systems in own:
            means: list[float | None] = []
            for setting, name in wanted:
                system = systems.get(setting)
                ours = _nearest(published.metrics[name], system) if system else None
                means.append(system.mean(ours, subset).mean if system and ours else None)
            if any(mean is not None for mean in means):
                rows.append(("measured", row_name, report.called(subset), *means))
        for row_name, scores in table.rows.items():
            cells = (scores[setting][subset][metric] for setting, metric in wanted)
            rows.append(("published", row_name, report.called(subset), *cells))
    measured = any(row[0] == "measured" for row in rows)
    keys = (
        TableColumn("origin", "origin", "text", printed=measured, is_key=True),
        TableColumn("system", table.row, "text", is_key=True),
        subset_column(),
    )
    notes = [*_notes(report, published, table), *([_OWN] if measured else ()), *published.notes]
    title, name = f"Published ({published.benchmark}): {table.title}", f"published-{table.name}"
    return Table(name, title, (*keys, *columns), tuple(rows), tuple(notes), section="scores")


def _own_systems(
    report: StudyReport, table: PublishedTable
) -> list[tuple[str, dict[str, SystemReport]]]:
    """What a row is called, its systems by published setting; a setting once in a row."""
    rows: list[tuple[str, dict[str, SystemReport]]] = []
    for system in report.systems:
        if setting := _setting_of(system, table):
            asked = system.run.system
            shots, name = asked.asked("shots"), system.model
            if table.settings[setting].hints is not None:
                name = f"{strategy(asked)}, {system.model}"
            elif shots:
                name = f"{shots}-shot, {system.model}"
            free = (row for named, row in rows if named == name and setting not in row)
            if (row := next(free, None)) is None:
                rows.append((name, row := {}))
            row[setting] = system
    return rows


def _setting_of(system: SystemReport, table: PublishedTable) -> str | None:
    """The published setting that a system is in; of protocols and hints it is known what answered,
    and the system differs from its base in nothing else."""
    asked, changes = system.run.system, set(system.changes)
    for name, setting in table.settings.items():
        is_same = system.setting == (setting.ours or name)
        if setting.protocol is not None:
            is_same = not changes - BY_PROTOCOL and asked.asked("protocol") == setting.protocol
        elif setting.hints is not None:
            is_same = not changes - BY_STRATEGY and asked.asked("hints") == setting.hints
        is_plain = setting.protocol is None and setting.hints is None
        if is_same and (is_plain or system.model):
            return name
    return None


def _nearest(metric: PublishedMetric, system: SystemReport) -> str | None:
    """The column that the system was scored by, and the metric is nearest to."""
    scored = {key for means in system.scores.aggregates.values() for key in means}
    return next((key for key in metric.ours if key in scored), None)


def _notes(report: StudyReport, published: Published, table: PublishedTable) -> Iterator[str]:
    """Whose numbers they are, and which of the report's columns they are nearest to."""
    places: dict[str, list[str]] = {}
    for name, setting in table.settings.items():
        places.setdefault(setting.place, []).append(name)
    where = "; ".join(f"{', '.join(names)}: its {place}" for place, names in places.items())
    yield f"Published: the numbers of {published.paper} ({where}); none was measured here."
    columns = {**columns_of(table.task), **{column.key: column for column in report.columns}}
    base = report.systems[0]
    ours = (_nearest(published.metrics[name], base) for name in table.metrics)
    if titles := dict.fromkeys(columns[key].title for key in ours if key):
        yield f"To be read beside {', '.join(titles)} ({base.scores.scorer.matcher})."
