"""The passages of a title: a document that was cut into several has one title."""

from array import array
from bisect import bisect_left, bisect_right
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING

from branchwise.base.text import one_line
from branchwise.corpora.folder import Corpus
from branchwise.corpora.kept_arrays import kept_arrays
from branchwise.corpora.passages import Passage
from branchwise.corpora.records import to_passage

if TYPE_CHECKING:
    from branchwise.corpora.kept_arrays import Arrays

TITLES_FOLDER = "titles"
MAX_PARTS = 100
"""A title that more passages share does not name a document (`Untitled`)."""


class Titles:
    """Looks passages of a corpus up by title, in any case of letters. Thread-safe.

    The first look-up reads the corpus once and leaves the folder `titles` beside it, where the
    corpus's can be written to: 16 bytes a passage, mapped.
    """

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    def passages(self, title: str) -> list[Passage]:
        """All passages of a title in the order of the corpus; none if more than `MAX_PARTS`."""
        wanted = _folded(title)
        found = [self._corpus.passage(row) for row in self._rows(title)]
        return [passage for passage in found if _folded(passage.title) == wanted]

    def place(self, passage: Passage) -> tuple[int, int] | None:
        """Which of how many passages of its title this is, from 1; None if it is the only one."""
        if len(self._rows(passage.title)) < 2:
            return None
        ids = [one.id for one in self.passages(passage.title)]
        if len(ids) < 2 or passage.id not in ids:
            return None
        return ids.index(passage.id) + 1, len(ids)

    def _rows(self, title: str) -> list[int]:
        if not (folded := _folded(title)):
            return []
        keys, rows = self._views
        key = _key(folded)
        first = bisect_left(keys, key)
        last = bisect_right(keys, key, first)
        if last - first > MAX_PARTS:
            return []
        return list(rows[first:last])

    @cached_property
    def _views(self) -> tuple[memoryview, memoryview]:
        """Hashes of titles in order, and their rows, of which those of one title ascend: numpy
        takes four times as long for a single number."""
        origin = {"titles": self._corpus.sha256}
        arrays = kept_arrays(self._corpus.path / TITLES_FOLDER, origin, self._made)
        return arrays["keys"].data, arrays["rows"].data

    def _made(self) -> "Arrays":
        import numpy as np

        corpus, keys = self._corpus, array("Q")
        for contents in corpus.contents():
            keys.append(_key(_folded(to_passage("", contents).title)))
        found = np.frombuffer(keys, dtype=np.uint64)
        rows = np.argsort(found, kind="stable")
        return {"keys": found[rows], "rows": rows.astype(np.uint64)}


def _folded(title: str) -> str:
    return one_line(title).casefold()


def _key(folded: str) -> int:
    return int.from_bytes(blake2b(folded.encode("utf-8", "replace"), digest_size=8).digest())
