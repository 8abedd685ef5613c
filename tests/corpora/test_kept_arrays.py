"""Arrays of a world's facts, kept in its folder."""

import os
from pathlib import Path

import numpy as np
import pytest

from branchwise.corpora.kept_arrays import PackedTexts, kept_arrays, packed
from branchwise.worlds.questions.facts import KgFacts
from branchwise.worlds.questions.support import Support
from support.synthesis.little_kg import TRIPLES, little_schema

ONE, OTHER = {"file": 1}, {"file": 2}


def _array(number: int) -> dict[str, np.ndarray]:
    return {"numbers": np.array([number]), "none": np.zeros(0, dtype=np.uint8)}


def _refused() -> dict[str, np.ndarray]:
    raise AssertionError("made again")


def test_what_is_kept_is_mapped(tmp_path: Path) -> None:
    kept_arrays(tmp_path / "kept", ONE, lambda: _array(1))

    found = kept_arrays(tmp_path / "kept", ONE, _refused)
    assert isinstance(found["numbers"], np.memmap)
    assert (found["numbers"].tolist(), found["none"].tolist()) == ([1], [])


def test_another_origin_has_other_arrays(tmp_path: Path) -> None:
    kept_arrays(tmp_path / "kept", ONE, lambda: _array(1))

    assert kept_arrays(tmp_path / "kept", OTHER, lambda: _array(2))["numbers"].tolist() == [2]
    assert kept_arrays(tmp_path / "kept", OTHER, _refused)["numbers"].tolist() == [2]


@pytest.mark.parametrize("name", ["numbers.npy", "arrays.json"])
@pytest.mark.parametrize("content", [b"", b"[]", b"\x93NUMPY"])
def test_damaged_arrays_are_made_again(tmp_path: Path, name: str, content: bytes) -> None:
    kept_arrays(tmp_path / "kept", ONE, lambda: _array(1))
    (tmp_path / "kept" / name).write_bytes(content)

    assert kept_arrays(tmp_path / "kept", ONE, lambda: _array(3))["numbers"].tolist() == [3]
    assert kept_arrays(tmp_path / "kept", ONE, _refused)["numbers"].tolist() == [3]


def test_where_nothing_can_be_written_arrays_stay_in_memory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")

    found = kept_arrays(tmp_path / "file" / "kept", ONE, lambda: _array(1))
    assert found["numbers"].tolist() == [1]


def test_texts_are_found_by_their_places() -> None:
    texts = ["", "Łódź", "a" * 300, "\U0001f600"]

    found = PackedTexts(*packed(texts))
    assert [found[place] for place in range(len(found))] == texts


def test_a_graph_that_was_written_to_is_read_again(tmp_path: Path) -> None:
    path, kept = tmp_path / "little.ttl", tmp_path / "facts"
    path.write_text(TRIPLES)
    assert KgFacts.load(path, little_schema(), kept).label("Q101") == "Heat"
    at = path.stat()
    path.write_text(TRIPLES.replace("Heat", "Cold"))
    os.utime(path, ns=(at.st_atime_ns, at.st_mtime_ns + 1))

    assert KgFacts.load(path, little_schema(), kept).label("Q101") == "Cold"


def test_support_that_is_kept_is_the_same(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text(
        '{"id": "b", "statements": [["Q1", "P2", "7"], ["Q1", "P3", "Q4"]]}\n{"id": "é"}\n'
        '{"id": "a", "statements": [["Q1", "P2", "7"]]}\n'
    )
    for _ in range(2):
        found = Support.load(corpus, tmp_path / "kept")
        assert found.ids("Q1", "P2", "7") == ("b", "a")
        assert found.ids("Q1", "P3", "Q4") == ("b",)
        assert found.ids("Q1", "P3", "7") == ()
