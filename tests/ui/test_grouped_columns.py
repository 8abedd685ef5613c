"""Groups of columns on a terminal."""

from branchwise.report.table import TableColumn
from branchwise.report.terminal.cells import in_groups, plain


def test_the_neighbours_of_a_group_are_one_column_under_its_name() -> None:
    columns = [
        TableColumn("n", "n"),
        TableColumn("p", "P", group="base"),
        TableColumn("em", "EM", group="base"),
        TableColumn("q", "P", group="+KG"),
    ]
    rows = [["2", "1.00\n.50–1.00", ".5", "–"], ["10", ".75", ".25", ".1"]]
    heads, joined = in_groups(columns, [[plain(text) for text in row] for row in rows])
    assert heads == ["n", "base\n   P  EM", "+KG\n P"]
    assert [[cell.plain for cell in row] for row in joined] == [
        ["2", "1.00  .5", " –"],
        ["10", " .75 .25", ".1"],
    ]
