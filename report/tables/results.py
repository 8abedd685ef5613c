"""The compared systems, and the main results."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from branchwise.eval.items import gold_set_note
from branchwise.eval.scores import Scorer, Scores, of_subset, question_deviation, told_subsets
from branchwise.eval.tasks import Column as Metric
from branchwise.eval.tasks import Task
from branchwise.report.study_report import StudyReport, SystemReport
from branchwise.report.table import (
    OF_INTERVALS,
    CellValue,
    Table,
    TableColumn,
    subset_column,
    system_column,
)
from branchwise.runs.studies.study import flat

_INTERVAL = f"{OF_INTERVALS}: 95% bootstrap interval, questions being drawn."
_DEVIATION = "SD: standard deviation over questions."


def systems_table(report: StudyReport) -> Table:
    """Each system's settings, its scorer, and how its items ended."""
    counts = [system.scores.counts for system in report.systems]
    columns = (
        system_column(),
        TableColumn("changes", "changes of the base", "text"),
        TableColumn("model", "model", "text"),
        TableColumn("scored_by", "scored by", "text"),
        TableColumn("items", "items", "count"),
        TableColumn("answered", "answered", "count"),
        TableColumn("failed", "failed", "count"),
        TableColumn("format_errors", "format errors", "count"),
        TableColumn("cut", "cut", "count", printed=any(one.cut for one in counts)),
        TableColumn(
            "interrupted", "interrupted", "count", printed=any(one.interrupted for one in counts)
        ),
        TableColumn("missing", "without a prediction", "count", printed=False),
        TableColumn("pending", "not ended", "count"),
        TableColumn("did_nothing", "did nothing", "text", printed=False),
    )
    rows = tuple(_system_row(system) for system in report.systems)
    note = "An item is a question in one epoch. Failed ones count 0; those not ended, nowhere."
    notes = (note, *alternatives_notes(report), *evidence_notes(report), *left_out_notes(report))
    notes += tuple(
        f"{system.name}: {one.words}."
        for system in report.systems
        for one in system.run.inert.values()
    )
    return Table("systems", "Systems", columns, rows, notes, section="summary")


def alternatives_notes(report: StudyReport) -> list[str]:
    """How many questions have alternative gold answers, and how one of them is chosen."""
    ids = {
        item.id: item.gold_set is not None
        for system in report.systems
        for item in system.scores.items
    }
    several = sum(ids.values())
    return [gold_set_note(report.task, several, len(ids))] if several else []


def evidence_notes(report: StudyReport) -> list[str]:
    """What the systems searched, where their questions bring no passages."""
    found = {one.name: one.run.evidence for one in report.systems if one.run.evidence is not None}
    if len(set(found.values())) == 1 and len(found) == len(report.systems):
        return [f"evidence: {next(iter(found.values()))}"]
    return [f"evidence of {name}: {words}" for name, words in found.items()]


def left_out_notes(report: StudyReport) -> list[str]:
    """A line for each optional field that a system's requests lacked, and for odd replies."""
    several = len(report.systems) > 1
    return [
        f"{system.name}: {words}" if several else words
        for system in report.systems
        for words in system.run.told_of_calls
    ]


def results_tables(report: StudyReport) -> list[Table]:
    """Means of every metric by system and subset: a table for each group of the task's columns.

    A metric that no system has a value for is left out.
    """
    groups: dict[str, list[Metric]] = {}
    for metric in report.columns:
        if any(s.mean(metric.key, "all").n for _, s in _scored(report)):
            groups.setdefault(metric.table, []).append(metric)
    named = zip(("results", *map(_slug, [*groups][1:])), groups.items(), strict=False)
    return [_results(report, name, title, metrics) for name, (title, metrics) in named]


def scores_table(scores: Scores) -> Table:
    """The headline metrics of one system, a row for each subset of the questions."""
    task = scores.scorer.scored_task
    metrics = [one for one in scores.scorer.columns if one.role is not None]
    columns = (
        subset_column(),
        TableColumn("n", "n", "count"),
        *(column for one in metrics for column in _columns(one, task)),
    )
    subsets = told_subsets(lambda subset: scores.questions(subset) > 0)
    rows = tuple(
        (task.subset_words[subset], *_values(scores, subset, metrics)) for subset in subsets
    )
    return Table("scores", "Scores", columns, rows, (_INTERVAL,))


def scored_by(scorer: Scorer) -> str:
    """What aligned branches and accepted answers."""
    model = f" ({scorer.model})" if scorer.model else ""
    judge = f", answers judged by {scorer.judge}" if scorer.judge else ""
    return f"{scorer.matcher}{model}{judge}"


def _system_row(system: SystemReport) -> tuple[CellValue, ...]:
    counts = system.scores.counts
    models = dict.fromkeys(role.model for role in system.run.costs.roles)
    return (
        system.name,
        changes_words(system.changes) or None,
        ", ".join(models) or None,
        scored_by(system.scores.scorer),
        counts.items,
        counts.answered,
        counts.failed,
        counts.format_errors,
        counts.cut,
        counts.interrupted,
        counts.missing,
        counts.pending,
        "; ".join(f"{one.what}: {one.how}" for one in system.run.inert.values()) or None,
    )


def changes_words(changes: Mapping[str, Any]) -> str:
    """ "expansion: on, k: 15"."""
    return ", ".join(f"{key}: {_value(value)}" for key, value in changes.items())


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list | tuple):
        return " + ".join(map(_value, value)) or "none"
    if isinstance(value, Mapping):
        return flat(value) or "none"
    return "default" if value is None else str(value)


def _results(report: StudyReport, name: str, title: str, metrics: Sequence[Metric]) -> Table:
    scored = list(_scored(report))
    several = len({scored_by(scores.scorer) for _, scores in scored}) > 1
    columns = (
        system_column(),
        TableColumn("scored_by", "scored by", "text", printed=several),
        subset_column(),
        TableColumn("n", "n", "count"),
        *(column for one in metrics for column in _columns(one, report.task)),
    )
    rows = tuple(
        (name, scored_by(scores.scorer), report.called(subset), *_values(scores, subset, metrics))
        for subset in report.subsets
        for name, scores in scored
    )
    notes = [metric.note for metric in metrics if metric.note]
    if any(_has_deviation(metric, report.task) for metric in metrics):
        notes.append(_DEVIATION)
    named = f"Results: {title}"
    return Table(name, named, columns, rows, (_INTERVAL, *notes), section="scores")


def _scored(report: StudyReport) -> Iterator[tuple[str, Scores]]:
    """Systems with their scores, twice where both matchers were asked for."""
    for system in report.systems:
        if system.run.lexical:
            yield system.name, system.run.lexical
        yield system.name, system.scores


def _values(scores: Scores, subset: str, metrics: Sequence[Metric]) -> Iterator[CellValue]:
    yield scores.questions(subset)
    for metric in metrics:
        yield from _cells(scores, subset, metric)


def _has_deviation(metric: Metric, task: Task) -> bool:
    return task.tells_deviation and metric.role is not None


def _columns(metric: Metric, task: Task) -> Iterator[TableColumn]:
    yield TableColumn(metric.key, metric.title, metric.unit, metric.digits, heading=metric.heading)
    if _has_deviation(metric, task):
        yield TableColumn(f"{metric.key}_sd", "SD", "value", metric.digits)


def _cells(scores: Scores, subset: str, metric: Metric) -> Iterator[CellValue]:
    yield scores.mean(metric.key, subset)
    if _has_deviation(metric, scores.scorer.scored_task):
        yield question_deviation(of_subset(scores.items, subset), metric.key)


def _slug(title: str) -> str:
    words = title.replace("'s ", " ").lower()
    return "results-" + "-".join(
        "".join(c if c.isascii() and c.isalnum() else " " for c in words).split()
    )
