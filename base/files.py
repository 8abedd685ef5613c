"""Reading data files, and whether those of a built folder are what was built."""

import codecs
import errno
import gzip
import hashlib
import os
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, cast

import orjson
from pydantic import TypeAdapter, ValidationError

from branchwise.base.atomic import write_bytes
from branchwise.base.errors import DamagedDataError, InputError, Refuse, raising

MAX_LINE_BYTES = 16 * 2**20
MAX_JSON_BYTES = 512 * 2**20
_ZSTANDARD_BYTES = 1024  # at a time: they become 32 MiB at most


@contextmanager
def open_data(path: Path) -> Iterator[IO[bytes]]:
    """The file's bytes, decompressed where its name ends in .gz or .zst.

    Raises InputError where the file is missing, unreadable or not what its name says.
    """
    try:
        with _stream(path) as stream:
            if path.is_char_device() and not stream.isatty():  # /dev/zero has no end
                raise InputError("is a device", where=str(path), remedy="name a file")
            yield stream
    except IsADirectoryError:
        raise InputError("is a folder", where=str(path), remedy="name a file in it") from None
    except FileNotFoundError:
        raise InputError("no such file", where=str(path), remedy="check the path") from None
    except EOFError:
        raise InputError("the compressed file ends too early", where=str(path)) from None
    except zlib.error:
        raise InputError("the compressed file is damaged", where=str(path)) from None
    except OSError as error:
        raise cannot_read(path, error) from None


def cannot_read(path: Path, error: OSError) -> InputError:
    """The refusal of a file that the system does not let this user read."""
    denied = error.errno in (errno.EACCES, errno.EPERM)
    remedy = "ask its owner to make it readable" if denied else None
    return InputError(f"cannot be read ({error.strerror or error})", where=str(path), remedy=remedy)


def _stream(path: Path) -> IO[bytes]:
    if path.suffix == ".gz":
        return cast(IO[bytes], gzip.open(path, "rb"))
    if path.suffix == ".zst":
        return _zstandard_stream(path)
    return path.open("rb")


def _zstandard_stream(path: Path) -> IO[bytes]:
    import io

    import zstandard

    class Reader(io.RawIOBase):
        """The frames of a file one after the other; zstandard's own takes a cut one for whole."""

        def __init__(self) -> None:
            self._file = path.open("rb")
            self._frame = zstandard.ZstdDecompressor().decompressobj()
            self._text = memoryview(b"")

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            while not self._text and (packed := self._packed()):
                try:
                    self._text = memoryview(self._frame.decompress(packed))
                except zstandard.ZstdError as error:
                    raise OSError(f"not zstandard data: {error}") from None
            size = min(len(buffer), len(self._text))
            buffer[:size] = self._text[:size]
            self._text = self._text[size:]
            return size

        def _packed(self) -> bytes:
            """The next bytes of the frame, or of a new one; b"" at the end of the last."""
            if not self._frame.eof:
                if packed := self._file.read(_ZSTANDARD_BYTES):
                    return packed
                raise EOFError
            packed = self._frame.unused_data or self._file.read(_ZSTANDARD_BYTES)
            if packed:
                self._frame = zstandard.ZstdDecompressor().decompressobj()
            return packed

        def close(self) -> None:
            self._file.close()
            super().close()

    return io.BufferedReader(Reader(), 2**17)


def read_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Number (from 1) and bytes of each line that is not blank. Raises InputError for long ones."""
    with open_data(path) as stream:
        yield from lines_of(stream, path)


def lines_of(
    stream: IO[bytes], path: Path, refuse: Refuse = raising
) -> Iterator[tuple[int, bytes]]:
    """The same of a file that is open. Lines that are too long go to `refuse`."""
    number = 0
    while line := stream.readline(MAX_LINE_BYTES + 1):
        number += 1
        if len(line) > MAX_LINE_BYTES:
            what = f"the line is longer than {MAX_LINE_BYTES // 2**20} MiB"
            remedy = "write one JSON object per line"
            refuse("too-long", InputError(what, where=f"{path}:{number}", remedy=remedy))
            while line and not line.endswith(b"\n"):
                line = stream.readline(MAX_LINE_BYTES)
            continue
        if number == 1:
            line = without_mark(line, path)
        if line and not line.isspace():
            yield number, line


def without_mark(start: bytes, path: Path) -> bytes:
    """The start of a text file without its mark (BOM). Raises InputError for UTF-16."""
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise InputError("is UTF-16", where=str(path), remedy="save it as UTF-8")
    return start.removeprefix(codecs.BOM_UTF8)


def parse_object(line: bytes, where: str) -> dict[str, Any]:
    """The JSON object on a line. Raises InputError for anything else."""
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        what = f"not valid JSON ({error.msg}, column {error.colno})"
        raise InputError(what, where=where, remedy="write one object per line") from None
    if not isinstance(value, dict):
        what = f"expected a JSON object, found {json_kind(value)}"
        raise InputError(what, where=where, remedy="write one object per line")
    return value


_KINDS = {dict: "an object", list: "an array", str: "a string", bool: "true or false"}


def json_kind(value: object) -> str:
    """What a JSON value is, in words: "an array"."""
    return "null" if value is None else _KINDS.get(type(value), "a number")


def first_problem(error: ValidationError) -> str:
    """The first thing a pydantic model objects to, as "branches.0.name: Field required"."""
    problem: Mapping[str, Any] = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in problem["loc"])
    return f"{place}: {problem['msg']}" if place else str(problem["msg"])


RECORDS_FILE = "files.json"
_Record = tuple[int, int, str]
"""Size in bytes, time of change in nanoseconds, SHA-256."""
_Records = TypeAdapter(dict[str, _Record])
_LEFT_OUT = frozenset({RECORDS_FILE, "LOCK", "LOG"})
"""RocksDB's locks and logs, which are not part of a graph."""


def record_files(folder: Path) -> None:
    """Record all files below a folder: the last step of building it."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    kept = [path for path in files if path.name not in _LEFT_OUT]
    _write(folder, {str(path.relative_to(folder)): _record(path) for path in kept})


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
    recorded = folder / RECORDS_FILE
    with _reading(recorded, remedy):
        known = _Records.validate_json(recorded.read_bytes())
    records: dict[str, _Record] = {}
    for name, (size, changed, digest) in known.items():
        path = folder / name
        with _reading(path, remedy):
            now = path.stat()
            if not os.access(path, os.R_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            same = (now.st_size, now.st_mtime_ns) == (size, changed)
            records[name] = (size, changed, digest) if same else _record(path)
        if records[name][::2] != (size, digest):
            what = "is damaged (not what was built)"
            raise DamagedDataError(what, where=str(path), remedy=remedy)
    if records != known:
        with suppress(OSError, InputError):  # the folder may be read-only
            _write(folder, records)


def _record(path: Path) -> _Record:
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
        status = os.fstat(stream.fileno())
    return status.st_size, status.st_mtime_ns, digest


def _write(folder: Path, records: Mapping[str, _Record]) -> None:
    write_bytes(folder / RECORDS_FILE, orjson.dumps(records, option=orjson.OPT_INDENT_2) + b"\n")


@contextmanager
def _reading(path: Path, remedy: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise DamagedDataError("is missing", where=str(path), remedy=remedy) from None
    except ValidationError:
        what = "is damaged (not what was written)"
        raise DamagedDataError(what, where=str(path), remedy=remedy) from None
    except OSError as error:
        raise cannot_read(path, error) from None
