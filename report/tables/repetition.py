"""How far matchers agree, and how far epochs differ."""

from collections.abc import Iterator, Sequence

from branchwise.base.numbers import number, ordinal
from branchwise.eval.epochs import MEAN_RECALL, UNION_RECALL, EpochSpread
from branchwise.report.study_report import StudyReport
from branchwise.report.table import (
    SUBSET,
    SYSTEM,
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


_AGREEMENT = (
    "Agreement: share of pairs of epochs in which a question has the same value, mean over "
    "questions."
)
_BEST_OF = (
    "Best of k: mean over questions of the highest of k epochs, over all choices of k; of exact "
    "match this is pass@k. 1st epoch: its mean; in traces and files of answers it is epoch 0."
)
_MOST_TRIALS = 5
_TOLD_K = (2, 3, 5, 10, 20, 50, 100)


def epoch_tables(report: StudyReport) -> Iterator[Table]:
    """Of systems that were run for several epochs: their spread, then each epoch's means and the
    best of several. The first table has all of it in files for programs."""
    known = [(name, analysis.epochs) for _, name, analysis in report.analysed]
    found = [(name, spread) for name, spread in known if spread]
    if not found:
        return
    most = max(spread.epochs for _, spread in found)
    columns = (
        system_column(),
        subset_column(),
        TableColumn("metric", "metric", "text", is_key=True),
        TableColumn("n", "n", "count"),
        TableColumn("epochs", "epochs", "count"),
        TableColumn("within", "SD within", "value", 3, heading="SD\nwithin"),
        TableColumn("between", "SD between", "value", 3, heading="SD\nbetween"),
        TableColumn("best", "best epoch", heading="best\nepoch"),
        TableColumn("worst", "worst epoch", heading="worst\nepoch"),
        TableColumn("agreement", "agreement"),
        *_trial_columns(most, printed=False),
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
            one.agreement,
            *_filled(one.trials, most),
            *_filled(one.best_of[1:], most - 1),
        )
        for subset in report.subsets
        for name, spread in found
        for metric in report.task.headline
        for one in [spread.metrics[subset][metric.key]]
    )
    notes = (_SD, _AGREEMENT, *_unions(found))
    whole = Table("epochs", "Spread over epochs", columns, rows, notes)
    yield whole
    yield _trials_table(whole, most)


def _trials_table(whole: Table, most: int) -> Table:
    trials = _trial_columns(most, printed=True)
    keys = {SYSTEM, SUBSET, "metric", *(column.key for column in trials)}
    chosen = whole.with_columns(keys)
    places = [place for place, column in enumerate(chosen.columns) if column.unit != "text"]
    rows = tuple(row for row in chosen.rows if any(row[place] is not None for place in places))
    columns = (*(one for one in chosen.columns if one.unit == "text"), *trials)
    title = "Each epoch, and the best of several"
    return Table("trials", title, columns, rows, (_BEST_OF,))


def _trial_columns(most: int, *, printed: bool) -> tuple[TableColumn, ...]:
    """A column an epoch, and one for each k; `printed`: as many of them as can be read."""
    told = {most, *_TOLD_K} if most > _MOST_TRIALS else set(range(most + 1))
    epochs = range(1, most + 1)
    return (
        *(
            TableColumn(
                f"epoch_{n}",
                f"{ordinal(n)} epoch",
                printed=printed and most <= _MOST_TRIALS,
                heading=f"{ordinal(n)}\nepoch",
            )
            for n in epochs
        ),
        *(
            TableColumn(
                f"best_of_{k}",
                f"best of {k}",
                printed=printed and k in told,
                heading=f"best\nof {k}",
            )
            for k in epochs[1:]
        ),
    )


def _filled(values: Sequence[float], most: int) -> Iterator[float | None]:
    """With None for epochs that the system does not have."""
    yield from values
    yield from (None for _ in range(most - len(values)))
