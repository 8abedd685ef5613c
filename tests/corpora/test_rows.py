"""Rows of JSON and CSV files: what they are, where they are, what is refused, by which fields."""

import csv
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from branchwise.base.errors import InputError
from branchwise.commands.options import spread_fields
from branchwise.corpora.rows import FieldNames, files_of, read_rows

OBJECTS = st.lists(
    st.dictionaries(
        st.text(max_size=5),
        st.recursive(
            st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=20),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(st.text(max_size=3), inner, max_size=3)
            ),
            max_leaves=5,
        ),
        max_size=3,
    ),
    max_size=5,
)
Layout = Callable[[object], str]
LAYOUTS: dict[str, Layout] = {
    "plain": json.dumps,
    "as it is": lambda value: json.dumps(value, ensure_ascii=False),
    "compact": lambda value: json.dumps(value, separators=(",", ":")),
    "indented": lambda value: json.dumps(value, indent=3),
}


def rows(path: Path, **options: object) -> list[dict[str, object]]:
    return [row.fields for row in read_rows(path, **options)]  # type: ignore[arg-type]


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are read so little at a time that every value is cut in every place."""
    monkeypatch.setattr("branchwise.corpora.json_rows._CHUNK", 1)


@pytest.fixture
def small_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("branchwise.corpora.table_rows._MOST_CELL_BYTES", 100)


@pytest.mark.slow
@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("layout", LAYOUTS)
@settings(max_examples=60, deadline=None)
@given(values=OBJECTS)
def test_an_array_is_read_as_the_standard_library_reads_it(
    tmp_path_factory: pytest.TempPathFactory, layout: str, values: list[dict[str, object]]
) -> None:
    path = tmp_path_factory.mktemp("array") / "a.json"
    path.write_text(LAYOUTS[layout](values), encoding="utf-8")
    for strict in (False, True):
        assert rows(path, strict=strict) == values


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["plain", "as it is", "compact"])
@settings(max_examples=60, deadline=None)
@given(values=OBJECTS)
def test_lines_are_read_as_the_standard_library_reads_them(
    tmp_path_factory: pytest.TempPathFactory, layout: str, values: list[dict[str, object]]
) -> None:
    path = tmp_path_factory.mktemp("lines") / "a.jsonl"
    path.write_text("".join(f"{LAYOUTS[layout](one)}\n" for one in values), encoding="utf-8")
    for strict in (False, True):
        assert rows(path, strict=strict) == values


def test_an_entry_has_its_number_and_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('[{"a": "x\\ny"},\n{"a": [\n1]},\n\n{}]')
    places = [row.where for row in read_rows(path)]
    assert places == [f"{path}:entry 1", f"{path}:entry 2, line 2", f"{path}:entry 3, line 5"]


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[", r"a\.json:1: not valid JSON \(Expecting value\)"),
        ('[{"a": 1},\n', r"a\.json:2: not valid JSON"),
        ('[{"a": 1}\n{"a": 2}]', r"a\.json:2: not valid JSON \(expected ',', found '{'\)"),
        ('[{"a": 1},]', r"a\.json:1: not valid JSON"),
        ('[{"a": 1}] x', r"a\.json:1: not valid JSON \(more text behind the array\)"),
        ('[{"a": "x', r"a\.json:1: not valid JSON \(Unterminated string"),
        ('[{"a": NaN}]', r"a\.json:1: not valid JSON"),
        ('[\n{"a": "\\ud800"}]', r"a\.json:2: not valid JSON"),
        ("[7]", r"a\.json:entry 1: expected a JSON object, found a number"),
        (f"[{'[' * 100_000}", r"a\.json:1: is nested too deeply"),
    ],
)
def test_what_is_no_array_of_objects_is_refused_at_its_line(
    tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        rows(path)


def test_an_entry_that_does_not_end_is_not_held_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("branchwise.base.files.MAX_LINE_BYTES", 2**20)
    path = tmp_path / "a.json"
    path.write_text('[{"a": "' + "x" * (4 * 2**20))
    with pytest.raises(InputError, match=r"a\.json:1: the entry is longer than 1 MiB"):
        rows(path)


def test_an_object_over_several_lines_is_one_mistake(tmp_path: Path) -> None:
    path = tmp_path / "f.json"
    path.write_text(json.dumps({"a": [1, 2]}, indent=1))
    with pytest.raises(InputError, match=r"f\.json:1: is one JSON object over several lines"):
        list(read_rows(path, refuse=lambda *_: None))


@pytest.mark.parametrize("text", ['{"a": {"b": 1, "b": 2}}', '[{"a": {"b" : 1, "b": 2}}]'])
def test_a_repeated_key_is_refused_where_it_is_asked_for(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    assert rows(path) == [{"a": {"b": 2}}]
    with pytest.raises(InputError, match="has the key 'b' twice in one object"):
        rows(path, strict=True)


def test_what_is_refused_is_passed_where_the_caller_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lines = [b'{"a": 1}', b"{", b"[1]", b'{"a": "\xff"}', b'{"a": 1, "a": 2}', b'{"a": 3}']
    path.write_bytes(b"\n".join(lines))
    refused: list[tuple[str, str | None]] = []
    found = read_rows(
        path, None, lambda kind, error: refused.append((kind, error.where)), strict=True
    )
    assert [row.fields for row in found] == [{"a": 1}, {"a": 3}]
    assert refused == [
        ("not-json", f"{path}:2"),
        ("not-an-object", f"{path}:3"),
        ("not-utf8", f"{path}:4"),
        ("repeated-key", f"{path}:5"),
    ]


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_compressed_files_are_read_like_others(tmp_path: Path, suffix: str) -> None:
    pack = {"": bytes, ".gz": gzip.compress, ".zst": zstandard.compress}[suffix]
    for name, data in {"a.json": b'[{"a": "1"}]', "a.csv": b"a\n1\n"}.items():
        path = tmp_path / f"{name}{suffix}"
        path.write_bytes(pack(data))
        assert rows(path) == [{"a": "1"}]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_cells_are_texts_in_whatever_way_they_are_divided(tmp_path: Path, delimiter: str) -> None:
    path = tmp_path / "q.csv"
    lines = ["question,answers,", '"Who, and ""when""?\n(both)",007,', ",,", "What?,,x"]
    text = "\r\n".join(line.replace(",", delimiter) for line in lines)
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    found = [*read_rows(path)]
    assert [row.where for row in found] == [f"{path}:2", f"{path}:5"]
    said = f'Who{delimiter} and "when"?\n(both)'
    assert found[0].fields == {"question": said, "answers": "007", "column 3": None}
    assert found[1].fields == {"question": "What?", "answers": None, "column 3": "x"}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", r"q\.csv: is empty"),
        (b"a,a\n1,2\n", r"q\.csv:1: two columns are called 'a'"),
        (b"a,b\n1\n", r"q\.csv:2: has 1 cells, the header 2"),
        (b"a,b\n1,2,3\n", r"q\.csv:2: has 3 cells, the header 2"),
        (b"a\n\xe9\n", r"q\.csv:2: is not UTF-8 text; save it as UTF-8"),
        ("a\n1\n".encode("utf-16"), r"q\.csv: is UTF-16; save it as UTF-8"),
        (b'a\n"' + b"x" * 200, r"q\.csv:2: field larger than field limit"),
    ],
)
def test_bad_csv_is_refused_at_its_line(
    tmp_path: Path, small_cells: None, data: bytes, message: str
) -> None:
    path = tmp_path / "q.csv"
    path.write_bytes(data)
    with pytest.raises(InputError, match=message):
        rows(path)


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


@pytest.mark.slow
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


KNOWN = ("id", "title", "text")


def test_a_name_with_a_dot_comes_before_a_path() -> None:
    names = FieldNames.of({"text": "a.b"}, KNOWN)
    assert names.split({"a.b": 1, "a": {"b": 2}}) == ({"text": 1}, {"a": {"b": 2}})


def test_an_option_takes_several_names() -> None:
    once = ["x", "--field", "a=b", "c_d=e", "--out", "f=g", "--field=h=i", "j=k", "l"]
    assert spread_fields(once) == [
        *("x", "--field", "a=b", "--field", "c_d=e", "--out", "f=g"),
        *("--field=h=i", "--field", "j=k", "l"),
    ]
