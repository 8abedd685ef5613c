"""What files of triples may hold and still be read, and where reading stops."""

import gzip
import hashlib
from pathlib import Path

import pytest
import zstandard

from branchwise.base.errors import InputError
from branchwise.kg.build import build_kg

TRIPLES = """<http://a.example/1> <http://a.example/name> "one"@en .
<http://a.example/2> <http://a.example/name> "two"@en .
"""
PACKERS = {".gz": gzip.compress, ".zst": zstandard.compress}


def write(path: Path, text: str) -> Path:
    path.write_bytes(PACKERS.get(path.suffix, bytes)(text.encode()))
    return path


@pytest.mark.slow
@pytest.mark.parametrize(("name", "place"), [("g.nt", ":3: "), ("g.ttl", ": ")])
def test_a_literal_without_end_is_refused(tmp_path: Path, name: str, place: str) -> None:
    statement = f'<http://a.example/3> <http://a.example/name> "{"x" * 2**24}" .\n'
    source = write(tmp_path / name, TRIPLES + statement)
    with pytest.raises(InputError) as refused:
        build_kg([source], tmp_path / "G")
    assert str(refused.value).startswith(f"{source}{place}contains a literal of more than 16 MiB")
    assert list(tmp_path.iterdir()) == [source]


@pytest.mark.parametrize("name", ["g.nt", "g.ttl", "g.ttl.gz", "g.nt.zst"])
def test_a_byte_order_mark_is_left_out_and_digested(tmp_path: Path, name: str) -> None:
    contents = "\ufeff" + TRIPLES
    built = build_kg([write(tmp_path / name, contents)], tmp_path / "G")
    assert (built.triples, built.sources[0].bytes) == (2, len(contents.encode()))
    assert built.sha256 == hashlib.sha256(contents.encode()).hexdigest()


@pytest.mark.parametrize("kept", [-1, -4, 30])
def test_a_zstandard_file_that_is_cut_off_is_no_graph(tmp_path: Path, kept: int) -> None:
    source = tmp_path / "g.nt.zst"
    packed = zstandard.ZstdCompressor(write_checksum=True).compress(TRIPLES.encode())
    source.write_bytes(packed[:kept])
    with pytest.raises(InputError, match="the compressed file ends too early"):
        build_kg([source], tmp_path / "G")
    assert list(tmp_path.iterdir()) == [source]


def test_a_zstandard_file_may_have_several_frames(tmp_path: Path) -> None:
    frames = [zstandard.compress(line.encode()) for line in TRIPLES.splitlines(keepends=True)]
    (tmp_path / "g.nt.zst").write_bytes(b"".join(frames))
    built = build_kg([tmp_path / "g.nt.zst"], tmp_path / "G")
    assert built.sha256 == hashlib.sha256(TRIPLES.encode()).hexdigest()
