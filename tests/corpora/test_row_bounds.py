"""Rows are bounded, and files that are named are those that are read."""

import csv
import gzip
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.base.errors import InputError
from branchwise.corpora.rows import files_of, read_rows


def refusal(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        [*read_rows(path)]
    return str(caught.value).removeprefix(str(path))


@pytest.mark.parametrize("before", [b"", b"["])
def test_nesting_without_end_is_refused(tmp_path: Path, before: bytes) -> None:
    assert refusal(tmp_path / "f.json", before + b'{"a":' * 200_000).startswith(":1: ")


def test_a_number_of_thousands_of_digits_is_refused(tmp_path: Path) -> None:
    line = refusal(tmp_path / "f.json", b'[{"a": ' + b"9" * 5_000 + b"}]")
    assert line == ":1: holds a number of thousands of digits; shorten it"


def test_utf_16_is_named(tmp_path: Path) -> None:
    for name in ("f.jsonl", "f.csv"):
        found = refusal(tmp_path / name, "\ufeffa,b".encode("utf-16-le"))
        assert found == ": is UTF-16; save it as UTF-8"


def test_a_row_of_csv_without_end_is_not_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("branchwise.corpora.table_rows._MOST_ROW_BYTES", 2**20)
    packed = gzip.compress(b"a,b\n" + b'"\n",' * 2**20)
    assert refusal(tmp_path / "f.csv.gz", packed).startswith(":2: the row is longer than")


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b'a,b\n\n1,"x\n2,y\n', ":3: a quotation mark is never closed"),
        (b'a,b\n1,"x"y\n', ":2: ',' expected after '\"'; write a quotation mark in a cell as"),
    ],
)
def test_a_quotation_mark_swallows_no_rows(tmp_path: Path, content: bytes, line: str) -> None:
    assert refusal(tmp_path / "f.csv", content).startswith(line)


CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"))


@given(table=st.lists(st.tuples(CELLS, CELLS), max_size=5), delimiter=st.sampled_from(",;\t|"))
def test_what_python_writes_as_csv_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, table: list[tuple[str, str]], delimiter: str
) -> None:
    written = io.StringIO(newline="")
    csv.writer(written, delimiter=delimiter).writerows([("a", "b"), *table])
    path = tmp_path_factory.mktemp("csv") / "f.csv"
    path.write_bytes(written.getvalue().encode())
    expected = [tuple(cell or None for cell in row) for row in table if any(row)]
    assert [tuple(row.fields.values()) for row in read_rows(path)] == expected


def test_the_files_of_a_folder_are_those_of_the_layout(tmp_path: Path) -> None:
    for name in ("b.csv", "a.csv.gz", "c.jsonl", "d.tsv"):
        (tmp_path / name).touch()
    assert [path.name for path in files_of(tmp_path, "csv")] == ["a.csv.gz", "b.csv", "d.tsv"]
    with pytest.raises(InputError, match=r"is a folder without a \*\.parquet or \*\.pq"):
        files_of(tmp_path, "parquet")
