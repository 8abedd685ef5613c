"""How far matchers agree, and how far epochs differ."""

from collections.abc import Iterator
from itertools import product

from branchwise.base.numbers import number, ordinal
from branchwise.eval.epochs import MEAN_RECALL, UNION_RECALL
from branchwise.report.study_report import StudyReport
from branchwise.report.table import (
    METRIC,
    SUBSET,
    SYSTEM,
    CellValue,
    Table,
    TableColumn,
    count_columns,
    subset_column,
    system_column,
)


def agreement_tables(report: StudyReport) -> Iterator[Table]:
    """Of systems that both matchers aligned."""
    systems = [(s.name, s.run.settled.agreement) for s in report.systems if s.run.settled.agreement]
    counts = (
        *count_columns(questions="questions", pairs="branch pairs"),
        TableColumn("observed", "agreement"),
        TableColumn("kappa", "Cohen's kappa", "value"),
        *count_columns(both="aligned by both", lexical_only="by names only"),
        *count_columns(llm_only="by the model only", neither="by neither"),
    )
    columns = (system_column(), *counts, *count_columns(differ="questions that differ"))
    rows = tuple(
        (name, *(getattr(agreement, column.key) for column in counts), len(agreement.differences))
        for name, agreement in systems
    )
    note = "Over pairs of a predicted and a gold branch of the questions that the model aligned."
    title = "Agreement of the matchers"
    if rows:
        yield Table("agreement", title, columns, rows, (note,), section="matchers")


_SD = (
    "SD within: mean over questions of the standard deviation of a question's epochs; SD between: "
    "of the epochs' means; best, worst: of the epochs' means."
)
_AGREEMENT = (
    "Agreement: share of pairs of epochs in which a question has the same value, mean over "
    "questions."
)
_BEST_OF = (
    "Best and worst of k: mean over questions of the highest and the lowest of k epochs, over all "
    "choices of k; of exact match these are pass@k and pass^k. 1st epoch: its mean; in traces and "
    "files of answers it is epoch 0."
)
_MOST_TRIALS = 5
_SHOWN_K = (2, 3, 5, 10, 20, 50, 100)


def epoch_tables(report: StudyReport) -> Iterator[Table]:
    """Of systems of several epochs: their spread, then each epoch's means and the best of k."""
    known = [(name, analysis.epochs) for _, name, analysis in report.analysed]
    spreads = [(name, spread) for name, spread in known if spread]
    if not spreads:
        return
    most = max(spread.epochs for _, spread in spreads)
    measures = (
        TableColumn("within", "SD within", "value", 3, heading="SD\nwithin"),
        TableColumn("between", "SD between", "value", 3, heading="SD\nbetween"),
        TableColumn("best", "best epoch", heading="best\nepoch"),
        TableColumn("worst", "worst epoch", heading="worst\nepoch"),
        TableColumn("agreement", "agreement"),
    )
    columns = (
        system_column(),
        subset_column(),
        TableColumn(METRIC, "metric", "text", is_key=True),
        *count_columns(n="n", epochs="epochs"),
        *measures,
        *_trial_columns(most, printed=False),
    )
    rows: list[tuple[CellValue, ...]] = []
    for subset in report.subsets:
        for name, spread in spreads:
            for metric in report.task.headline:
                own = spread.metrics[subset][metric.key]
                values: list[CellValue] = [getattr(own, column.key) for column in measures]
                # None for epochs that the system does not have.
                for trials in (own.trials, own.best_of[1:], own.worst_of[1:]):
                    values += [*trials, *[None] * (most - (trials is not own.trials) - len(trials))]
                first = (name, report.called(subset), metric.title, own.n, spread.epochs)
                rows.append((*first, *values))
    notes = [_SD, _AGREEMENT]
    for name, spread in spreads:
        union = spread.union["all"]
        before = f"{name}: all" if len(spreads) > 1 else "All"
        notes.append(
            f"{before} epochs together find {number(union[UNION_RECALL].mean)} of the gold "
            f"answers, one finds {number(union[MEAN_RECALL].mean)}."
        )
    whole = Table("epochs", "Spread over epochs", columns, tuple(rows), tuple(notes))
    yield whole
    shown = _trial_columns(most, printed=True)
    chosen = whole.with_columns({SYSTEM, SUBSET, METRIC, *(column.key for column in shown)})
    keys = [column for column in chosen.columns if column.unit == "text"]
    known_rows = [row for row in chosen.rows if set(row[len(keys) :]) != {None}]
    title = "Each epoch, and the best and worst of several"
    yield Table("trials", title, (*keys, *shown), tuple(known_rows), (_BEST_OF,))


def _trial_columns(most: int, *, printed: bool) -> tuple[TableColumn, ...]:
    """A column an epoch, and one for each k; `printed`: as many of them as can be read."""
    is_long = most > _MOST_TRIALS
    columns = []
    for n in range(1, most + 1):
        title, heading = f"{ordinal(n)} epoch", f"{ordinal(n)}\nepoch"
        shown = printed and not is_long
        columns.append(TableColumn(f"epoch_{n}", title, printed=shown, heading=heading))
    for end, k in product(("best", "worst"), range(2, most + 1)):
        title, heading = f"{end} of {k}", f"{end}\nof {k}"
        shown = printed and (k in (most, *_SHOWN_K) or not is_long)
        columns.append(TableColumn(f"{end}_of_{k}", title, printed=shown, heading=heading))
    return tuple(columns)
