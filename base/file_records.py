"""Whether the files of a built folder (an index, a graph) are those that were built.

`files.json` holds size, time of change and SHA-256 of each. A file whose size and time are those
is taken for what it was, as a corpus's is; any other is read whole, which finds damage and costs a
copied folder its first opening.
"""

import errno
import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import orjson
from pydantic import TypeAdapter, ValidationError

from branchwise.base.atomic import write_bytes
from branchwise.base.errors import DamagedDataError, InputError
from branchwise.base.files import cannot_read

RECORDS_FILE = "files.json"
_Record = tuple[int, int, str]
"""Size in bytes, time of change in nanoseconds, SHA-256."""
_Records = TypeAdapter(dict[str, _Record])
_LEFT_OUT = frozenset({RECORDS_FILE, "LOCK", "LOG"})
"""RocksDB's locks and logs, which are not part of a graph."""


def record_files(folder: Path) -> None:
    """Record all files below a folder: the last step of building it."""
    records = {str(path.relative_to(folder)): _record(path) for path in _files(folder)}
    _write(folder, records)


def has_records(folder: Path) -> bool:
    """Whether its files were recorded; those that were built earlier are not."""
    return (folder / RECORDS_FILE).is_file()


def check_files(folder: Path, remedy: str) -> None:
    """Raise DamagedDataError where a recorded file is missing or is not what was built, and
    InputError where this user may not read it. `remedy`: what to do about damage.

    A folder without records passes.
    """
    if not has_records(folder):
        return
    known = _read(folder, remedy)
    found: dict[str, _Record] = {}
    for name, (size, changed, digest) in known.items():
        path = folder / name
        with _reading(path, remedy):
            now = path.stat()
            if not os.access(path, os.R_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            same = (now.st_size, now.st_mtime_ns) == (size, changed)
            found[name] = (size, changed, digest) if same else _record(path)
        if found[name][::2] != (size, digest):
            raise DamagedDataError(
                "is damaged (not what was built)", where=str(path), remedy=remedy
            )
    if found != known:
        with suppress(OSError, InputError):  # the folder may be read-only
            _write(folder, found)


def _files(folder: Path) -> Iterator[Path]:
    yield from (
        path for path in sorted(folder.rglob("*")) if path.is_file() and path.name not in _LEFT_OUT
    )


def _record(path: Path) -> _Record:
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
        status = os.fstat(stream.fileno())
    return status.st_size, status.st_mtime_ns, digest


def _read(folder: Path, remedy: str) -> Mapping[str, _Record]:
    path = folder / RECORDS_FILE
    try:
        with _reading(path, remedy):
            return _Records.validate_json(path.read_bytes())
    except ValidationError:
        raise DamagedDataError(
            "is damaged (not what was written)", where=str(path), remedy=remedy
        ) from None


def _write(folder: Path, records: Mapping[str, _Record]) -> None:
    write_bytes(folder / RECORDS_FILE, orjson.dumps(records, option=orjson.OPT_INDENT_2) + b"\n")


@contextmanager
def _reading(path: Path, remedy: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise DamagedDataError("is missing", where=str(path), remedy=remedy) from None
    except OSError as error:
        raise cannot_read(path, error) from None
