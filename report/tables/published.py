"""What a paper published on the benchmark, below the report's own systems in the same settings."""

import re
from collections.abc import Iterator
from itertools import product

from branchwise.eval.tasks import columns_of
from branchwise.report.figures.lines import BY_PROTOCOL
from branchwise.report.published import Published, PublishedMetric, PublishedSetting, PublishedTable
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


def _laid_out(report: StudyReport, found: Published, table: PublishedTable) -> Table:
    own = _own_systems(report, table)
    rows: list[tuple[CellValue, ...]] = []
    for subset in table.subsets:
        for model, systems in own:
            means = [*_measured(systems, found, table, subset)]
            if any(mean is not None for mean in means):
                rows.append(("measured", model, report.called(subset), *means))
        for name, scores in table.rows.items():
            places = product(table.settings, table.metrics)
            cells = (scores[setting][subset][metric] for setting, metric in places)
            rows.append(("published", name, report.called(subset), *cells))
    measured = any(row[0] == "measured" for row in rows)
    columns = (
        TableColumn("origin", "origin", "text", printed=measured, is_key=True),
        TableColumn("system", table.row, "text", is_key=True),
        subset_column(),
        *_columns(found, table),
    )
    notes = (*_notes(report, found, table), *([_OWN] if measured else ()), *found.notes)
    title, name = f"Published ({found.benchmark}): {table.title}", f"published-{table.name}"
    return Table(name, title, columns, tuple(rows), notes, section="scores")


def _columns(found: Published, table: PublishedTable) -> Iterator[TableColumn]:
    for setting, name in product(table.settings, table.metrics):
        one, group = found.metrics[name], setting if len(table.settings) > 1 else ""
        # In a spreadsheet, a key that begins with + would be a formula.
        key = re.sub(r"\W+", "_", f"{group}_{name}").strip("_")
        yield TableColumn(key, one.title, one.unit, one.digits, group=group)


def _own_systems(
    report: StudyReport, table: PublishedTable
) -> list[tuple[str, dict[str, SystemReport]]]:
    """What a row is called, its systems by published setting; one of the same row and setting again
    is in a further row."""
    found: list[tuple[str, dict[str, SystemReport]]] = []
    for system in report.systems:
        if setting := _setting_of(system, table):
            name = _row_name(system, table.settings[setting])
            rows = (row for named, row in found if named == name and setting not in row)
            if (row := next(rows, None)) is None:
                found.append((name, row := {}))
            row[setting] = system
    return found


def _row_name(system: SystemReport, setting: PublishedSetting) -> str:
    asked = system.run.system
    if setting.hints is not None:
        return f"{strategy(asked)}, {system.model}"
    shots = asked.asked("shots")
    return f"{shots}-shot, {system.model}" if shots else system.model


def _setting_of(system: SystemReport, table: PublishedTable) -> str | None:
    asked = system.run.system
    for name, setting in table.settings.items():
        if setting.protocol is not None:
            is_it = _is_known(system, BY_PROTOCOL) and asked.asked("protocol") == setting.protocol
        elif setting.hints is not None:
            is_it = _is_known(system, BY_STRATEGY) and asked.asked("hints") == setting.hints
        else:
            is_it = system.setting == (setting.ours or name)
        if is_it:
            return name
    return None


def _is_known(system: SystemReport, varied: frozenset[str]) -> bool:
    """Whether it is known what answered, and it differs from its base in nothing else."""
    return bool(system.model) and not set(system.changes) - varied


def _measured(
    systems: dict[str, SystemReport], found: Published, table: PublishedTable, subset: str
) -> Iterator[float | None]:
    """The nearest of the report's own metrics; None where it has no such system or metric."""
    for setting, name in product(table.settings, table.metrics):
        system = systems.get(setting)
        ours = next(_nearest(found.metrics[name], system), None) if system else None
        yield system.mean(ours, subset).mean if system and ours else None


def _nearest(metric: PublishedMetric, system: SystemReport) -> Iterator[str]:
    """The keys of the columns that the system was scored by, and the metric is nearest to."""
    scored = {key for means in system.scores.aggregates.values() for key in means}
    return (key for key in metric.ours if key in scored)


def _notes(report: StudyReport, found: Published, table: PublishedTable) -> Iterator[str]:
    """Whose numbers they are, and which of the report's columns they are nearest to."""
    places: dict[str, list[str]] = {}
    for name, setting in table.settings.items():
        places.setdefault(setting.place, []).append(name)
    where = "; ".join(f"{', '.join(names)}: its {place}" for place, names in places.items())
    yield f"Published: the numbers of {found.paper} ({where}); none was measured here."
    columns = {**columns_of(table.task), **{one.key: one for one in report.columns}}
    base = report.systems[0]
    ours = (next(_nearest(found.metrics[name], base), None) for name in table.metrics)
    if titles := [columns[key].title for key in ours if key]:
        yield f"To be read beside {', '.join(titles)} ({base.scores.scorer.matcher})."
