"""A corpus folder: `corpus.jsonl`, and beside it what one pass over it found.

`corpus.json` holds the digest and count, `offsets.npy` where each passage stands, `checksums.npy`
what is checked when it is read. All are made again where one is missing or the file's size or time
of change is another, so a folder with nothing but a `corpus.jsonl` is a corpus too.
"""

import hashlib
import mmap
import os
import zlib
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from branchwise.base.atomic import new_file, write_bytes
from branchwise.base.errors import DamagedDataError, InputError
from branchwise.base.files import MAX_LINE_BYTES, cannot_read, open_data
from branchwise.base.text import counted, one_line
from branchwise.corpora.forms import source_at
from branchwise.corpora.kept_arrays import kept_arrays
from branchwise.corpora.passages import Passage, parse_record, to_passage
from branchwise.corpora.rows import read_rows

if TYPE_CHECKING:
    import numpy as np

    from branchwise.corpora.kept_arrays import Arrays

CORPUS_FILE, FACTS_FILE = "corpus.jsonl", "corpus.json"
OFFSETS_FILE, CHECKSUMS_FILE = "offsets.npy", "checksums.npy"
_MOST_CHARACTERS = 4_000_000  # of the passages that are kept when they have been read
_FORGOTTEN_EVERY = 50_000
TITLES_FOLDER = "titles"
MAX_PARTS = 100
"""A title that more passages share does not name a document (`Untitled`)."""


@dataclass(frozen=True)
class Scan:
    """What a pass over a corpus file found. `offsets`: int64 [n, 2], first byte and length of each
    passage's line. `checksums`: uint32 [n], CRC-32 of each line, begun with its row."""

    sha256: str
    offsets: "np.ndarray"
    checksums: "np.ndarray"

    def __len__(self) -> int:
        return len(self.offsets)


def scan_corpus(path: Path) -> Scan:
    """Read the whole file once; memory grows by 28 bytes a passage, not with the text."""
    import numpy as np

    digest = hashlib.sha256()
    starts, keys, checksums = array("q"), array("Q"), array("I")
    for number, start, line in _lines(path):
        digest.update(line)
        if line.isspace():
            continue
        record = parse_record(line, f"{path}:{number}")
        if record.id is None:
            problem = 'lacks "id"'
            remedy = "run `branchwise corpus build --from` on the file, which gives ids"
            raise InputError(problem, where=f"{path}:{number}", remedy=remedy)
        checksums.append(zlib.crc32(line, len(keys)))
        starts.extend((start, len(line)))
        keys.append(id_key(record.id))
    if not keys:
        raise InputError("holds no passages", where=str(path), remedy="write one per line")
    if suspects := repeated_keys(keys):
        _refuse_duplicate_ids(path, suspects)
    offsets = np.frombuffer(starts, dtype=np.int64).reshape(-1, 2)
    return Scan(digest.hexdigest(), offsets, np.frombuffer(checksums, dtype=np.uint32))


def id_key(id: str) -> int:
    """64 bits of a hash of the id: what uniqueness is checked on."""
    return int.from_bytes(hashlib.blake2b(id.encode(), digest_size=8).digest(), "little")


def repeated_keys(keys: "array[int]") -> set[int]:
    import numpy as np

    ordered = np.sort(np.frombuffer(keys, dtype=np.uint64))
    return set(ordered[1:][ordered[1:] == ordered[:-1]].tolist())


def _refuse_duplicate_ids(path: Path, suspects: set[int]) -> None:
    """Raise InputError with both line numbers where two lines share an id (not just a key)."""
    first: dict[str, int] = {}
    for number, _, line in _lines(path):
        if line.isspace():
            continue
        id = parse_record(line, f"{path}:{number}").id
        if id is None or id_key(id) not in suspects:
            continue
        if id in first:
            problem = f"id {id!r} is already used in line {first[id]}"
            remedy = "give each passage an id of its own, or none at all"
            raise InputError(problem, where=f"{path}:{number}", remedy=remedy)
        first[id] = number


def _lines(path: Path) -> Iterator[tuple[int, int, bytes]]:
    start = 0
    try:
        with path.open("rb") as stream:
            lines = iter(lambda: stream.readline(MAX_LINE_BYTES + 1), b"")
            for number, line in enumerate(lines, start=1):
                if len(line) > MAX_LINE_BYTES:
                    problem = f"the line is longer than {MAX_LINE_BYTES // 2**20} MiB"
                    remedy = "write one JSON object per line"
                    raise InputError(problem, where=f"{path}:{number}", remedy=remedy)
                yield number, start, line
                start += len(line)
    except OSError as error:
        raise cannot_read(path, error) from None


class _Facts(BaseModel):
    """What is known of a corpus file, and of which file (bytes, time of change)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sha256: str
    passages: int
    bytes: int
    mtime_ns: int


class Corpus:
    """Passages by row, read from disk one at a time, in 20 mapped bytes each. Thread-safe."""

    def __init__(self, path: Path, scan: Scan) -> None:
        import numpy as np

        self.path, self.sha256 = path, scan.sha256
        # Still mapped, but of the plain class: numpy's own for maps takes long for each element.
        self._offsets, self._checksums = np.asarray(scan.offsets), np.asarray(scan.checksums)
        self._read: dict[int, Passage] = {}
        self._characters = 0
        with open_data(path / CORPUS_FILE) as stream:
            self._lines = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)

    @classmethod
    def open(cls, path: Path) -> "Corpus":
        """The corpus in folder `path`."""
        path = Path(path)
        file = path / CORPUS_FILE
        if not file.is_file():
            raise no_corpus(path)
        known = _recall(path)
        if known is None:
            if is_source(path):
                raise no_corpus(path)
            before = file.stat()
            known = scan_corpus(file)
            _remember(path, known, before)
        return cls(path, known)

    def __repr__(self) -> str:
        return f"<Corpus {self.path}: {counted(len(self), 'passage')}>"

    def __len__(self) -> int:
        return len(self._offsets)

    @property
    def bytes(self) -> int:
        return len(self._lines)

    def passage(self, row: int) -> Passage:
        """The passage in `row`, its title without surrounding quotes."""
        # An agent's searches find much of what its last ones found.
        passage = self._read.get(row)
        if passage is None:
            passage = to_passage(*self._record(row))
            if self._characters > _MOST_CHARACTERS:
                self._read, self._characters = {}, 0
            self._read[row] = passage
            self._characters += len(passage.text)
        return passage

    def id(self, row: int) -> str:
        return self._record(row)[0]

    def contents(self, start: int = 0, stop: int | None = None) -> Iterator[str]:
        """`contents` of the rows as they are in the file: what is encoded."""
        for row in range(start, len(self) if stop is None else stop):
            yield self._record(row)[1]
            if row % _FORGOTTEN_EVERY == 0:
                # What was read once stays with the system's files, not in this process.
                self._lines.madvise(mmap.MADV_DONTNEED)

    def _record(self, row: int) -> tuple[str, str]:
        start, length = self._offsets[row].tolist()
        line = self._lines[max(start, 0) : max(start + length, 0)]
        if zlib.crc32(line, row) != int(self._checksums[row]):
            raise DamagedDataError(
                f"passage {row} is not what it was when the corpus was built: {CORPUS_FILE}, "
                f"{OFFSETS_FILE} or {CHECKSUMS_FILE} is damaged",
                where=str(self.path),
                remedy=f"remove {OFFSETS_FILE}, which is then made again, or rebuild the corpus",
            )
        record = parse_record(line, f"passage {row}")
        return record.id or record.hash, record.contents


def no_corpus(path: Path) -> InputError:
    """What is wrong with what was named in place of a corpus folder, and how to make one of it."""
    source = source_at(str(path))
    if source is None:
        problem, out = f"no corpus here ({CORPUS_FILE} is missing)", str(path)
    else:
        problem, out = "is what a corpus is built from, not a corpus folder", "C"
    command = f"branchwise corpus build --from {source or 'SRC'} --out {out}"
    return InputError(problem, where=str(path), remedy=f"build one with `{command}`")


def is_source(path: Path) -> bool:
    """Whether a folder's corpus file has passages with title and text, to build a corpus of."""
    try:
        first = next(read_rows(path / CORPUS_FILE, "json"), None)
    except InputError:
        return False
    return first is not None and "contents" not in first.fields and "text" in first.fields


def _recall(path: Path) -> Scan | None:
    import numpy as np

    try:
        facts = _Facts.model_validate_json((path / FACTS_FILE).read_bytes())
        offsets, checksums = (
            np.load(path / name, mmap_mode="r", allow_pickle=False)
            for name in (OFFSETS_FILE, CHECKSUMS_FILE)
        )
    except Exception:  # noqa: BLE001 - numpy lets anything through that a damaged head leads to
        return None
    now = (path / CORPUS_FILE).stat()
    fits = (facts.bytes, facts.mtime_ns) == (now.st_size, now.st_mtime_ns)
    shapes = (offsets.dtype, offsets.shape, checksums.dtype, checksums.shape)
    whole = shapes == (np.int64, (facts.passages, 2), np.uint32, (facts.passages,))
    return Scan(facts.sha256, offsets, checksums) if fits and whole else None


def _remember(path: Path, scan: Scan, file: os.stat_result) -> None:
    """Keep what a pass over `file` found; a folder that cannot be written to is scanned anew."""
    import numpy as np

    size, time = file.st_size, file.st_mtime_ns
    facts = _Facts(sha256=scan.sha256, passages=len(scan), bytes=size, mtime_ns=time)
    with suppress(OSError, InputError):
        (path / FACTS_FILE).unlink(missing_ok=True)
        for name, array in ((OFFSETS_FILE, scan.offsets), (CHECKSUMS_FILE, scan.checksums)):
            with new_file(path / name) as stream:
                np.save(stream, array, allow_pickle=False)
        write_bytes(path / FACTS_FILE, facts.model_dump_json().encode())


class Titles:
    """Looks passages up by title, in any case of letters. Thread-safe. The first look-up reads the
    corpus and, where it can, leaves the folder `titles`: 16 mapped bytes a passage."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    def passages(self, title: str) -> list[Passage]:
        wanted = _folded(title)
        passages = map(self._corpus.passage, self._rows(title))
        return [passage for passage in passages if _folded(passage.title) == wanted]

    def place(self, passage: Passage) -> tuple[int, int] | None:
        """Which of how many passages of its title this is, from 1; None if it is the only one."""
        if len(self._rows(passage.title)) < 2:
            return None
        ids = [part.id for part in self.passages(passage.title)]
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
        return [] if last - first > MAX_PARTS else list(rows[first:last])

    @cached_property
    def _views(self) -> tuple[memoryview, memoryview]:
        # Plain views: numpy takes four times as long for a single number.
        origin = {"titles": self._corpus.sha256}
        arrays = kept_arrays(self._corpus.path / TITLES_FOLDER, origin, self._made)
        return arrays["keys"].data, arrays["rows"].data

    def _made(self) -> "Arrays":
        import numpy as np

        hashes = array("Q")
        for contents in self._corpus.contents():
            hashes.append(_key(_folded(to_passage("", contents).title)))
        keys = np.frombuffer(hashes, dtype=np.uint64)
        rows = np.argsort(keys, kind="stable")
        return {"keys": keys[rows], "rows": rows.astype(np.uint64)}


def _folded(title: str) -> str:
    return one_line(title).casefold()


def _key(folded: str) -> int:
    digest = hashlib.blake2b(folded.encode("utf-8", "replace"), digest_size=8)
    return int.from_bytes(digest.digest())
