"""What is left of a damaged run: its settings and its intact rows."""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from branchwise.base.errors import InputError
from branchwise.runs.store.connection import DATABASE
from branchwise.runs.store.damage import DamagedError
from branchwise.runs.store.run_file import RunFile
from branchwise.runs.store.tables import Layout, Row
from branchwise.runs.store.verifying import ReadableRows


class Remains:
    """A damaged run's intact rows, as far as SQLite reaches them.

    `copy`: the copy of `run` from which they are read. Raises InputError if the settings are lost.
    """

    def __init__(self, copy: Path, run: Path) -> None:
        try:
            self._file = RunFile(copy, tolerant=True)
        except DamagedError:
            raise InputError(
                "the run's settings are lost; without them it cannot be used",
                where=str(run / DATABASE),
                remedy="restore the file, or run again",
            ) from None
        self.layout: Layout = self._file.layout
        self.meta: Mapping[str, Any] = self._file.meta
        self._rows = ReadableRows(self._file)

    @property
    def damaged(self) -> Counter[str]:
        """How many damaged rows of each table were met."""
        return self._rows.damaged

    def rows(self, table: str) -> Iterator[Row]:
        """The intact rows of a table, without checksums."""
        return self._rows(table)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
