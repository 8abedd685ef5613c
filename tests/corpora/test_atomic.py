"""Files that are there whole or not at all, and what is no file."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from branchwise.base.atomic import new_folder, write_bytes, write_named
from branchwise.base.errors import InputError


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
    write_named(tmp_path / "x.html", b"old")
    with pytest.raises(InputError, match="cannot be written"):
        write_named(tmp_path / "x.html" / "y.html", b"x")
    write_named(tmp_path / "made" / "x.html", b"x")
    assert (tmp_path / "made" / "x.html").read_bytes() == b"x"
    write_named(tmp_path / "x.html", b"new")
    assert (tmp_path / "x.html").read_bytes() == b"new"


PROGRAM = """
import os, shutil, signal, sys
from pathlib import Path
from branchwise.base import atomic

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

def rename_and_die(path, target, rename=Path.rename):
    rename(path, target)
    die()

path = Path(sys.argv[1])
{patch}
if path.suffix:
    atomic.write_bytes(path, b"new")
with atomic.new_folder(path) as folder:
    (folder / "file").write_text("new")
    {inside}
"""
SWAPS = "atomic.ctypes.CDLL = lambda _: None; "


def killed(path: Path, patch: str, inside: str = "pass") -> None:
    """Make `path` in a process that kills itself at the chosen point."""
    program = PROGRAM.format(patch=patch, inside=inside)
    ended = subprocess.run([sys.executable, "-c", program, str(path)], check=False)
    assert ended.returncode == -signal.SIGKILL


@pytest.mark.usefixtures("process")
@pytest.mark.parametrize(
    ("patch", "inside", "stands"),
    [
        ("", "die()", "old"),
        ("atomic._replace = die", "pass", "old"),
        ("shutil.rmtree = die", "pass", "new"),
        (f"{SWAPS}Path.rename = rename_and_die", "pass", None),
        (f"{SWAPS}shutil.rmtree = die", "pass", "new"),
    ],
    ids=["while it is filled", "whole", "swapped", "the old one is aside", "without swapping"],
)
def test_a_folder_that_was_killed_while_it_was_replaced_leaves_nothing_to_clean_up(
    tmp_path: Path, patch: str, inside: str, stands: str | None
) -> None:
    path = tmp_path / "home" / "folder"
    path.mkdir(parents=True)
    (path / "file").write_text("old")
    killed(path, patch, inside)
    assert len(list(path.parent.iterdir())) == 1 + (stands is not None)
    if stands is not None:
        assert (path / "file").read_text() == stands
    with pytest.raises(IsADirectoryError), new_folder(path) as folder:
        folder.write_text("fails")
    assert list(path.parent.iterdir()) == [path]
    assert (path / "file").read_text() == (stands or "old")
    with new_folder(path) as folder:
        (folder / "file").write_text("third")
    assert list(path.parent.iterdir()) == [path]
    assert (path / "file").read_text() == "third"


def test_modes_go_by_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o002)
    try:
        with new_folder(tmp_path / "F") as folder:
            (folder / "below").mkdir()
            os.close(os.open(folder / "below" / "a", os.O_CREAT, 0o600))
        write_bytes(tmp_path / "b", b"")
    finally:
        os.umask(before)
    assert (tmp_path / "F" / "below" / "a").stat().st_mode & 0o777 == 0o664
    assert (tmp_path / "F" / "below").stat().st_mode & 0o777 == 0o775
    assert (tmp_path / "b").stat().st_mode & 0o777 == 0o664


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "x").symlink_to("/dev/full")
    with pytest.raises(InputError, match=r"x: cannot be written \(No space left on device\); make"):
        write_bytes(tmp_path / "x", b"data")


def test_what_is_being_made_is_not_taken_for_abandoned(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    with new_folder(path) as slow:
        (slow / "file").write_text("slow")
        with new_folder(path) as fast:
            (fast / "file").write_text("fast")
        assert (path / "file").read_text() == "fast"
    assert (path / "file").read_text() == "slow"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.usefixtures("process")
def test_a_file_that_was_killed_while_it_was_written_leaves_nothing_to_clean_up(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")
    killed(path, "os.fsync = die")
    killed(path, "Path.replace = die")
    assert path.read_bytes() == b"old"
    beside = tmp_path / ".a.txt.backup"
    beside.write_bytes(b"a file of the user's")
    write_bytes(path, b"new")
    assert path.read_bytes() == b"new"
    assert sorted(tmp_path.iterdir()) == [beside, path]
