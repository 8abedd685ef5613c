"""Where answers were lost, and what a perfect reader would have found."""

from collections.abc import Callable, Iterator, Sequence

from branchwise.eval.ceilings import LOSSES, ceiling_metrics
from branchwise.eval.errors.item_errors import SubsetTotals
from branchwise.report.figures.lines import CEILING_PLACES
from branchwise.report.loss_kinds import (
    MISSING_KINDS,
    WRONG_KINDS,
    LossKind,
)
from branchwise.report.study_report import StudyReport
from branchwise.report.tables.table import (
    CellValue,
    Table,
    TableColumn,
    subset_column,
    system_column,
)
from branchwise.runs.scoring.scored import Analysis

_COUNTED = "Answers are counted by branch, over all items (an item is a question in one epoch)."
_PLACES = ("retrieval", "extraction", "context", "reasoning")


def loss_tables(report: StudyReport) -> Iterator[Table]:
    """Missing answers and wrong answers by what went wrong, and the ceilings."""
    if not report.analysed:
        return

    def gold(analysis: Analysis, subset: str, found: SubsetTotals) -> list[int]:
        right = analysis.right[subset]
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
    yield ceilings_table(report)


def _counts(
    report: StudyReport,
    named: tuple[str, str],
    firsts: Sequence[tuple[str, str]],
    first_values: Callable[[Analysis, str, SubsetTotals], list[int]],
    kinds: Sequence[LossKind],
    note: str,
) -> Table:
    rows: list[tuple[CellValue, ...]] = []
    for subset in report.subsets:
        for _, name, analysis in report.analysed:
            found = analysis.errors.subsets[subset]
            counts = [kind.count(found) for kind in kinds]
            rows.append(
                (name, report.called(subset), *first_values(analysis, subset, found), *counts)
            )
    columns = [system_column(), subset_column()]
    columns += [TableColumn(key, title, "count") for key, title in firsts]
    notes = [_COUNTED, note]
    for kind in kinds:
        some = any(row[len(columns)] for row in rows)
        columns.append(TableColumn(f"{named[0]}_{kind.key}", kind.words, "count", printed=some))
        notes += [kind.caution] if some and kind.caution else []
    return Table(*named, tuple(columns), tuple(rows), tuple(notes))


def ceilings_table(report: StudyReport) -> Table:
    """What a perfect reader would have found at each place, and the losses in between."""
    recall = report.task.main
    shares = (*CEILING_PLACES, (recall.key, "answered"))
    narrow = {
        "ceiling_reach": "within\nreach",
        "ceiling_extracted": "extracted",
        recall.key: "the\nagent",
    }
    columns = (
        system_column(),
        subset_column(),
        TableColumn("n", "n", "count"),
        *(TableColumn(key, title, heading=narrow.get(key, "")) for key, title in shares),
        *(
            TableColumn(
                key, f"lost in {place}", "value", printed=False, heading=f"lost in\n{place}"
            )
            for key, place in zip(LOSSES, _PLACES, strict=True)
        ),
    )
    rows: list[tuple[CellValue, ...]] = []
    unknown: dict[str, None] = {}
    for subset in report.subsets:
        for _, name, analysis in report.analysed:
            found = analysis.ceilings.aggregates[subset]
            means = [found[key] for key in ceiling_metrics(recall.key)]
            rows.append((name, report.called(subset), found[recall.key].n, *means))
            unknown |= dict.fromkeys(analysis.ceilings.unknown)
    notes = (
        f"{recall.name.capitalize()} of a perfect reader of what the tools could have given, of "
        "what they returned, of what extraction left, of what the agent was shown; then the "
        "agent's own.",
        "A mention need not state an answer, so all but the last are upper bounds.",
        *unknown,
    )
    title = f"Ceilings of {recall.name}"
    return Table("ceilings", title, columns, tuple(rows), notes, section="ceilings")
