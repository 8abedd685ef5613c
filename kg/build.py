"""Building a graph folder: the store, the names, and the description that is written last."""

import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from branchwise.base.atomic import new_folder
from branchwise.base.errors import InputError
from branchwise.base.files import record_files
from branchwise.base.process import Progress, silent
from branchwise.kg.names.harvest import Harvest
from branchwise.kg.names.tables import NameTables
from branchwise.kg.store import (
    NAMES_FILE,
    STORE_FOLDER,
    KgDescription,
    SourceFile,
    StorageError,
    fill_store,
    is_kg,
    read_description,
    write_description,
)
from branchwise.kg.world_folder import KG_FILE

if TYPE_CHECKING:
    import pyoxigraph

_USED_AT_ONCE = 500_000  # ids counted in memory
_THINGS_BETWEEN_REPORTS = 1_000


def build_kg(
    sources: Sequence[Path], out: Path, progress: Progress = silent, *, force: bool = False
) -> KgDescription:
    """Make a graph folder from files of triples, or from world folders.

    N-Triples and Turtle, plain, .gz or .zst. Files are streamed: Oxigraph sorts in pieces, which
    takes up to some 1.5 GiB, and names are sorted on disk. A graph at `out` is replaced at the end
    if it came from files of the same names, or with `force`; after an error nothing has changed.
    Progress is in lines read, without a total, and then in triples whose names were read. Raises
    InputError for a bad source (with its line), if `out` holds something else, or a full disk.
    """
    files = kg_files(sources)
    _refuse_to_replace(out, files, force=force)
    with new_folder(out) as folder, _numbered_errors():
        store, read = fill_store(files, folder / STORE_FOLDER, progress)
        if not len(store):  # it would answer nothing, but look valid
            where = ", ".join(map(str, files))
            remedy = "give N-Triples or Turtle with statements in it"
            raise InputError("there are no triples", where=where, remedy=remedy)
        description = _index_names(store, folder, read, progress)
        write_description(folder, description)
        del store  # remove its lock, too, before the files are recorded
        record_files(folder)
    return description


@contextmanager
def _numbered_errors() -> Iterator[None]:
    """Errors of the disk with the system's number, which Oxigraph and SQLite leave out."""
    try:
        yield
    except StorageError as error:
        raise error.error from None
    except (OSError, sqlite3.OperationalError) as error:
        known = isinstance(error, OSError) and error.errno is not None
        if known or (isinstance(error, sqlite3.Error) and "disk" not in str(error)):
            raise
        raise StorageError.of(error).error from None


def _index_names(
    store: "pyoxigraph.Store", folder: Path, read: list[SourceFile], progress: Progress
) -> KgDescription:
    total, harvest = len(store), Harvest(store)
    tables = NameTables(folder / NAMES_FILE)
    try:
        for number, thing in enumerate(harvest.things()):
            tables.add(thing)
            tables.add_used(harvest.take_used(at_least=_USED_AT_ONCE))
            if number % _THINGS_BETWEEN_REPORTS == 0:
                progress(harvest.triples, total)
        tables.add_used(harvest.take_used())
        counts = tables.finish(harvest.usage(), harvest.sampled)
    finally:
        tables.close()
    progress(total, total)
    digests = sorted(source.sha256 for source in read)
    lines = "".join(f"{digest}\n" for digest in digests)
    sha256 = digests[0] if len(read) == 1 else hashlib.sha256(lines.encode()).hexdigest()
    return KgDescription(triples=total, sha256=sha256, sources=tuple(read), **counts._asdict())


def kg_files(sources: Sequence[Path]) -> list[Path]:
    """The files to read; a world folder stands for its graph. Raises InputError."""
    if not sources:
        raise InputError("no file of triples is given", remedy="name one, or a world folder")
    remedy = "name files of triples, or a world folder"
    paths = list(map(Path, sources))
    for path in paths:
        if not path.exists():
            raise InputError("no such file or folder", where=str(path), remedy=remedy)
    for folder in filter(Path.is_dir, paths):
        if not (folder / KG_FILE).is_file():
            problem = f"no world here (there is no {KG_FILE})"
            raise InputError(problem, where=str(folder), remedy=remedy)
    return [path / KG_FILE if path.is_dir() else path for path in paths]


def _refuse_to_replace(out: Path, files: Sequence[Path], *, force: bool) -> None:
    """Only an empty folder, a graph of the same files or, with `force`, any graph is replaced."""
    if not out.exists() and not out.is_symlink():
        return
    holds_source = any(file.resolve().is_relative_to(out.resolve()) for file in files)
    empty = out.is_dir() and not any(out.iterdir())
    if holds_source or not (empty or (out.is_dir() and is_kg(out))):
        problem, remedy = "this is not a graph, and is not replaced", "name a new folder with --out"
        raise InputError(problem, where=str(out), remedy=remedy)
    if empty or force:
        return
    try:
        earlier = sorted(source.name for source in read_description(out).sources)
    except InputError:
        return  # damaged: the remedy is to rebuild it
    if earlier != sorted(file.name for file in files):
        problem = f"there is a graph of {', '.join(earlier)} here already"
        remedy = "name a new folder with --out, or replace it with --force"
        raise InputError(problem, where=str(out), remedy=remedy)
