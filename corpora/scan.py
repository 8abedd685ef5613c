"""One pass over a corpus file: its digest, where each passage starts, that ids are unique."""

import hashlib
import zlib
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from branchwise.base.errors import InputError
from branchwise.base.files import MAX_LINE_BYTES, cannot_read
from branchwise.corpora.records import parse_record

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Scan:
    """What a pass over a corpus file found.

    `offsets`: int64 [n, 2], first byte and length in bytes of each passage's line. `checksums`:
    uint32 [n], of the lines (`line_checksum`).
    """

    sha256: str
    offsets: "np.ndarray"
    checksums: "np.ndarray"

    def __len__(self) -> int:
        return len(self.offsets)


def scan_corpus(path: Path) -> Scan:
    """Read the whole file once; memory grows by 28 bytes a passage, not with the text.

    Raises InputError, with file and line, for a line that is not a passage and for duplicate ids.
    """
    import numpy as np

    digest = hashlib.sha256()
    places, keys, checksums = array("q"), array("Q"), array("I")
    for number, start, line in _lines(path):
        digest.update(line)
        if line.isspace():
            continue
        record = parse_record(line, f"{path}:{number}")
        if record.id is None:
            raise InputError(
                'lacks "id"',
                where=f"{path}:{number}",
                remedy="run `branchwise corpus build --from` on the file, which gives ids",
            )
        checksums.append(line_checksum(line, len(keys)))
        places.extend((start, len(line)))
        keys.append(id_key(record.id))
    if not keys:
        raise InputError("holds no passages", where=str(path), remedy="write one per line")
    if repeated_keys(keys):
        refuse_duplicate_ids(path, ((n, line) for n, _, line in _lines(path)), keys)
    offsets = np.frombuffer(places, dtype=np.int64).reshape(-1, 2)
    return Scan(digest.hexdigest(), offsets, np.frombuffer(checksums, dtype=np.uint32))


def line_checksum(line: bytes, row: int) -> int:
    """The CRC-32 of a passage's line, begun with its row: another row's line has another."""
    return zlib.crc32(line, row)


def id_key(id: str) -> int:
    """64 bits of a hash of the id: what uniqueness is checked on."""
    return int.from_bytes(hashlib.blake2b(id.encode(), digest_size=8).digest(), "little")


def repeated_keys(keys: "array[int]") -> set[int]:
    """Keys that occur more than once."""
    import numpy as np

    ordered = np.sort(np.frombuffer(keys, dtype=np.uint64))
    return set(ordered[1:][ordered[1:] == ordered[:-1]].tolist())


def refuse_duplicate_ids(
    path: Path, lines: Iterable[tuple[int, bytes]], keys: "array[int]"
) -> None:
    """Raise InputError with both line numbers where two lines share an id (not just a key)."""
    suspects = repeated_keys(keys)
    first: dict[str, int] = {}
    for number, line in lines:
        if line.isspace():
            continue
        id = parse_record(line, f"{path}:{number}").id
        if id is None or id_key(id) not in suspects:
            continue
        if id in first:
            raise InputError(
                f"id {id!r} is already used in line {first[id]}",
                where=f"{path}:{number}",
                remedy="give each passage an id of its own, or none at all",
            )
        first[id] = number


def _lines(path: Path) -> Iterator[tuple[int, int, bytes]]:
    """Number (from 1), first byte and bytes of each line. Raises InputError."""
    start = 0
    try:
        with path.open("rb") as stream:
            for number, line in enumerate(
                iter(lambda: stream.readline(MAX_LINE_BYTES + 1), b""), 1
            ):
                if len(line) > MAX_LINE_BYTES:
                    raise InputError(
                        f"the line is longer than {MAX_LINE_BYTES // 2**20} MiB",
                        where=f"{path}:{number}",
                        remedy="write one JSON object per line",
                    )
                yield number, start, line
                start += len(line)
    except OSError as error:
        raise cannot_read(path, error) from None
