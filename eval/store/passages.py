"""The passages of a run: read when needed, many at a time, and kept for a while."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from branchwise.eval.store.damage import DamagedError
from branchwise.eval.store.passage_references import StoredPassage
from branchwise.eval.store.run_file import RunFile

KEPT = 4096
"""Passages held in memory; an item that has more keeps all of its own."""
AT_ONCE = 500
"""Per query. Even old builds of SQLite take 999 variables."""


class StoredPassages:
    """Passages by hash, many at a time."""

    def __init__(self, file: RunFile) -> None:
        self._file = file
        self._held: dict[str, StoredPassage] = {}

    def of(self, hashes: Iterable[str]) -> Mapping[str, StoredPassage]:
        """These passages, perhaps among others. Raises DamagedError if one is missing."""
        wanted = set(hashes)
        if len(self._held) + len(wanted - self._held.keys()) > KEPT:
            self._held = {hash: p for hash, p in self._held.items() if hash in wanted}
        for some in _portions(wanted - self._held.keys()):
            marks = ", ".join("?" * len(some))
            for row in self._file.each("passages", f"WHERE hash IN ({marks})", some):
                self._held[row[0]] = StoredPassage(*row)
        if not wanted <= self._held.keys():
            raise DamagedError(self._file.run, "a passage is missing")
        return self._held


def _portions(hashes: Iterable[str]) -> Iterator[list[str]]:
    rest = iter(hashes)
    while some := list(islice(rest, AT_ONCE)):
        yield some
