"""The passages of a title: a document that was cut into several has one title."""

import io
from array import array
from bisect import bisect_left, bisect_right
from contextlib import suppress
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING

from branchwise.corpora.atomic import write_bytes
from branchwise.corpora.folder import Corpus
from branchwise.corpora.passages import Passage
from branchwise.corpora.records import to_passage
from branchwise.corpora.text import one_line

if TYPE_CHECKING:
    import numpy as np

MAX_PARTS = 100
"""A title that more passages share does not name a document (`Untitled`)."""


class Titles:
    """Looks passages of a corpus up by title, in any case of letters. Thread-safe.

    The first look-up reads the corpus once and leaves `titles-DIGEST.npy` beside it, where the
    folder can be written to: 16 bytes a passage, mapped.
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
        # A damaged index may hold any row.
        return [row for row in rows[first:last] if row < len(self._corpus)]

    @cached_property
    def _views(self) -> tuple[memoryview, memoryview]:
        """Hashes and rows: numpy takes four times as long for a single number."""
        keys, rows = self._index
        return keys.data, rows.data

    @cached_property
    def _index(self) -> "np.ndarray":
        """uint64 [2, n]: hashes of titles in order, and their rows; rows of one title ascend."""
        import numpy as np

        file = self._corpus.path / f"titles-{self._corpus.sha256[:16]}.npy"
        index: np.ndarray | None
        try:
            # Mapped, but of the plain class, which looks up faster.
            index = np.asarray(np.load(file, mmap_mode="r", allow_pickle=False))
        except Exception:  # noqa: BLE001 - numpy lets anything through that a damaged head leads to
            index = None
        if index is not None and index.dtype == np.uint64 and index.shape == (2, len(self._corpus)):
            return index
        index = self._made()
        content = io.BytesIO()
        np.save(content, index, allow_pickle=False)
        with suppress(OSError):
            write_bytes(file, content.getvalue())
        return index

    def _made(self) -> "np.ndarray":
        import numpy as np

        corpus, keys = self._corpus, array("Q")
        for contents in corpus.contents():
            keys.append(_key(_folded(to_passage("", contents).title)))
        found = np.frombuffer(keys, dtype=np.uint64)
        rows = np.argsort(found, kind="stable")
        return np.stack([found[rows], rows.astype(np.uint64)])


def _folded(title: str) -> str:
    return one_line(title).casefold()


def _key(folded: str) -> int:
    return int.from_bytes(blake2b(folded.encode("utf-8", "replace"), digest_size=8).digest())
