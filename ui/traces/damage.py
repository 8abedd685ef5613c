"""Reading a file that may be damaged: what is left of it, or one line."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from branchwise.corpora.errors import InputError
from branchwise.eval.store import DamagedError
from branchwise.eval.store.connection import DATABASE
from branchwise.eval.store.item_rows import RawItem


def readable_items(
    between: Callable[[int, int], list[RawItem]], first: int, last: int
) -> list[RawItem]:
    """The items that can be read: of a damaged page of the file the others are still there."""
    try:
        return between(first, last)
    except DamagedError:
        if first >= last:
            return []
        middle = (first + last) // 2
        return [
            *readable_items(between, first, middle),
            *readable_items(between, middle + 1, last),
        ]


@contextmanager
def as_input_errors(path: Path) -> Iterator[None]:
    """What SQLite says of the run at `path` as one line with what to do."""
    try:
        yield
    except sqlite3.Error as error:
        raise InputError(
            f"{DATABASE} cannot be read ({error})",
            where=str(path),
            remedy="restore the file, or look at another run",
        ) from error
