"""The passages of a run: read when needed, many at a time, and kept for a while."""

from collections.abc import Iterable, Iterator
from itertools import islice

from branchwise.eval.store.damage import DamagedError
from branchwise.eval.store.passage_references import StoredPassage
from branchwise.eval.store.run_file import RunFile

KEPT = 4096
"""Passages held in memory; an item that has more keeps all of its own."""
AT_ONCE = 500
"""Per query. Even old builds of SQLite take 999 variables."""


class StoredPassages:
    """Looks up passages by hash: call it for one, or first `load` many."""

    def __init__(self, file: RunFile) -> None:
        self._file = file
        self._held: dict[str, StoredPassage] = {}

    def __call__(self, hash: str) -> StoredPassage:
        """The passage with this hash. Raises DamagedError if there is none."""
        if (found := self._held.get(hash)) is None:
            self.load([hash])
            found = self._held.get(hash)
        if found is None:
            raise DamagedError(self._file.run, "a passage is missing")
        return found

    def load(self, hashes: Iterable[str]) -> None:
        """Read those of `hashes` that are not in memory; calls for them then need no query."""
        wanted = set(hashes)
        if len(self._held) + len(wanted - self._held.keys()) > KEPT:
            self._held = {hash: p for hash, p in self._held.items() if hash in wanted}
        for some in _portions(wanted - self._held.keys()):
            marks = ", ".join("?" * len(some))
            for row in self._file.each("passages", f"WHERE hash IN ({marks})", some):
                self._held[row[0]] = StoredPassage(*row)


def _portions(hashes: Iterable[str]) -> Iterator[list[str]]:
    rest = iter(hashes)
    while some := list(islice(rest, AT_ONCE)):
        yield some
