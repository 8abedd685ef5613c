"""What raters say of a question set, for a terminal: DeepAmbigQA's Table 3, with agreement."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from branchwise.base.numbers import number
from branchwise.report.terminal.cells import counts_table
from branchwise.report.terminal.console import console

if TYPE_CHECKING:
    from branchwise.eval.human_review import Measured, ReviewTable

_PUBLISHED = {
    ("one reading", "naturalness"): "2.86",
    ("one reading", "correct"): ".916",
    ("ambiguous", "naturalness"): "2.91",
    ("ambiguous", "all_helpful"): ".912",
}
"""Table 3 of the paper; its correctness of ambiguous questions is graded as Figure 11 says, by the
list of readings."""
_ROWS = {
    "naturalness": "naturalness, 1 to 3",
    "correct": "answers right",
    "all_helpful": "all readings help",
    "helpful": "readings that help",
}


def print_review_table(halves: "Mapping[str, ReviewTable]") -> None:
    """Means over raters, how many items were graded, pairwise kappa and alpha, by half."""
    table = counts_table("", ("mean", "published", "graded", "raters", "kappa", "alpha"))
    if not any(tabulated.raters for tabulated in halves.values()):
        console().print("nothing is graded yet")
        return
    for half, tabulated in halves.items():
        table.add_row(half, style="bold")
        for grade, label in _ROWS.items():
            measured: Measured = getattr(tabulated, grade)
            if measured.graded:
                published = _PUBLISHED.get((half, grade), "")
                counts = f"{measured.graded:,}", f"{tabulated.raters}"
                agreement = _cell(measured.kappa), _cell(measured.alpha)
                table.add_row(f"  {label}", _cell(measured.mean), published, *counts, *agreement)
    console().print(table)


def _cell(value: float | None) -> str:
    return "-" if value is None else number(value)
