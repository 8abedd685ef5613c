"""Conditional answers: strategies by hints, and one property of the questions by another."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from branchwise.eval.breakdowns import groupings_of
from branchwise.eval.grouping import UNKNOWN_PLACE, BinPlace, Grouping
from branchwise.eval.scores import ItemScore, aggregates_of
from branchwise.eval.tasks import Column, totals_of
from branchwise.report.strategies import BY_STRATEGY, strategy
from branchwise.report.study_report import StudyReport, SystemReport
from branchwise.report.tables.table import (
    CellValue,
    Table,
    TableColumn,
    subset_column,
    system_column,
)
from branchwise.runs.studies.names import slugs

_MEANS = "Means over questions; their intervals are with the results."
_ALL: BinPlace = (UNKNOWN_PLACE[0] + 1, "all")
"""Behind every bin."""
_ALL_QUESTIONS = "all questions"

_Cells = Mapping[tuple[BinPlace, BinPlace], Mapping[str, float | None]]
"""Means by metric, of each bin of one property in each bin of another."""


def strategy_tables(report: StudyReport) -> Iterator[Table]:
    """Where systems differ in strategy or hints: a row each strategy of each model, a group of
    columns for each choice of hints."""
    rows: dict[tuple[str, str], dict[str, SystemReport]] = {}
    words = report.task.hint_words
    for system in report.systems if words else ():
        if not set(system.changes) - BY_STRATEGY:
            asked = system.run.system
            row = rows.setdefault((system.model, strategy(asked)), {})
            row.setdefault(asked.asked("hints"), system)
    if sum(map(len, rows.values())) < 2:
        return
    hints = [name for name in words if any(name in found for found in rows.values())]
    metrics = _metrics(report)
    columns = (
        TableColumn("model", "model", "text", is_key=True),
        TableColumn("strategy", "strategy", "text", is_key=True),
        subset_column(),
        *_columns([words[name] for name in hints], metrics),
    )
    cells = tuple(
        (model, named, report.called(subset), *_means(found, hints, metrics, subset))
        for subset in report.subsets
        for (model, named), found in rows.items()
    )
    yield Table(
        "strategies", "Strategies and hints", columns, cells, _notes(metrics), section="scores"
    )


def crossed_tables(report: StudyReport) -> Iterator[Table]:
    """A row for each value of one property of the questions, a group of columns for each value of
    another one, where the task names two."""
    if report.task.crossed is None:
        return
    down, across = (groupings_of(report.task)[name] for name in report.task.crossed)
    metrics = _metrics(report)
    found = {one.name: _crossed(one, down, across, metrics) for one in report.systems}
    places = [place for cells in found.values() for place in cells]
    lines, groups = (sorted({place[n] for place in places}) for n in (0, 1))
    if len(groups) == 2:
        groups.remove(_ALL)
    columns = (
        system_column(),
        TableColumn(down.name, down.words, "text", is_key=True),
        *_columns([f"{across.words}: {label}" for _, label in groups], metrics),
    )
    rows: list[tuple[CellValue, ...]] = [
        (
            name,
            _ALL_QUESTIONS if line == _ALL else line[1],
            *(cells.get((line, at), {}).get(m.key) for at in groups for m in metrics),
        )
        for name, cells in found.items()
        for line in lines
    ]
    title = f"By {down.words} and {across.words}"
    yield Table("crossed", title, columns, tuple(rows), _notes(metrics), section="scores")


def _metrics(report: StudyReport) -> list[Column]:
    """Those of the published tables: the headline but for the exact match."""
    return [one for one in report.task.headline if one.role != "exact"]


def _notes(metrics: Sequence[Column]) -> tuple[str, ...]:
    called = "; ".join(f"{one.short}: {one.name}" for one in metrics if one.short)
    return (_MEANS, called, *(one.note for one in metrics if one.note))


def _columns(groups: Sequence[str], metrics: Sequence[Column]) -> Iterator[TableColumn]:
    for (slug, group), one in product(zip(slugs(groups), groups, strict=True), metrics):
        title = one.short or one.title
        yield TableColumn(f"{slug}_{one.key}", title, one.unit, one.digits, group=group)


def _means(
    found: Mapping[str, SystemReport],
    hints: Sequence[str],
    metrics: Sequence[Column],
    subset: str,
) -> Iterator[float | None]:
    for name, one in product(hints, metrics):
        yield found[name].mean(one.key, subset).mean if name in found else None


def _crossed(
    system: SystemReport, down: Grouping, across: Grouping, metrics: Sequence[Column]
) -> _Cells:
    rows: dict[tuple[BinPlace, BinPlace], list[ItemScore]] = defaultdict(list)
    scores = {(row.id, row.epoch): row for row in system.scores.items}
    for item in system.run.items:
        lines, groups = (one.bins(item) or [UNKNOWN_PLACE] for one in (down, across))
        for place in product({*lines, _ALL}, {*groups, _ALL}):
            rows[place].append(scores[item.key])
    keys, totals = [one.key for one in metrics], totals_of(metrics)
    return {
        place: {key: one.mean for key, one in aggregates_of(own, keys, totals=totals).items()}
        for place, own in rows.items()
    }
