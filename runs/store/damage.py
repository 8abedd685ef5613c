"""A damaged run: one line that says what is damaged, how much is whole, and how to save that."""

import os
import shlex
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EACCES
from functools import cached_property
from pathlib import Path

from branchwise.base.errors import InputError
from branchwise.base.files import cannot_read
from branchwise.base.text import one_line
from branchwise.runs.store.connection import DATABASE, log_is_out_of_reach

_OTHERWISE = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_INTERRUPT,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_PROTOCOL,
    }
)
"""What SQLite says of files that may be whole."""
_TORN = "its pages do not fit together"
_WORDS = {sqlite3.SQLITE_NOTADB: "it is not a database", sqlite3.SQLITE_CORRUPT: _TORN}
_MAX_WHAT = 200


class DamagedError(InputError):
    """A run's file is damaged; the rest of it is readable.

    `damage`: what is damaged. `share`: how many items are whole; if not given, it is counted when
    the message is requested, which reads the whole file.
    """

    def __init__(self, run: Path, what: str, share: str | None = None) -> None:
        self.run, self.damage, self._share = run, one_line(what)[:_MAX_WHAT], share
        remedy = f"save what is whole: branchwise recover {shlex.quote(str(run))} --out NEW"
        super().__init__(f"is damaged ({self.damage})", where=str(run / DATABASE), remedy=remedy)

    def __str__(self) -> str:
        return self._line

    @cached_property
    def _line(self) -> str:
        from branchwise.runs.store.verifying import verify_run

        share = self._share or verify_run(self.run).share
        return f"{self.where}: {self.what}; {share}; {self.remedy}"


def words_of(error: sqlite3.Error) -> str:
    """What is wrong with a file that SQLite cannot read, in words of ours where there are any."""
    return _WORDS.get(getattr(error, "sqlite_errorcode", 0) & 0xFF, str(error))


def check_line(line: str) -> str | None:
    """What a line of `PRAGMA integrity_check` says, in words; None if nothing is wrong."""
    if line == "ok":
        return None
    said = one_line(line.removeprefix("*** in database main ***"))
    return _TORN if "malformed" in said else f"{_TORN}: {said}"


@contextmanager
def reading(run: Path) -> Iterator[None]:
    """Turns errors of reading a damaged file (SQLite's errors, invalid records) into a
    DamagedError, and SQLite's errors about a file that may be whole into an InputError."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code not in _OTHERWISE:
            raise DamagedError(run, words_of(error)) from error
        if not os.access(run / DATABASE, os.R_OK):
            denied = PermissionError(EACCES, os.strerror(EACCES))
            raise cannot_read(run / DATABASE, denied) from None
        remedy = "try again when no other process uses it"
        if log_is_out_of_reach(run / DATABASE):
            remedy = "the run was interrupted: to read it, copy the folder to a writable place"
        raise InputError(
            f"{DATABASE} cannot be read as a run ({error})", where=str(run), remedy=remedy
        ) from error
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        # pydantic's and orjson's are ValueErrors.
        raise DamagedError(run, "a record of the run is damaged") from error
