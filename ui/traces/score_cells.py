"""Scores as they are shown: as the tables of reports do."""

from branchwise.ui.cells import number

_COUNTS = ("answers +/-", "answers off by")
"""Headings of metrics that are no shares."""


def score_cell(value: float | None, head: str) -> str:
    """A metric of an `ItemLine` or `RunLine` under its heading (`RunView.heads`).

    Those have shares in percent; reports write them from 0 to 1, without the zero: .67.
    """
    if value is None or head in _COUNTS:
        return number(value)
    return number(value / 100)
