"""Reading a run in the app: what cannot be read is shown as such, and never ends the app."""

import sqlite3

from branchwise.corpora.errors import InputError
from branchwise.ui.traces.lines import ItemLine
from branchwise.ui.traces.runs import RunView

READ_ERRORS = (InputError, sqlite3.Error, OSError)


def safe_line(run: RunView, row: int) -> ItemLine:
    """The row's line; where it cannot be read, a line that says why."""
    try:
        return run.line(row)
    except READ_ERRORS as error:
        said = str(error)
        return ItemLine(row, "?", 0, said, ambiguous=False, status="failed", error=said)
