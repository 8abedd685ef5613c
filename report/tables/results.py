"""The compared systems, and the main results."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from branchwise.base.plugins.specs import is_plugin, short_spec
from branchwise.eval.items import gold_set_note
from branchwise.eval.plugin_metrics import TABLE as FURTHER
from branchwise.eval.scores import Scorer, Scores, of_subset, question_deviation, told_subsets
from branchwise.eval.tasks import Column as Metric
from branchwise.eval.tasks import Task
from branchwise.report.run_folders import flat_settings
from branchwise.report.study_report import StudyReport
from branchwise.report.table import (
    OF_INTERVALS,
    CellValue,
    Table,
    TableColumn,
    count_columns,
    subset_column,
    system_column,
)
from branchwise.runs.studies.names import in_short
from branchwise.runs.studies.study import MODELS, WORDS, flat

_INTERVAL = f"{OF_INTERVALS}: 95% bootstrap interval, questions being drawn."
_DEVIATION = "SD: standard deviation over questions."


def systems_table(report: StudyReport) -> Table:
    """Each system's settings, its scorer, and how its items ended."""
    counts = [system.scores.counts for system in report.systems]
    is_cut, is_interrupted = any(c.cut for c in counts), any(c.interrupted for c in counts)
    ends = (
        *count_columns(items="items", answered="answered", failed="failed"),
        *count_columns(format_errors="format errors"),
        TableColumn("cut", "cut", "count", printed=is_cut),
        TableColumn("interrupted", "interrupted", "count", printed=is_interrupted),
        TableColumn("missing", "without a prediction", "count", printed=False),
        TableColumn("pending", "not ended", "count"),
    )
    resent = [sum(k.total() for k in s.run.modules.resent.values()) for s in report.systems]
    columns = (
        system_column(),
        TableColumn("changes", "settings", "text"),
        TableColumn("model", "model", "text"),
        TableColumn("scored_by", "scored by", "text"),
        *ends,
        TableColumn("sent_again", "sent again", "count", printed=any(resent)),
        TableColumn("did_nothing", "did nothing", "text", printed=False),
    )
    rows: list[tuple[CellValue, ...]] = []
    for system, changes, again in zip(report.systems, _changes(report), resent, strict=True):
        models = dict.fromkeys(role.model for role in system.run.costs.roles)
        inert = "; ".join(f"{part.name}: {part.how}" for part in system.run.inert.values())
        rows.append(
            (
                system.name,
                changes,
                ", ".join(models) or None,
                scored_by(system.scores.scorer),
                *(getattr(system.scores.counts, column.key) for column in ends),
                again,
                inert or None,
            )
        )
    notes = ["An item is a question in one epoch. Failed ones count 0; those not ended, nowhere."]
    if any(system.changes for system in report.systems):
        notes.append("Settings: of a base those that vary, of others what they change.")
    notes += [*alternatives_notes(report), *evidence_notes(report)]
    # A line for each optional field that a system's requests lacked, and for odd replies.
    for system in report.systems:
        before = f"{system.name}: " if len(report.systems) > 1 else ""
        notes += [f"{before}{words}" for words in system.run.notes_on_calls]
    for system in report.systems:
        notes += [f"{system.name}: {part.words}." for part in system.run.inert.values()]
    return Table("systems", "Systems", columns, tuple(rows), tuple(notes), section="summary")


def _changes(report: StudyReport) -> Iterator[str | None]:
    """Of a base its own values of the settings that vary, of others their changes, in words."""
    every = [dict(flat_settings(s.run.system.model_dump(mode="json"))) for s in report.systems]
    varied = dict.fromkeys(key for system in report.systems for key in system.changes)
    for system, own in zip(report.systems, every, strict=True):
        is_base = system.base == system.name
        values = {key: own.get(key) for key in varied} if is_base else system.changes
        words = []
        for key, value in values.items():
            word, text = WORDS.get(key, key), _setting(value)
            if word in MODELS and value is not None:
                levels = {str(value), *(str(settings.get(key)) for settings in every)}
                text = in_short(word, str(value), [*levels])
            words.append(f"{word}: {text}")
        yield ", ".join(words) or None


def _setting(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list | tuple):
        return " + ".join(map(_setting, value)) or "none"
    if isinstance(value, Mapping):
        return flat(value) or "none"
    if value is None:
        return "default"
    # Plug-ins and files by their names: whoever reads a table has no such folders.
    text = str(value)
    return short_spec(text) if is_plugin(text) else Path(text).name if text[:1] == "/" else text


def alternatives_notes(report: StudyReport) -> list[str]:
    """How many questions have alternative gold answers, and how one of them is chosen."""
    items = (item for system in report.systems for item in system.scores.items)
    ids = {item.id: item.gold_set is not None for item in items}
    several = sum(ids.values())
    return [gold_set_note(report.task, several, len(ids))] if several else []


def evidence_notes(report: StudyReport) -> list[str]:
    """What the systems searched, where their questions bring no passages."""
    runs = {system.name: system.run for system in report.systems}
    searched = {n: run.evidence for n, run in runs.items() if run.evidence is not None}
    if len(set(searched.values())) == 1 and len(searched) == len(report.systems):
        return [f"evidence: {next(iter(searched.values()))}"]
    return [f"evidence of {name}: {words}" for name, words in searched.items()]


def results_tables(report: StudyReport) -> list[Table]:
    """Means by system and subset: a table for each group of the task's columns, of metrics that
    any system has. Systems are there twice where both matchers were asked for."""
    scored: list[tuple[str, Scores]] = []
    for system in report.systems:
        scored += [(system.name, system.run.lexical)] if system.run.lexical else []
        scored.append((system.name, system.scores))
    groups: dict[str, list[Metric]] = {}
    for metric in report.columns:
        measured = (s.mean(metric.key, "all").n or metric.key in s.failures for _, s in scored)
        if any(measured):
            groups.setdefault(metric.table, []).append(metric)
    tables: list[Table] = []
    for title, metrics in groups.items():
        words = re.sub(r"[^a-z0-9]+", "-", title.replace("'s ", " ").lower()).strip("-")
        name = f"results-{words}" if tables else "results"
        tables.append(_results(report, name, f"Results: {title}", metrics, scored))
    return tables


def _results(
    report: StudyReport,
    name: str,
    title: str,
    metrics: Sequence[Metric],
    scored: Sequence[tuple[str, Scores]],
) -> Table:
    several = len({scored_by(scores.scorer) for _, scores in scored}) > 1
    columns = (
        system_column(),
        TableColumn("scored_by", "scored by", "text", printed=several),
        subset_column(),
        TableColumn("n", "n", "count"),
        *(column for metric in metrics for column in _columns(metric, report.task)),
    )
    rows = tuple(
        (system, scored_by(scores.scorer), report.called(subset), *_values(scores, subset, metrics))
        for subset in report.subsets
        for system, scores in scored
    )
    notes = [_INTERVAL, *(metric.note for metric in metrics if metric.note)]
    if any(_has_deviation(metric, report.task) for metric in metrics):
        notes.append(_DEVIATION)
    if metrics[0].table == FURTHER:
        notes += report.metric_failures
    return Table(name, title, columns, rows, tuple(notes), section="scores")


def scores_table(scores: Scores) -> Table:
    """The headline metrics of one system and those of plug-ins, a row for each subset of the
    questions."""
    task = scores.scorer.scored_task
    metrics = shown_metrics(scores.scorer)
    columns = (
        subset_column(),
        TableColumn("n", "n", "count"),
        *(column for metric in metrics for column in _columns(metric, task)),
    )
    subsets = told_subsets(lambda subset: scores.questions(subset) > 0)
    rows = tuple(
        (task.subset_words[subset], *_values(scores, subset, metrics)) for subset in subsets
    )
    notes = (_INTERVAL, *scores.failures.lines)
    return Table("scores", "Scores", columns, rows, notes)


def shown_metrics(scorer: Scorer) -> list[Metric]:
    """The task's headline metrics, then those of plug-ins."""
    return [column for column in scorer.columns if column.role or column.table == FURTHER]


def scored_by(scorer: Scorer) -> str:
    """What aligned branches and accepted answers."""
    model = f" ({scorer.model})" if scorer.model else ""
    judge = f", answers judged by {scorer.judge}" if scorer.judge else ""
    return f"{scorer.matcher}{model}{judge}"


def _has_deviation(metric: Metric, task: Task) -> bool:
    return task.tells_deviation and metric.role is not None


def _columns(metric: Metric, task: Task) -> Iterator[TableColumn]:
    yield TableColumn(metric.key, metric.title, metric.unit, metric.digits, heading=metric.heading)
    if _has_deviation(metric, task):
        yield TableColumn(f"{metric.key}_sd", "SD", "value", metric.digits)


def _values(scores: Scores, subset: str, metrics: Sequence[Metric]) -> Iterator[CellValue]:
    yield scores.questions(subset)
    for metric in metrics:
        yield scores.mean(metric.key, subset)
        if _has_deviation(metric, scores.scorer.scored_task):
            yield question_deviation(of_subset(scores.items, subset), metric.key)
