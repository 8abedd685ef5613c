"""How far matchers agree, and how far epochs differ."""

from collections.abc import Iterator, Sequence

from branchwise.eval.ceilings.epochs import MEAN_RECALL, UNION_RECALL, EpochSpread
from branchwise.eval.numbers import number
from branchwise.eval.reporting.study_report import StudyReport
from branchwise.eval.reporting.tables.table import (
    CellValue,
    Table,
    TableColumn,
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
        TableColumn("questions", "questions", "count"),
        TableColumn("pairs", "branch pairs", "count"),
        TableColumn("observed", "agreement"),
        TableColumn("kappa", "Cohen's kappa", "value"),
        TableColumn("both", "aligned by both", "count"),
        TableColumn("lexical_only", "by names only", "count"),
        TableColumn("llm_only", "by the model only", "count"),
        TableColumn("neither", "by neither", "count"),
        TableColumn("differ", "questions that differ", "count"),
    )
    rows: tuple[tuple[CellValue, ...], ...] = tuple(
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
    yield Table(
        "agreement", "Agreement of the matchers", columns, rows, (note,), section="matchers"
    )


_SD = (
    "SD within: mean over questions of the standard deviation of a question's epochs; SD between: "
    "of the epochs' means; best, worst: of the epochs' means."
)


def _unions(found: Sequence[tuple[str, EpochSpread]]) -> Iterator[str]:
    """What asking again finds: the recall of all epochs' right answers together."""
    for name, spread in found:
        union = spread.union["all"]
        before = f"{name}: all" if len(found) > 1 else "All"
        yield (
            f"{before} epochs together find {number(union[UNION_RECALL].mean)} of the gold "
            f"answers, one finds {number(union[MEAN_RECALL].mean)}."
        )


def epoch_tables(report: StudyReport) -> Iterator[Table]:
    """Of systems that were run for several epochs."""
    known = [(name, analysis.epochs) for _, name, analysis in report.analysed]
    found = [(name, spread) for name, spread in known if spread]
    if not found:
        return
    columns = (
        system_column(),
        subset_column(),
        TableColumn("metric", "metric", "text", is_key=True),
        TableColumn("n", "n", "count"),
        TableColumn("epochs", "epochs", "count"),
        TableColumn("within", "SD within", "value", 3),
        TableColumn("between", "SD between", "value", 3),
        TableColumn("best", "best epoch"),
        TableColumn("worst", "worst epoch"),
    )
    rows: tuple[tuple[CellValue, ...], ...] = tuple(
        (
            name,
            report.called(subset),
            metric.title,
            one.n,
            spread.epochs,
            one.within,
            one.between,
            one.best,
            one.worst,
        )
        for subset in report.subsets
        for name, spread in found
        for metric in report.task.headline
        for one in [spread.metrics[subset][metric.key]]
    )
    yield Table("epochs", "Spread over epochs", columns, rows, (_SD, *_unions(found)))
