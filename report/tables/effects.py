"""Main effects and interactions of a factorial study."""

from collections.abc import Iterator

from branchwise.base.text import counted
from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.effects import MOST_FACTORS, ChangeNames, Effect, factors_of, unknown_effects
from branchwise.report.study_report import StudyReport
from branchwise.report.table import (
    OF_INTERVALS,
    CellValue,
    Table,
    TableColumn,
    subset_column,
)
from branchwise.report.tables.changes import change_columns

_NOTES = (
    "Effect of a change: the mean difference to the base's level, over the other factors' levels. "
    "Of changes joined by ×: how much larger the effect of the one is beside the other "
    "(the whole difference of differences).",
    f"{OF_INTERVALS}: Student's 95% interval of the contrast within questions.",
    "p: permutation test of that contrast, corrected by Holm's method over all effects.",
)
_ORDERS = ("main", "two factors", "three factors")


def effect_tables(report: StudyReport) -> Iterator[Table]:
    """One table, where the study is factorial."""
    if report.effects:
        yield effects_table(report)


def effects_table(report: StudyReport) -> Table:
    """The headline metrics side by side: each effect with its interval, then p after Holm."""
    metrics = [metric for metric in report.compared if not metric.total]
    several = any(effect.group for effect in report.effects)
    columns = (
        *([TableColumn("model", "model", "text", is_key=True)] if several else []),
        TableColumn("effect", "effect", "text", is_key=True),
        subset_column(),
        TableColumn("of", "of", "text", printed=False),
        TableColumn("n", "n", "count"),
        *change_columns(metrics),
    )
    grouped: dict[tuple[str, str, ChangeNames], list[Effect]] = {}
    for effect in report.effects:
        grouped.setdefault((effect.subset, effect.group, effect.changes), []).append(effect)
    rows: list[tuple[CellValue, ...]] = []
    for (subset, model, changes), own in grouped.items():
        cells: list[CellValue] = [own[0].name, report.called(subset)]
        cells += [_ORDERS[len(changes) - 1], max(effect.n for effect in own)]
        for effect in own:
            cells.append(Aggregate(effect.difference, effect.n, effect.low, effect.high))
            cells.append(effect.p_holm)
        rows.append((*([model] if several else []), *cells))
    notes = (*_NOTES, *gaps(report))
    return Table(
        "effects", "Effects of the factors", columns, tuple(rows), notes, section="changes"
    )


def gaps(report: StudyReport) -> Iterator[str]:
    """What the effects do without: factors' levels, combinations, questions, metrics."""
    if not report.effects:
        return
    factors = factors_of([system.levels for system in report.systems])
    if many := [factor for factor, own in factors.items() if len(own) > 1]:
        yield f"Each level of {', '.join(many)} is compared with the base's level."
    if len(factors) > MOST_FACTORS:
        yield f"Interactions of more than {MOST_FACTORS} factors are not estimated."
    groups = {
        effect.group: [own.levels for own in report.systems if effect.group in ("", own.model)]
        for effect in report.effects
    }
    unknown = {
        " × ".join(changes): None for own in groups.values() for changes in unknown_effects(own)
    }
    if unknown:
        yield f"Unknown, since combinations are left out, and taken as 0: {', '.join(unknown)}."
    left_out: dict[int, dict[str, None]] = {}
    for effect in report.effects:
        left_out.setdefault(effect.left_out, {})[effect.metric] = None
    if most := max(left_out):
        of = "" if len(left_out) == 1 else f" of {', '.join(left_out[most])}"
        yield f"Left out: {counted(most, 'question')} without a score{of} in some system."
    if totals := [metric.title for metric in report.compared if metric.total]:
        yield f"Not of {', '.join(totals)}, which is no mean over questions."
