"""Columns on a terminal: groups of them, and those that it has no room for."""

import pytest
from rich.console import Console

from branchwise.report.table import TableColumn
from branchwise.report.tables.properties import breakdown_change_tables
from branchwise.report.terminal.cells import in_groups, plain
from branchwise.report.terminal.report_table import drawn
from support.ui.report_cases import make_report


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


@pytest.mark.parametrize(("width", "tables"), [(50, 3), (68, 2), (80, 1)])
def test_columns_that_a_terminal_has_no_room_for_stand_below(width: int, tables: int) -> None:
    (changes,) = breakdown_change_tables(make_report(), "steps")
    console = Console(width=width)
    with console.capture() as capture:
        for part in drawn(changes):
            console.print(part)
    lines = capture.get().splitlines()
    assert max(map(len, lines)) <= width
    heads = [line.split() for line in lines if line.split()[:1] == ["n"]]
    assert len(heads) == tables
    assert (
        " ".join(word for head in heads for word in head[1:]) == "strict P p strict R p strict EM p"
    )
    # Each part repeats the names of the rows and n, and has each difference beside its p.
    rows = [line.split() for line in lines if line.startswith("  2 ")]
    assert [row[:2] for row in rows] == [["2", "2"]] * 2 * tables
    expansion = [cell for row in rows[::2] for cell in row[2:]]
    assert expansion == ["±.00", "1", "+.33", "1", "+.50", "1"]
