"""Rows of JSON and CSV files: what is read, and where and why reading ends."""

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.corpora.errors import InputError
from branchwise.corpora.rows import read_rows


def rows(path: Path, content: bytes | str) -> list[tuple[str, dict[str, Any]]]:
    """Of a file with that content: places in it, without its path, and fields."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return [(row.where.removeprefix(f"{path}:"), dict(row.fields)) for row in read_rows(str(path))]


def refusal(path: Path, content: bytes | str) -> str:
    with pytest.raises(InputError) as caught:
        rows(path, content)
    return str(caught.value).removeprefix(str(path))


def test_lines_and_the_entries_of_an_array_are_rows(tmp_path: Path) -> None:
    lines = '{"a": 1}\n\n{"a": 2}\n'
    assert rows(tmp_path / "f.jsonl", lines) == [("1", {"a": 1}), ("3", {"a": 2})]
    array = '\ufeff [{"a": "]},\\"{["}, {"a": [[1], {"b": 2}]}\n]\n'
    expected = [("entry 1", {"a": ']},"{['}), ("entry 2", {"a": [[1], {"b": 2}]})]
    assert rows(tmp_path / "f.json", array) == expected
    assert rows(tmp_path / "f.jsonl", array) == expected, "the first character counts"
    assert rows(tmp_path / "f.json", "[ ]") == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(
    entries=st.lists(st.dictionaries(st.text(), JSON, max_size=4), max_size=5),
    chunk=st.integers(1, 40),
    indent=st.sampled_from([None, 1]),
)
def test_arrays_are_split_wherever_a_chunk_ends(
    tmp_path_factory: pytest.TempPathFactory,
    entries: list[dict[str, Any]],
    chunk: int,
    indent: int | None,
) -> None:
    path = tmp_path_factory.mktemp("array") / "f.json"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("branchwise.corpora.rows.json_rows._CHUNK", chunk)
        found = rows(path, json.dumps(entries, indent=indent))
    assert [fields for _, fields in found] == entries


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ('[{"a": 1},]', ":entry 2: not valid JSON"),
        ("[3]", ":entry 1: expected a JSON object, found a number; write an array of objects"),
        ("[{]},{}]", ":entry 1: not valid JSON"),
        ("[}]", ":entry 1: not valid JSON"),
        ('[{"a": 1}', ":entry 1: the JSON array has no end"),
        ('[{"a": 1}, {"a": "', ":entry 2: the JSON array has no end"),
        ("[{}] {}", ": something follows the JSON array"),
        ("[" * 100_000 + "]" * 100_000, ":entry 1: not valid JSON (depth limit"),
        ("[{}," + '{"a":' * 5_000 + "1" + "}" * 5_000 + "]", ":entry 2: not valid JSON"),
        ('{"a": 1}\n3\n', ":2: expected a JSON object, found a number"),
        ("\ufeff{}".encode("utf-16-le"), ": is UTF-16; save it as UTF-8"),
        (b'[{"a": "\xff"}]', ":entry 1: not valid JSON"),
    ],
)
def test_what_is_not_json_is_refused_with_its_place(
    tmp_path: Path, content: str | bytes, line: str
) -> None:
    assert refusal(tmp_path / "f.json", content).startswith(line)


def test_an_entry_without_end_is_not_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("branchwise.corpora.rows.json_rows.MAX_LINE_BYTES", 2**20)
    packed = gzip.compress(b'[{"a": "' + bytes(2**25))
    assert refusal(tmp_path / "f.json.gz", packed) == ":entry 1: takes more than 1 MiB"


def test_csv_as_spreadsheets_write_it(tmp_path: Path) -> None:
    content = b'\xef\xbb\xbfid,text\r\n1,"two\nlines, ""quoted"""\r\n\r\n2,caf\xc3\xa9\r\n'
    expected = [("2", {"id": "1", "text": 'two\nlines, "quoted"'})]
    assert rows(tmp_path / "f.csv", content) == [*expected, ("5", {"id": "2", "text": "café"})]


def test_the_header_says_what_stands_between_columns(tmp_path: Path) -> None:
    assert rows(tmp_path / "f.csv", "a;b\n1,5;2\n") == [("2", {"a": "1,5", "b": "2"})]
    assert rows(tmp_path / "f.tsv", "a\tb\n1\t2\n") == [("2", {"a": "1", "b": "2"})]
    assert rows(tmp_path / "f.csv", "a\n1\n") == [("2", {"a": "1"})]
    assert rows(tmp_path / "f.csv", ",a\n1,2\n") == [("2", {"column 1": "1", "a": "2"})]


CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"))


@given(table=st.lists(st.tuples(CELLS, CELLS), max_size=5), delimiter=st.sampled_from(",;\t"))
def test_what_python_writes_as_csv_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, table: list[tuple[str, str]], delimiter: str
) -> None:
    written = io.StringIO(newline="")
    csv.writer(written, delimiter=delimiter).writerows([("a", "b"), *table])
    path = tmp_path_factory.mktemp("csv") / "f.csv"
    found = rows(path, written.getvalue())
    assert [tuple(fields.values()) for _, fields in found] == table


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("", ": is empty"),
        ("a,a\n", ":1: two columns are called 'a'"),
        ("a,b\n1,2\n3\n", ":3: the header has 2 columns, this row 1"),
        ("a,b\n1,2,3\n", ":2: the header has 2 columns, this row 3"),
        ('a,b\n1,"x\n2,y\n', ":2: is not CSV (a quoted text has no end)"),
        ('a,b\n1,"x"y\n', ":2: is not CSV"),
        (b"a,b\n1,2\n3,\xff\n", ":3: is not UTF-8"),
        ("a,b".encode("utf-16"), ": is UTF-16; save it as UTF-8"),
    ],
)
def test_what_is_not_csv_is_refused_with_its_place(
    tmp_path: Path, content: str | bytes, line: str
) -> None:
    assert refusal(tmp_path / "f.csv", content).startswith(line)


def test_a_row_without_end_is_not_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("branchwise.corpora.rows.delimited._MOST_BYTES", 2**20)
    packed = gzip.compress(b"a,b\n" + b'"\n",' * 2**20)
    assert refusal(tmp_path / "f.csv.gz", packed).startswith(":2: the row takes more than 1 MiB")


def test_the_rows_of_a_folder_are_those_of_its_files(tmp_path: Path) -> None:
    for name in ("b.csv", "a.csv", "c.jsonl"):
        (tmp_path / name).write_text('n\n"' + name + '"\n')
    found = [row.fields["n"] for row in read_rows(f"csv:{tmp_path}")]
    assert found == ["a.csv", "b.csv"]
    with pytest.raises(InputError, match=r"is a folder without a \*\.tsv"):
        list(read_rows(f"tsv:{tmp_path}"))


def test_a_name_that_says_no_form_is_refused() -> None:
    with pytest.raises(InputError, match=r"f\.txt: its name does not say .* \(jsonl:, json:, csv:"):
        read_rows("f.txt")
    with pytest.raises(InputError, match=r"f\.csv: no such file"):
        list(read_rows("jsonl:f.csv"))
