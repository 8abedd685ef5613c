"""Files that are there whole or not at all, and what is no file."""

import os
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from branchwise.corpora.atomic import write_bytes, write_named
from branchwise.corpora.errors import InputError


def test_a_file_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"old and longer")
    before = path.stat().st_ino
    write_bytes(path, b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_ino != before
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old and longer")
    link.symlink_to(target)
    write_bytes(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_a_pipe_stays_a_pipe(tmp_path: Path) -> None:
    pipe, read = tmp_path / "pipe", list[bytes]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    write_bytes(pipe, b"through")
    reader.join(10)
    assert read == [b"through"]
    assert pipe.is_fifo()


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        write_bytes(tmp_path, b"x")


def test_a_file_that_a_user_names_never_replaces_a_database(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE results (number)")
    before = path.read_bytes()
    with pytest.raises(InputError, match="is a database; name another file"):
        write_named(path, b"<!doctype html>")
    assert path.read_bytes() == before


def test_a_place_that_takes_no_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder; name a file"):
        write_named(tmp_path, b"x")
    with pytest.raises(InputError, match="cannot be written"):
        write_named(tmp_path / "missing" / "x.html", b"x")
    write_named(tmp_path / "x.html", b"old")
    write_named(tmp_path / "x.html", b"new")
    assert (tmp_path / "x.html").read_bytes() == b"new"
