"""Rows of parquet files and of data sets that `datasets` loads."""

import datetime
import decimal
import os
from pathlib import Path

import pytest

from branchwise.base.errors import InputError
from branchwise.corpora.rows import read_rows
from branchwise.corpora.table_rows import hub_rows

pa = pytest.importorskip("pyarrow", reason="parquet files need pyarrow")


def written(path: Path, columns: dict[str, object], group: int = 2) -> Path:
    import pyarrow.parquet as pq

    pq.write_table(pa.table(columns), path, row_group_size=group)
    return path


def test_values_of_every_kind_become_json(tmp_path: Path) -> None:
    path = written(
        tmp_path / "f.parquet",
        {
            "nested": [{"name": "n", "more": [1.5, float("nan")]}, None],
            "map": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64())),
            "day": [datetime.date(2020, 1, 2), None],
            "time": [datetime.datetime(2020, 1, 2, 3), None],
            "decimal": [decimal.Decimal("1.5"), None],
            "bytes": [b"text", b"\xff"],
            "category": pa.array(["a", "b"]).dictionary_encode(),
            "true": [True, None],
        },
    )
    first, second = read_rows(path)
    assert first.where == f"{path}:row 1"
    assert first.fields == {
        "nested": {"name": "n", "more": [1.5, None]},
        "map": {"k": 1},
        "day": "2020-01-02",
        "time": "2020-01-02T03:00:00",
        "decimal": "1.5",
        "bytes": "text",
        "category": "a",
        "true": True,
    }
    assert second.fields == dict.fromkeys(first.fields) | {"category": "b", "bytes": "ff"}


def test_rows_are_numbered_through_batches_and_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("branchwise.corpora.table_rows._AT_ONCE", 2)
    path = written(tmp_path / "f.parquet", {"n": list(range(1, 8))}, group=3)
    assert [(row.where, row.fields["n"]) for row in read_rows(path)] == [
        (f"{path}:row {n}", n) for n in range(1, 8)
    ]


def test_only_wanted_columns_are_read(tmp_path: Path) -> None:
    path = written(tmp_path / "f.parquet", {"a": [1], "b": [2], "c": [3]})
    assert next(read_rows(path, wanted={"b", "x"})).fields == {"b": 2}
    assert next(read_rows(path, wanted={"x"})).fields == {"a": 1, "b": 2, "c": 3}


def test_a_file_that_is_not_parquet_or_is_damaged_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    path.write_bytes(b"PAR1 not really")
    with pytest.raises(InputError, match=r"f\.parquet: cannot be read as Parquet"):
        list(read_rows(path))
    whole = written(path, {"text": ["some text"] * 50}).read_bytes()
    path.write_bytes(whole[:20] + b"\xff" * 20 + whole[40:])
    with pytest.raises(InputError, match=r"f\.parquet: cannot be read as Parquet"):
        list(read_rows(path))
    with pytest.raises(InputError, match="no such file"):
        list(read_rows(tmp_path / "none.parquet"))


def test_a_column_that_unpacks_to_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("branchwise.corpora.table_rows._MOST_COLUMN_BYTES", 2**20)
    path = written(tmp_path / "f.parquet", {"id": [1], "doc": [{"text": "x" * 2**21}]})
    assert path.stat().st_size < 2**20
    with pytest.raises(InputError, match=r"f\.parquet: column 'doc' has 0 GiB in one group"):
        list(read_rows(path))
    assert [row.fields for row in read_rows(path, wanted={"id"})] == [{"id": 1}]


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A local data set with two splits; `datasets` keeps what it loads in the test's folder."""
    datasets = pytest.importorskip("datasets", reason="hf: needs the package datasets")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    folder = tmp_path / "set"
    folder.mkdir()
    written(folder / "train.parquet", {"text": ["a", "b"], "n": [1, 2]})
    written(folder / "test.parquet", {"text": ["c"], "n": [3]})
    return folder


@pytest.mark.slow
def test_a_data_set_is_read_by_its_split(hub: Path) -> None:
    found = list(hub_rows(f"{hub}::test"))
    assert [(row.where, row.fields) for row in found] == [
        (f"hf:{hub}::test:row 1", {"text": "c", "n": 3})
    ]
    assert [row.fields for row in hub_rows(f"{hub}::train", {"n"})] == [{"n": 1}, {"n": 2}]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rest", "line"),
    [
        ("", r"has the splits train, test; name one: hf:.*set::train"),
        ("::dev", r"Unknown split \"dev\"\. Should be one of"),
        (":other", r"BuilderConfig 'other' not found"),
    ],
)
def test_what_a_data_set_does_not_have_is_refused(hub: Path, rest: str, line: str) -> None:
    with pytest.raises(InputError, match=line):
        list(hub_rows(f"{hub}{rest}"))


@pytest.mark.slow
@pytest.mark.skipif(os.environ.get("HF_HUB_OFFLINE") != "1", reason="HF_HUB_OFFLINE=1 is not set")
def test_a_data_set_that_is_not_local_is_refused_without_a_network(hub: Path) -> None:
    with pytest.raises(
        InputError, match="is not on this machine, and cannot be loaded from the hub"
    ):
        list(hub_rows("example/none"))
    with pytest.raises(InputError, match="names no set"):
        list(hub_rows(""))
