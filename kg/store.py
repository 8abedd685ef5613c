"""The triples of a built graph: an Oxigraph store on disk, filled from files, and `graph.json`,
which describes it and tells whether it was rebuilt since.
"""

import codecs
import errno
import hashlib
import io
import os
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal, cast

from pydantic import BaseModel, ConfigDict, ValidationError

from branchwise.base.atomic import write_bytes
from branchwise.base.errors import DamagedDataError, InputError
from branchwise.base.files import check_files, first_problem, has_records, open_data
from branchwise.base.process import Progress, silent
from branchwise.kg.answers import KgError

if TYPE_CHECKING:
    import pyoxigraph

STORE_FOLDER, NAMES_FILE, DESCRIPTION_FILE = "store", "names.sqlite", "graph.json"
_REMEDY = "make one with `branchwise kg build`"
REBUILD = "build the graph again with `branchwise kg build`"
"""What to do about a damaged one."""


class SourceFile(BaseModel):
    """A file that a graph was built from; size and SHA-256 of its contents, decompressed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str  # without its folder
    bytes: int
    sha256: str


class KgDescription(BaseModel):
    """A graph's size and sources. Written last: a folder that has it is complete.

    `triples` are distinct. `entities` have a name, or a statement about them; `properties` are in
    use, or have a name; `names` counts names of entities that differ after folding, and
    `shared_names` those that several entities bear. `sha256` is that of the source, or of its
    sources' in ascending order, one a line: the order of the files does not matter.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = 1
    triples: int
    entities: int
    properties: int
    names: int
    shared_names: int
    sha256: str
    sources: tuple[SourceFile, ...]


def is_kg(folder: Path) -> bool:
    return (Path(folder) / DESCRIPTION_FILE).is_file()


def read_description(folder: Path) -> KgDescription:
    """The description of the graph in a folder. Raises InputError if there is none."""
    path = Path(folder) / DESCRIPTION_FILE
    if not path.is_file():
        raise InputError(
            f"no graph here (there is no {DESCRIPTION_FILE})", where=str(folder), remedy=_REMEDY
        )
    with open_data(path) as stream:
        data = stream.read()
    try:
        return KgDescription.model_validate_json(data)
    except ValidationError as error:
        raise InputError(
            f"is not the description of a graph ({first_problem(error)})",
            where=str(path),
            remedy=REBUILD,
        ) from None


def write_description(folder: Path, description: KgDescription) -> None:
    text = description.model_dump_json(indent=2)
    write_bytes(folder / DESCRIPTION_FILE, f"{text}\n".encode())


def refuse_replaced(folder: Path, sha256: str) -> None:
    """Raise KgError if the folder no longer contains the graph with this digest. Call it after
    opening the files: then none of them belongs to a newer graph, whenever the folder was replaced.
    "" is any graph's digest."""
    try:
        digest = read_description(folder).sha256
    except InputError:
        digest = None
    if sha256 not in ("", digest):
        raise KgError(
            "resources", "The graph was rebuilt since it was opened: the user must start again."
        )


_FORMATS = {".nt": "N_TRIPLES", ".ttl": "TURTLE"}
_LINES_BETWEEN_REPORTS = 20_000


def open_store(folder: Path) -> "pyoxigraph.Store":
    """The store of the graph in a folder, read-only; several processes can open it. Raises
    InputError where there is no graph, or its store is damaged."""
    import pyoxigraph

    read_description(folder)
    try:
        return pyoxigraph.Store.read_only(str(Path(folder) / STORE_FOLDER))
    except OSError as error:
        few = any(said in str(error) for said in ("descriptors", os.strerror(errno.EMFILE)))
        raise InputError(
            f"the store cannot be opened ({error})",
            where=str(folder),
            remedy="allow more open files (ulimit -n 1024)" if few else REBUILD,
        ) from None


def check_kg(folder: Path) -> None:
    """Compare the files of a built graph with what was built; where they were not recorded, the
    number of triples. Raises InputError if there is no graph, and DamagedDataError if it differs
    from what was built."""
    described = read_description(folder)
    check_files(folder, REBUILD)
    if not has_records(folder) and (count := len(open_store(folder))) != described.triples:
        raise DamagedDataError(
            f"the store has {count} triples, {DESCRIPTION_FILE} {described.triples}",
            where=str(folder),
            remedy=REBUILD,
        )


def fill_store(
    sources: Sequence[Path], folder: Path, progress: Progress = silent
) -> tuple["pyoxigraph.Store", list[SourceFile]]:
    """A new store in `folder` with all triples of the files, which are streamed.

    Blank nodes of different files stay different. Progress is in lines, without a total. Raises
    InputError with file and line for what is no N-Triples or Turtle; OSError or StorageError where
    the disk is at fault.
    """
    import pyoxigraph

    formats = [_format(source) for source in sources]
    store = pyoxigraph.Store(str(folder))
    lines, read = 0, []
    for source, syntax in zip(sources, formats, strict=True):
        with open_data(source) as stream:
            reader = _Reader(stream, progress, lines)
            _load(store, reader, source, syntax)
        lines += reader.lines
        digest = reader.digest.hexdigest()
        read.append(SourceFile(name=source.name, bytes=reader.bytes, sha256=digest))
    if len(sources) > 1:
        store.optimize()
    store.flush()
    return store, read


def _load(store: "pyoxigraph.Store", reader: "_Reader", source: Path, syntax: str) -> None:
    import pyoxigraph

    try:
        store.bulk_load(
            input=cast("IO[bytes]", reader), format=getattr(pyoxigraph.RdfFormat, syntax)
        )
    except SyntaxError as error:
        reason = str(error.msg).partition(": ")[2] or str(error.msg)
        raise InputError(
            f"is not {'N-Triples' if syntax == 'N_TRIPLES' else 'Turtle'} ({reason})",
            where=f"{source}:{error.lineno}",
            remedy="fix the line, or convert the file again",
        ) from None
    except MemoryError as error:
        if "buffer" not in str(error):
            raise
        line = f":{reader.lines + 1}" if syntax == "N_TRIPLES" else ""
        raise InputError(
            "contains a literal of more than 16 MiB",
            where=f"{source}{line}",
            remedy="shorten it, or leave out its statement",
        ) from None
    except OSError as error:
        # `open_data` would take what the disk of the store says for a fault of the source.
        raise error if reader.failed else StorageError.of(error) from error


class StorageError(Exception):
    """The disk that a graph is built on is full or broken; carries the system's error."""

    def __init__(self, error: OSError) -> None:
        super().__init__(str(error))
        self.error = error

    @classmethod
    def of(cls, error: Exception) -> "StorageError":
        """From an error of Oxigraph or SQLite, which put the system's number into words."""
        text = str(error)
        known = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
        other = errno.ENOSPC if "full" in text else errno.EIO
        number = next((n for n in known if os.strerror(n) in text), other)
        return cls(OSError(number, os.strerror(number)))


def _format(path: Path) -> str:
    """The parser's name for a file, by its name. Raises InputError."""
    inner = path.with_suffix("") if path.suffix in {".gz", ".zst"} else path
    if inner.suffix not in _FORMATS:
        raise InputError(
            "is not named like a file of triples",
            where=str(path),
            remedy="give N-Triples (.nt) or Turtle (.ttl), plain, .gz or .zst; no named graphs",
        )
    return _FORMATS[inner.suffix]


class _Reader(io.RawIOBase):
    """A stream that is digested and counted while Oxigraph reads it, a byte order mark left out.
    `lines_before`: of other files, for the progress."""

    def __init__(self, stream: IO[bytes], progress: Progress, lines_before: int) -> None:
        super().__init__()
        self._stream, self._progress = stream, progress
        self.digest = hashlib.sha256()
        self._lines_before = lines_before
        self._reported = self.lines = 0
        self.bytes = 0
        self.failed = False

    def read(self, size: int = -1) -> bytes:
        try:
            data = self._stream.read(size)
        except BaseException as error:
            self.failed = True
            if isinstance(error, zlib.error):
                raise OSError(f"damaged: {error}") from None
            raise
        self.digest.update(data)
        begins = self.bytes == 0
        self.bytes += len(data)
        self.lines += data.count(b"\n")
        if self.lines - self._reported >= _LINES_BETWEEN_REPORTS:
            self._reported = self.lines
            self._progress(self._lines_before + self.lines, 0)
        if begins and data.startswith(codecs.BOM_UTF8):
            return data.removeprefix(codecs.BOM_UTF8) or self.read(size)
        return data
