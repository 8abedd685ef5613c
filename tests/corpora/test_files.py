"""Compressed files: whole, in several frames, or cut off."""

import gzip
import struct
from pathlib import Path

import pytest
import zstandard

from branchwise.base.errors import InputError
from branchwise.base.files import open_data, read_lines

TEXT = "".join(f"line {number} of the file\n" for number in range(20_000)).encode()
SKIPPED = struct.pack("<II", 0x184D2A50, 5) + b"extra"
"""A frame that readers have to skip (RFC 8878, section 3.1.2)."""


def contents(path: Path) -> bytes:
    with open_data(path) as stream:
        return stream.read()


def test_frames_follow_each_other(tmp_path: Path) -> None:
    frames = [zstandard.compress(part) for part in (TEXT[:7], b"", TEXT[7:90_000], TEXT[90_000:])]
    path = tmp_path / "a.zst"
    path.write_bytes(frames[0] + SKIPPED + b"".join(frames[1:]) + SKIPPED)
    assert contents(path) == TEXT
    assert [number for number, _ in read_lines(path)] == list(range(1, 20_001))


@pytest.mark.parametrize("known_size", [True, False])
def test_a_frame_that_is_cut_off_anywhere_is_an_error(tmp_path: Path, known_size: bool) -> None:
    packed = zstandard.ZstdCompressor(write_content_size=known_size).compress(TEXT[:300])
    path = tmp_path / "a.zst"
    for before in (b"", packed):
        for length in range(1, len(packed)):
            path.write_bytes(before + packed[:length])
            with pytest.raises(InputError, match="the compressed file ends too early"):
                contents(path)


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.jsonl.zst"])
def test_the_lines_of_half_a_file_are_not_the_file(tmp_path: Path, name: str) -> None:
    packed = gzip.compress(TEXT) if name.endswith("gz") else zstandard.compress(TEXT)
    path = tmp_path / name
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(InputError, match="the compressed file ends too early"):
        list(read_lines(path))


def test_other_data_after_a_frame_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.zst"
    path.write_bytes(zstandard.compress(TEXT) + b"no frame at all")
    with pytest.raises(InputError, match="not zstandard data"):
        contents(path)
