"""Whether the files of a built folder are those that were built."""

import os
import shutil
from pathlib import Path

import pytest

from branchwise.base.errors import DamagedDataError
from branchwise.base.files import RECORDS_FILE, check_files, record_files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with records of two files."""
    (tmp_path / "F" / "below").mkdir(parents=True)
    (tmp_path / "F" / "a").write_bytes(b"first")
    (tmp_path / "F" / "below" / "b").write_bytes(b"second")
    (tmp_path / "F" / "LOCK").touch()
    record_files(tmp_path / "F")
    return tmp_path / "F"


def test_what_was_built_passes_and_so_does_a_folder_without_records(folder, tmp_path):
    check_files(folder, "rebuild it")
    (folder / "LOCK").unlink()
    (folder / "more").touch()
    check_files(folder, "rebuild it")
    check_files(tmp_path, "rebuild it")


@pytest.mark.parametrize("data", [b"", b"firs", b"first ", b"fjrst"])
def test_a_file_that_was_changed_is_refused_with_its_name(folder, data):
    (folder / "a").write_bytes(data)
    with pytest.raises(DamagedDataError, match=r"F/a: is damaged .*; rebuild it$"):
        check_files(folder, "rebuild it")


def test_a_file_that_is_gone_is_called_missing(folder):
    (folder / "below" / "b").unlink()
    with pytest.raises(DamagedDataError, match=r"below/b: is missing; rebuild it$"):
        check_files(folder, "rebuild it")


@pytest.mark.parametrize("data", [b"", b"{", b'{"a": [1]}', b'{"a": ["x", 0, ""]}'])
def test_records_that_are_none_are_refused(folder, data):
    (folder / RECORDS_FILE).write_bytes(data)
    with pytest.raises(DamagedDataError, match=rf"{RECORDS_FILE}: is damaged"):
        check_files(folder, "rebuild it")


def test_a_copy_is_read_once_and_then_known_by_its_times(folder, tmp_path, monkeypatch):
    copy = shutil.copytree(folder, tmp_path / "copy")
    os.utime(copy / "a", ns=(1, 1))
    check_files(copy, "rebuild it")
    monkeypatch.setattr("hashlib.file_digest", lambda *_: pytest.fail("it is read again"))
    check_files(copy, "rebuild it")
