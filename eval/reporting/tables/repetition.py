"""How far matchers agree, and how far epochs differ."""

from collections.abc import Iterator

from branchwise.eval.reporting.study_report import StudyReport
from branchwise.eval.reporting.tables.losses import analysed
from branchwise.eval.reporting.tables.subsets import subsets
from branchwise.eval.reporting.tables.table import (
    Cell,
    Column,
    Table,
    subset_column,
    system_column,
)


def agreement_tables(report: StudyReport) -> Iterator[Table]:
    """Of systems that both matchers aligned."""
    found = [(s.name, s.run.settled.agreement) for s in report.systems if s.run.settled.agreement]
    if not found:
        return
    columns = (
        system_column(),
        Column("questions", "questions", "count"),
        Column("pairs", "branch pairs", "count"),
        Column("observed", "agreement"),
        Column("kappa", "Cohen's kappa", "value"),
        Column("both", "aligned by both", "count"),
        Column("lexical_only", "by names only", "count"),
        Column("llm_only", "by the model only", "count"),
        Column("neither", "by neither", "count"),
        Column("differ", "questions that differ", "count"),
    )
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            name,
            one.questions,
            one.pairs,
            one.observed,
            one.kappa,
            one.both,
            one.lexical_only,
            one.llm_only,
            one.neither,
            len(one.differences),
        )
        for name, one in found
    )
    note = "Over pairs of a predicted and a gold branch of the questions that the model aligned."
    yield Table("agreement", "Agreement of the matchers", columns, rows, (note,))


def epoch_tables(report: StudyReport) -> Iterator[Table]:
    """Of systems that were run for several epochs."""
    known = [(name, analysis.epochs) for name, analysis in analysed(report)]
    found = [(name, spread) for name, spread in known if spread]
    if not found:
        return
    columns = (
        system_column(),
        subset_column(),
        Column("metric", "metric", "text"),
        Column("epochs", "epochs", "count"),
        Column("n", "n", "count"),
        Column("within", "within a question (SD)", "value", 3),
        Column("between", "between epochs (SD)", "value", 3),
        Column("best", "best epoch"),
        Column("worst", "worst epoch"),
    )
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            name,
            subset,
            metric.title,
            spread.epochs,
            one.n,
            one.within,
            one.between,
            one.best,
            one.worst,
        )
        for subset in subsets(report)
        for name, spread in found
        for metric in report.task.headline
        for one in [spread.metrics[subset][metric.key]]
    )
    note = "SD: standard deviation, of a question's epochs (mean over questions) or of epoch means."
    yield Table("epochs", "Spread over epochs", columns, rows, (note,))
