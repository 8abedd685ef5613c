"""Files and folders that are there whole or not at all."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from branchwise.corpora.errors import InputError

_SQLITE = b"SQLite format 3\0"


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file by renaming a finished one into its place.

    A link, a pipe or a device (`/dev/stdout`) stays what it is: it is written through.
    """
    if path.is_symlink() or (path.exists() and not path.is_file()):
        path.write_bytes(data)
        return
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        Path(name).chmod(0o666 & ~_mask())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_named(path: Path, data: bytes) -> None:
    """Write a file that a user named, as `write_bytes` does.

    Raises InputError for a folder, for a database (a run's store has its results in it), and where
    nothing can be written.
    """
    try:
        if path.is_dir():
            raise InputError("is a folder", where=str(path), remedy="name a file")
        if _is_database(path):
            raise InputError("is a database", where=str(path), remedy="name another file")
        write_bytes(path, data)
    except OSError as error:
        raise InputError(
            f"cannot be written ({error.strerror})", where=str(path), remedy="name another file"
        ) from None


def _is_database(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return stream.read(len(_SQLITE)) == _SQLITE


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """An empty folder to fill, renamed to `path` at the end, gone after an error or Ctrl-C.

    What stands at `path` is replaced only then. A process that is killed leaves a hidden
    `.NAME.XXXX.partial` folder behind, which nothing loads. Raises InputError where no folder can
    be made, and for the folder that the process is in: whoever sits there would sit in a folder
    that is gone.
    """
    try:
        path = path.resolve()
        if path == Path.cwd():
            raise InputError(
                "is the folder that you are in", where=str(path), remedy="choose another place"
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        made = tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}.", suffix=".partial")
    except OSError as error:
        raise InputError(
            f"no folder can be made here ({error.strerror})",
            where=str(path),
            remedy="choose another place",
        ) from None
    partial = Path(made)
    try:
        partial.chmod(0o777 & ~_mask())
        yield partial
        _replace(partial, path)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def _replace(new: Path, path: Path) -> None:
    """Rename `new` to `path`; a folder there steps aside first (folders cannot be overwritten)."""
    if not path.exists():
        new.rename(path)
        return
    aside = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}.", suffix=".old"))
    path.rename(aside / path.name)
    new.rename(path)
    shutil.rmtree(aside, ignore_errors=True)


def _mask() -> int:
    """The process's umask: temporary files are private, what they become is not."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
