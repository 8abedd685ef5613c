"""Tables of tasks that systems ask in several ways: protocols, strategies and hints, conditions."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from branchwise.eval.breakdowns import groupings_of
from branchwise.eval.grouping import UNKNOWN_PLACE, BinPlace, Grouping
from branchwise.eval.scores import ItemScore, aggregates_of, question_means
from branchwise.eval.tasks import Column, totals_of
from branchwise.graphs.system import System
from branchwise.report.figures.lines import protocol_means
from branchwise.report.study_report import StudyReport, SystemReport
from branchwise.report.table import (
    METRIC,
    CellValue,
    Table,
    TableColumn,
    subset_column,
    system_column,
)
from branchwise.runs.studies.names import slugs

BY_CONDITIONS = "conditions"
"""What `--by` calls the number of gold conditions."""
BY_STRATEGY = frozenset({"shots", "reasoning", "hints"})
"""What systems may differ in that are compared by strategy and hints."""
_EDGES = (0.20, 0.35, 0.50)
_BANDS = ("below .20", ".20 to .35", ".35 to .50", ".50 and above")
_FOR_EXAMPLE = "examples"
_EXAMPLES, _MAX_ID = 3, 40
SENTENCES = "Answers are sentences: it cannot be told where one was lost."


def protocol_tables(report: StudyReport) -> Iterator[Table]:
    """Protocols, bands of scores, and scores by conditions, where answers are graded."""
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
    main, protocols = report.task.main, report.task.protocol_words
    columns = (
        TableColumn("model", "model", "text", is_key=True),
        *(TableColumn(name, words, main.unit) for name, words in protocols.items()),
    )
    by_model = protocol_means(report)
    rows = tuple((model, *(means.get(name) for name in protocols)) for model, means in by_model)
    notes = ("Over all questions, with 95% bootstrap intervals.",)
    title = f"What conditions are worth: {main.title}"
    return Table("protocols", title, columns, rows, notes, section="scores")


def _bands(report: StudyReport) -> Table:
    columns = (
        system_column(),
        TableColumn(METRIC, "metric", "text", is_key=True),
        TableColumn("band", "band", "text", is_key=True),
        TableColumn("n", "n", "count"),
        TableColumn(_FOR_EXAMPLE, "for example", "text"),
    )
    rows: list[tuple[CellValue, ...]] = []
    for system, metric in product(report.systems, report.task.headline):
        items = system.scores.items
        banded: list[list[str]] = [[] for _ in _BANDS]
        ids = dict.fromkeys(row.id for row in items)
        for id, mean in zip(ids, question_means(items, metric.key), strict=True):
            if mean is not None:
                banded[bisect_right(_EDGES, mean)].append(id)
        for band, own in zip(_BANDS, banded, strict=True) if any(banded) else ():
            examples = ", ".join(id[:_MAX_ID] for id in own[:_EXAMPLES])
            rows.append((system.name, metric.title, band, len(own), examples or None))
    notes = ("Questions by their score; a band begins with its lower end.", SENTENCES)
    return Table("bands", "Bands of scores", columns, tuple(rows), notes, section="scores")


def by_conditions_table(report: StudyReport) -> Table:
    """The headline metrics by the number of gold conditions."""
    metrics = report.task.headline
    columns = (
        system_column(),
        TableColumn("conditions", "gold conditions", "text", is_key=True),
        TableColumn("n", "n", "count"),
        *(TableColumn(metric.key, metric.title, metric.unit, metric.digits) for metric in metrics),
    )
    rows: list[tuple[CellValue, ...]] = []
    keys, totals = [metric.key for metric in metrics], totals_of(metrics)
    for system in report.systems:
        asked = (item.question for item in system.run.settled.items)
        sizes = {question.id: len(question.branches) for question in asked}
        groups = defaultdict(list)
        for row in system.scores.items:
            if row.id in sizes:
                groups[sizes[row.id]].append(row)
        for size, own in sorted(groups.items()):
            means = aggregates_of(own, keys, totals=totals)
            rows.append((system.name, str(size), len({row.id for row in own}), *means.values()))
    return Table("by-conditions", "By gold conditions", columns, tuple(rows))


_MEANS = "Means over questions; their intervals are with the results."
_ALL: BinPlace = (UNKNOWN_PLACE[0] + 1, "all")
"""After every bin."""


def strategy(system: System) -> str:
    """How conditional answers are asked for, hints aside: "0-shot", "1-shot, steps"."""
    steps = ", steps" if system.asked("reasoning") == "steps" else ""
    return f"{system.asked('shots')}-shot{steps}"


def strategy_tables(report: StudyReport) -> Iterator[Table]:
    """A row each strategy of each model, a group of columns each choice of hints."""
    rows: dict[tuple[str, str], dict[str, SystemReport]] = {}
    words = report.task.hint_words
    for system in report.systems if words else ():
        if not set(system.changes) - BY_STRATEGY:
            asked = system.run.system
            row = rows.setdefault((system.model, strategy(asked)), {})
            row.setdefault(asked.asked("hints"), system)
    if sum(map(len, rows.values())) < 2:
        return
    hints = [name for name in words if any(name in systems for systems in rows.values())]
    metrics = _metrics(report)
    columns = (
        TableColumn("model", "model", "text", is_key=True),
        TableColumn("strategy", "strategy", "text", is_key=True),
        subset_column(),
        *_columns([words[name] for name in hints], metrics),
    )
    lines: list[tuple[CellValue, ...]] = []
    for subset in report.subsets:
        for (model, named), systems in rows.items():
            means = (
                systems[name].mean(metric.key, subset).mean if name in systems else None
                for name, metric in product(hints, metrics)
            )
            lines.append((model, named, report.called(subset), *means))
    title, notes = "Strategies and hints", _notes(metrics)
    yield Table("strategies", title, columns, tuple(lines), notes, section="scores")


def crossed_tables(report: StudyReport) -> Iterator[Table]:
    """One property of the questions by another one, where the task names two."""
    if report.task.crossed is None:
        return
    down, across = (groupings_of(report.task)[name] for name in report.task.crossed)
    metrics = _metrics(report)
    by_system = {system.name: _crossed(system, down, across, metrics) for system in report.systems}
    crossings = [bins for cells in by_system.values() for bins in cells]
    lines, groups = (sorted({bins[n] for bins in crossings}) for n in (0, 1))
    if len(groups) == 2:
        groups.remove(_ALL)
    columns = (
        system_column(),
        TableColumn(down.name, down.words, "text", is_key=True),
        *_columns([f"{across.words}: {label}" for _, label in groups], metrics),
    )
    rows: list[tuple[CellValue, ...]] = []
    for (name, cells), line in product(by_system.items(), lines):
        wanted = product(groups, metrics)
        means = (cells.get((line, group), {}).get(metric.key) for group, metric in wanted)
        rows.append((name, "all questions" if line == _ALL else line[1], *means))
    title = f"By {down.words} and {across.words}"
    yield Table("crossed", title, columns, tuple(rows), _notes(metrics), section="scores")


def _metrics(report: StudyReport) -> list[Column]:
    """Those of the published tables: the headline but for the exact match."""
    return [column for column in report.task.headline if column.role != "exact"]


def _notes(metrics: Sequence[Column]) -> tuple[str, ...]:
    called = "; ".join(f"{metric.short}: {metric.name}" for metric in metrics if metric.short)
    return (_MEANS, called, *(metric.note for metric in metrics if metric.note))


def _columns(groups: Sequence[str], metrics: Sequence[Column]) -> Iterator[TableColumn]:
    for (slug, group), metric in product(zip(slugs(groups), groups, strict=True), metrics):
        title = metric.short or metric.title
        yield TableColumn(f"{slug}_{metric.key}", title, metric.unit, metric.digits, group=group)


def _crossed(
    system: SystemReport, down: Grouping, across: Grouping, metrics: Sequence[Column]
) -> Mapping[tuple[BinPlace, BinPlace], Mapping[str, float | None]]:
    """Means by metric, of each bin of one property in each bin of another."""
    rows: dict[tuple[BinPlace, BinPlace], list[ItemScore]] = defaultdict(list)
    scores = {(row.id, row.epoch): row for row in system.scores.items}
    for item in system.run.items:
        lines, groups = (side.bins(item) or [UNKNOWN_PLACE] for side in (down, across))
        for bins in product({*lines, _ALL}, {*groups, _ALL}):
            rows[bins].append(scores[item.key])
    keys, totals = [metric.key for metric in metrics], totals_of(metrics)
    return {
        bins: {key: mean.mean for key, mean in aggregates_of(own, keys, totals=totals).items()}
        for bins, own in rows.items()
    }
