"""The passages of a run: read when needed, many at a time, and kept for a while."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from branchwise.runs.store.damage import DamagedError, reading
from branchwise.runs.store.packing import PLACES, block_passage, read_block
from branchwise.runs.store.passage_references import StoredPassage
from branchwise.runs.store.run_file import RunFile
from branchwise.runs.store.tables import Row, hash_number

KEPT = 4096
"""Passages held in memory; an item that has more keeps all of its own."""
BLOCKS_KEPT = 64
AT_ONCE = 500
"""Per query. Even old builds of SQLite take 999 variables."""


class StoredPassages:
    """Passages by hash, many at a time."""

    def __init__(self, file: RunFile) -> None:
        self._file = file
        self._held: dict[str, StoredPassage] = {}
        self._blocks: dict[int, list[Row]] = {}

    def of(self, hashes: Iterable[str]) -> Mapping[str, StoredPassage]:
        """These passages, perhaps among others. Raises DamagedError if one is missing."""
        wanted = set(hashes)
        missing = wanted - self._held.keys()
        if len(self._held) + len(missing) > KEPT:
            self._held = {hash: p for hash, p in self._held.items() if hash in wanted}
        for some in _portions(missing):
            marks = ", ".join("?" * len(some))
            self._hold_packed(some, marks)
            for row in self._file.each("passages", f"WHERE hash IN ({marks})", some):
                self._held[row[0]] = StoredPassage(*row)
        if not wanted <= self._held.keys():
            raise DamagedError(self._file.run, "a passage is missing")
        return self._held

    def _hold_packed(self, hashes: list[str], marks: str) -> None:
        sql = f"SELECT place FROM packed_passages WHERE hash IN ({marks}) ORDER BY place"  # noqa: S608 - only question marks are inserted
        with reading(self._file.run):
            numbers = [hash_number(hash) for hash in hashes]
        of_blocks: dict[int, list[int]] = defaultdict(list)
        for (place,) in list(self._file.query(sql, numbers)):
            of_blocks[place // PLACES].append(place % PLACES)
        for block, places in of_blocks.items():
            with reading(self._file.run):
                for place in places:
                    passage = StoredPassage(*block_passage(self._block(block)[place]))
                    self._held[passage.hash] = passage

    def _block(self, number: int) -> list[Row]:
        if number not in self._blocks:
            for _, body in self._file.rows("passage_blocks", "WHERE block = ?", (number,)):
                if len(self._blocks) >= BLOCKS_KEPT:
                    del self._blocks[next(iter(self._blocks))]
                self._blocks[number] = read_block(body)
        return self._blocks[number]


def _portions(hashes: Iterable[str]) -> Iterator[list[str]]:
    rest = iter(hashes)
    while some := list(islice(rest, AT_ONCE)):
        yield some
