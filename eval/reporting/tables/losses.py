"""Where answers were lost, and what a perfect reader would have found."""

from collections.abc import Callable, Iterator, Sequence

from branchwise.eval.analysis import Analysis
from branchwise.eval.errors.totals import SubsetTotals
from branchwise.eval.reporting.fates import (
    ITEM_KINDS,
    MISSING_KINDS,
    WRONG_KINDS,
    Kind,
    right_answers,
)
from branchwise.eval.reporting.study_report import StudyReport
from branchwise.eval.reporting.tables.subsets import subsets
from branchwise.eval.reporting.tables.table import (
    Cell,
    Column,
    Table,
    subset_column,
    system_column,
)

_COUNTED = "Answers are counted by branch, over all items (an item is a question in one epoch)."
_CEILINGS = (
    ("ceiling_reach", "within reach"),
    ("ceiling_retrieved", "retrieved"),
    ("ceiling_extracted", "after extraction"),
    ("ceiling_shown", "shown"),
)
_LOSSES = (
    ("retrieval_loss", "lost in retrieval"),
    ("extraction_loss", "lost in extraction"),
    ("context_loss", "lost in context"),
    ("reasoning_loss", "lost in reasoning"),
)


def analysed(report: StudyReport) -> list[tuple[str, Analysis]]:
    """The systems whose items were analysed, by name; none for tasks of sentences."""
    return [(one.name, one.run.analysis) for one in report.systems if one.run.analysis]


def loss_tables(report: StudyReport) -> Iterator[Table]:
    """Missing answers, wrong answers and items by what went wrong, and the ceilings."""
    if not analysed(report):
        return

    def gold(analysis: Analysis, subset: str, found: SubsetTotals) -> list[int]:
        right = right_answers(analysis, subset)
        return [right + found.missing, right, found.missing]

    yield _counts(
        report,
        ("missing", "Gold answers: right, or lost where"),
        [("gold", "gold answers"), ("right", "right"), ("missing", "missing")],
        gold,
        MISSING_KINDS,
        "The columns after missing add up to it; those without any are left out.",
    )
    yield _counts(
        report,
        ("wrong", "Wrong answers"),
        [("wrong", "wrong")],
        lambda analysis, subset, found: [found.wrong],
        WRONG_KINDS,
        "The columns after wrong add up to it; those without any are left out.",
    )
    yield _counts(
        report,
        ("items", "Items with something wrong"),
        [("items", "items")],
        lambda analysis, subset, found: [found.items],
        ITEM_KINDS,
        "An item may have several; what none has is left out.",
    )
    yield _ceilings(report)


def _counts(
    report: StudyReport,
    named: tuple[str, str],
    firsts: Sequence[tuple[str, str]],
    first_values: Callable[[Analysis, str, SubsetTotals], list[int]],
    kinds: Sequence[Kind],
    note: str,
) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for subset in subsets(report):
        for name, analysis in analysed(report):
            found = analysis.errors.subsets[subset]
            counts = [kind.count(found) for kind in kinds]
            rows.append((name, subset, *first_values(analysis, subset, found), *counts))
    columns = [system_column(), subset_column()]
    columns += [Column(key, title, "count") for key, title in firsts]
    for kind in kinds:
        some = any(row[len(columns)] for row in rows)
        columns.append(Column(f"{named[0]}_{kind.key}", kind.words, "count", printed=some))
    return Table(*named, tuple(columns), tuple(rows), (_COUNTED, note))


def _ceilings(report: StudyReport) -> Table:
    recall = report.task.main
    shares = (*_CEILINGS, (recall.key, "answered"))
    columns = (
        system_column(),
        subset_column(),
        Column("n", "n", "count"),
        *(Column(key, title) for key, title in shares),
        *(Column(key, title, "change", printed=False) for key, title in _LOSSES),
    )
    rows: list[tuple[Cell, ...]] = []
    unknown: dict[str, None] = {}
    for subset in subsets(report):
        for name, analysis in analysed(report):
            found = analysis.ceilings.aggregates[subset]
            means = [found[key] for key, _ in (*shares, *_LOSSES)]
            rows.append((name, subset, found[recall.key].n, *means))
            unknown |= dict.fromkeys(analysis.ceilings.unknown)
    notes = (
        f"{recall.name.capitalize()} of a perfect reader of what the tools could have given, of "
        "what they returned, of what extraction left, of what the agent was shown; then the "
        "agent's own.",
        "A mention need not state an answer, so all but the last are upper bounds.",
        *unknown,
    )
    return Table("ceilings", f"Ceilings of {recall.name}", columns, tuple(rows), notes)
