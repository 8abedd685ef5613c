"""Files and folders that are there whole or not at all.

They are made under a hidden name, `.NAME.XXXXXXXX.partial`, which a killed process leaves behind.
Its maker holds a lock on it, which the system releases however the process ends: the next process
to make the same file or folder removes what is not locked.
"""

import ctypes
import errno
import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from branchwise.base.errors import InputError

_SQLITE = b"SQLite format 3\0"
_SUFFIX = ".partial"
_NEW, _OLD = "new", "old"
_ATTEMPTS = 20
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO})
"""What the system says of a disk that takes no more; SQLite calls each of them an error of I/O."""


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file by renaming a finished one into its place, as `new_file` does."""
    with new_file(path) as stream:
        stream.write(data)


@contextmanager
def new_file(path: Path) -> Iterator[IO[bytes]]:
    """A file to write, renamed to `path` at the end, gone after an error or Ctrl-C.

    A link, a pipe or a device (`/dev/stdout`) stays what it is: it is written through. Raises
    InputError where the disk is full.
    """
    with room_for(path):
        if path.is_symlink() or (path.exists() and not path.is_file()):
            with path.open("wb") as stream:
                yield stream
            return
        remove_abandoned(path)
        descriptor, partial = _locked(path)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
                give_usual_mode(partial)
                partial.replace(path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise


@contextmanager
def room_for(path: Path) -> Iterator[None]:
    """Tells of a full or read-only disk while `path` is written. Raises InputError."""
    try:
        yield
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        raise InputError(
            f"cannot be written ({error.strerror})",
            where=str(path),
            remedy="make room on the disk, or write to another one",
        ) from None


def write_named(path: Path, data: bytes) -> None:
    """Write a file that a user named, as `write_bytes` does; its folder is made.

    Raises InputError for a folder, for a database (a run's store has its results in it), and where
    nothing can be written.
    """
    try:
        if path.is_dir():
            raise InputError("is a folder", where=str(path), remedy="name a file")
        if path.is_file():
            with path.open("rb") as stream:
                if stream.read(len(_SQLITE)) == _SQLITE:
                    raise InputError("is a database", where=str(path), remedy="name another file")
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, data)
    except OSError as error:
        raise InputError(
            f"cannot be written ({error.strerror})", where=str(path), remedy="name another file"
        ) from None


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """An empty folder to fill, renamed to `path` at the end, gone after an error or Ctrl-C.

    What stands at `path` is replaced only then. Files get the modes of the umask, also those that a
    library made for its user alone. Raises InputError where no folder can be made, where the disk
    is full, and for the folder that the process is in.
    """
    try:
        path = path.resolve()
        if path == Path.cwd():
            raise InputError(
                "is the current folder", where=str(path), remedy="choose another folder"
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_abandoned(path)
        lock, partial = _locked(path, folder=True)
    except OSError as error:
        raise InputError(
            f"cannot create a folder here ({error.strerror})",
            where=str(path),
            remedy="choose another folder",
        ) from None
    try:
        with room_for(path):
            (partial / _NEW).mkdir()
            yield partial / _NEW
            for file in (partial / _NEW).rglob("*"):
                give_usual_mode(file)
            _replace(partial, path)
    finally:
        remove_folder(partial)
        os.close(lock)


def remove_folder(path: Path) -> None:
    """Remove a folder of our own, as far as that can be, also while a library's thread writes."""
    for _ in range(_ATTEMPTS):
        shutil.rmtree(path, ignore_errors=True)
        if not path.exists():
            return


def _replace(partial: Path, path: Path) -> None:
    """Give the new folder its name. A process that is killed between two renames leaves the old one
    where `remove_abandoned` finds it."""
    new, old = partial / _NEW, partial / _OLD
    # Where the system (Linux) and the file system can, both names change in one step.
    swap = getattr(ctypes.CDLL(None), "renameat2", None)
    names = os.fsencode(new), os.fsencode(path)
    if not path.exists():
        new.rename(path)
    elif not swap or swap(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE) != 0:
        path.rename(old)
        try:
            new.rename(path)
        except OSError:
            old.rename(path)
            raise


def _locked(path: Path, *, folder: bool = False) -> tuple[int, Path]:
    """A new hidden file or folder beside `path`, and the open handle that holds its lock."""
    while True:  # another process may take it for abandoned before it is locked
        if folder:
            name = tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}.", suffix=_SUFFIX)
            try:
                handle = os.open(name, os.O_RDONLY)
            except FileNotFoundError:
                continue
        else:
            prefix = f".{path.name}."
            handle, name = tempfile.mkstemp(dir=path.parent, prefix=prefix, suffix=_SUFFIX)
        with suppress(OSError):  # a file system without locks, where nothing is taken for abandoned
            fcntl.flock(handle, fcntl.LOCK_EX)
        if Path(name).exists():
            return handle, Path(name)
        os.close(handle)


def remove_abandoned(path: Path) -> None:
    """Remove what killed processes left beside `path` while they made it."""
    path = path.resolve()
    ours = re.compile(rf"\.{re.escape(path.name)}\.[a-z0-9_]{{8}}{re.escape(_SUFFIX)}")
    with suppress(OSError):
        for name in filter(ours.fullmatch, os.listdir(path.parent)):  # noqa: PTH208 - names alone
            _remove_unlocked(path.parent / name, path)


def _remove_unlocked(partial: Path, path: Path) -> None:
    with suppress(OSError):
        handle = os.open(partial, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if (partial / _OLD).is_dir() and not path.exists():
                (partial / _OLD).rename(path)
            if partial.is_dir():
                shutil.rmtree(partial, ignore_errors=True)
            else:
                partial.unlink()
        finally:
            os.close(handle)


def give_usual_mode(path: Path) -> None:
    """Let those read and write a file who may by the umask: SQLite and tantivy leave out some, and
    temporary files are their user's alone. A link stays as it is."""
    if not path.is_symlink():
        mask = os.umask(0o077)
        os.umask(mask)
        path.chmod(path.stat().st_mode | 0o666 & ~mask)
