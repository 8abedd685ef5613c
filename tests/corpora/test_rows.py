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
from branchwise.corpora.rows import files_of, read_rows


def rows(
    path: Path, content: bytes | str, careful: bool = True
) -> list[tuple[str, dict[str, Any]]]:
    """Of a file with that content: places in it, without its path, and fields."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    found = read_rows(path, careful=careful)
    return [(row.where.removeprefix(f"{path}:"), row.fields) for row in found]


def refusal(path: Path, content: bytes | str, careful: bool = True) -> str:
    with pytest.raises(InputError) as caught:
        rows(path, content, careful)
    return str(caught.value).removeprefix(str(path))


@pytest.mark.parametrize("careful", [True, False])
def test_lines_and_the_entries_of_an_array_are_rows(tmp_path: Path, careful: bool) -> None:
    lines = '\ufeff{"a": 1}\n\n{"a": 2}\n'
    assert rows(tmp_path / "f.jsonl", lines, careful) == [("1", {"a": 1}), ("3", {"a": 2})]
    array = '\ufeff [{"a": "]},\\"{["},\n {"a": [[1], {"b": 2}]}\n]\n'
    expected = [("entry 1", {"a": ']},"{['}), ("entry 2, line 2", {"a": [[1], {"b": 2}]})]
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


NOT_JSON = [
    ('[{"a": 1},]', ":1: not valid JSON"),
    ("[3]", ":entry 1: expected a JSON object, found a number"),
    ("[{]},{}]", ":1: not valid JSON"),
    ("[}]", ":1: not valid JSON"),
    ('[{"a": 1}', ":1: not valid JSON"),
    ('[{"a": 1},\n {"a": "', ":2: not valid JSON"),
    ("[{}] {}", ":1: not valid JSON (more text behind the array)"),
    ("[" * 100_000 + "]" * 100_000, ":1: is nested too deeply"),
    ('{"a": 1}\n3\n', ":2: expected a JSON object, found a number"),
    ('{"a": 1}\n{"a"\n', ":2: not valid JSON"),
    ('{"a": NaN}\n', ":1: not valid JSON"),
    ('{"a": "\\ud800"}\n', ":1: not valid JSON"),
    (b'{"a": "\xff"}\n', ":1: "),
]


@pytest.mark.parametrize("careful", [True, False])
@pytest.mark.parametrize(("content", "line"), NOT_JSON)
def test_what_is_not_json_is_refused_with_its_place(
    tmp_path: Path, content: str | bytes, line: str, careful: bool
) -> None:
    assert refusal(tmp_path / "f.json", content, careful).startswith(line)


@pytest.mark.parametrize("careful", [True, False])
@pytest.mark.parametrize("before", ["", "["])
def test_numbers_and_nesting_without_end_are_refused(
    tmp_path: Path, before: str, careful: bool
) -> None:
    deep = before + '{"a":' * 200_000
    assert refusal(tmp_path / "f.json", deep, careful).startswith(":1: ")
    long = f'{before}{{"a": {"9" * 5_000}}}'
    assert ":1: " in refusal(tmp_path / "f.json", long, careful)


def test_utf_16_is_named(tmp_path: Path) -> None:
    for name in ("f.jsonl", "f.csv"):
        assert refusal(tmp_path / name, "\ufeffa,b".encode("utf-16-le")).startswith(": is UTF-16")


@pytest.mark.parametrize("careful", [True, False])
def test_reading_goes_on_behind_what_is_refused(tmp_path: Path, careful: bool) -> None:
    path = tmp_path / "f.jsonl"
    path.write_text('{"a": 1}\n{"a"\n3\n{"a": 4}\n')
    refused: list[str] = []
    found = read_rows(path, refuse=lambda kind, error: refused.append(kind), careful=careful)
    assert [row.fields["a"] for row in found] == [1, 4]
    assert len(refused) == 2


def test_an_entry_without_end_is_not_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("branchwise.corpora.rows.json_rows.MAX_LINE_BYTES", 2**20)
    packed = gzip.compress(b'[{"a": "' + b"x" * 2**25)
    assert refusal(tmp_path / "f.json.gz", packed) == ":1: the entry is longer than 1 MiB"


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
    expected = [tuple(cell or None for cell in row) for row in table if any(row)]
    assert [tuple(fields.values()) for _, fields in found] == expected


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("", ": is empty"),
        ("a,a\n", ":1: two columns are called 'a'"),
        ("a,b\n1,2\n3\n", ":3: has 1 cells, the header 2"),
        ("a,b\n1,2,3\n", ":2: has 3 cells, the header 2"),
        ('a,b\n\n1,"x\n2,y\n', ":3: a quotation mark is never closed"),
        ('a,b\n1,"x"y\n', ":2: ',' expected after '\"'"),
        (b"a,b\n1,2\n3,\xff\n", ":3: is not UTF-8"),
    ],
)
def test_what_is_not_csv_is_refused_with_its_place(
    tmp_path: Path, content: str | bytes, line: str
) -> None:
    assert refusal(tmp_path / "f.csv", content).startswith(line)


def test_a_row_without_end_is_not_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("branchwise.corpora.rows.csv_rows._MOST_BYTES", 2**20)
    packed = gzip.compress(b"a,b\n" + b'"\n",' * 2**20)
    assert refusal(tmp_path / "f.csv.gz", packed).startswith(":2: the row is longer than")


def test_the_files_of_a_folder_are_those_of_the_layout(tmp_path: Path) -> None:
    for name in ("b.csv", "a.csv.gz", "c.jsonl", "d.tsv"):
        (tmp_path / name).touch()
    assert [path.name for path in files_of(tmp_path, "csv")] == ["a.csv.gz", "b.csv", "d.tsv"]
    with pytest.raises(InputError, match=r"is a folder without a \*\.parquet or \*\.pq"):
        files_of(tmp_path, "parquet")
