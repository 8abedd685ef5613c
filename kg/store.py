"""The triples of a built graph: an Oxigraph store on disk, and `graph.json`, which describes it."""

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
        problem = f"no graph here (there is no {DESCRIPTION_FILE})"
        raise InputError(problem, where=str(folder), remedy=_REMEDY)
    with open_data(path) as stream:
        data = stream.read()
    try:
        return KgDescription.model_validate_json(data)
    except ValidationError as error:
        problem = f"is not the description of a graph ({first_problem(error)})"
        raise InputError(problem, where=str(path), remedy=REBUILD) from None


def write_description(folder: Path, description: KgDescription) -> None:
    text = description.model_dump_json(indent=2)
    write_bytes(folder / DESCRIPTION_FILE, f"{text}\n".encode())


def refuse_replaced(folder: Path, sha256: str) -> None:
    """Raise KgError if the folder's graph no longer has this digest ("": any). Call it after
    opening the files: then none belongs to a newer graph."""
    try:
        digest = read_description(folder).sha256
    except InputError:
        digest = None
    if sha256 not in ("", digest):
        message = "The graph was rebuilt since it was opened: the user must start again."
        raise KgError("resources", message)


_FORMATS = {".nt": "N_TRIPLES", ".ttl": "TURTLE"}
_LINES_BETWEEN_REPORTS = 20_000


def open_store(folder: Path) -> "pyoxigraph.Store":
    """The store of a folder's graph, read-only, for several processes. Raises InputError."""
    import pyoxigraph

    read_description(folder)
    try:
        return pyoxigraph.Store.read_only(str(Path(folder) / STORE_FOLDER))
    except OSError as error:
        few = any(words in str(error) for words in ("descriptors", os.strerror(errno.EMFILE)))
        remedy = "allow more open files (ulimit -n 1024)" if few else REBUILD
        problem = f"the store cannot be opened ({error})"
        raise InputError(problem, where=str(folder), remedy=remedy) from None


def check_kg(folder: Path) -> None:
    """Compare a built graph's files (where they were not recorded, its number of triples) with what
    was built. Raises InputError if there is no graph, DamagedDataError if it differs."""
    described = read_description(folder)
    check_files(folder, REBUILD)
    if not has_records(folder) and (count := len(open_store(folder))) != described.triples:
        problem = f"the store has {count} triples, {DESCRIPTION_FILE} {described.triples}"
        raise DamagedDataError(problem, where=str(folder), remedy=REBUILD)


def fill_store(
    sources: Sequence[Path], folder: Path, progress: Progress = silent
) -> tuple["pyoxigraph.Store", list[SourceFile]]:
    """A new store in `folder` with all triples of the files, which are streamed.

    Blank nodes of different files stay different. Progress is in lines, without a total. Raises
    InputError with file and line for a bad file; OSError or StorageError for the disk's faults.
    """
    import pyoxigraph

    formats = [_format(source) for source in sources]
    store = pyoxigraph.Store(str(folder))
    lines, read = 0, []
    for source, syntax in zip(sources, formats, strict=True):
        with open_data(source) as stream:
            reader = _Reader(stream, progress, lines)
            try:
                parser = getattr(pyoxigraph.RdfFormat, syntax)
                store.bulk_load(input=cast("IO[bytes]", reader), format=parser)
            except SyntaxError as error:
                reason = str(error.msg).partition(": ")[2] or str(error.msg)
                problem = f"is not {'N-Triples' if syntax == 'N_TRIPLES' else 'Turtle'} ({reason})"
                remedy = "fix the line, or convert the file again"
                raise InputError(problem, where=f"{source}:{error.lineno}", remedy=remedy) from None
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
        lines += reader.lines
        digest = reader.digest.hexdigest()
        read.append(SourceFile(name=source.name, bytes=reader.bytes, sha256=digest))
    if len(sources) > 1:
        store.optimize()
    store.flush()
    return store, read


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
    inner = path.with_suffix("") if path.suffix in {".gz", ".zst"} else path
    if inner.suffix not in _FORMATS:
        remedy = "give N-Triples (.nt) or Turtle (.ttl), plain, .gz or .zst; no named graphs"
        raise InputError("is not named like a file of triples", where=str(path), remedy=remedy)
    return _FORMATS[inner.suffix]


class _Reader(io.RawIOBase):
    """Digests and counts a stream that Oxigraph reads, without a byte order mark."""

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
