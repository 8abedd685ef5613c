"""Building a graph folder: the store, the names, and the description that is written last."""

import hashlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from branchwise.corpora.atomic import new_folder
from branchwise.corpora.errors import InputError
from branchwise.corpora.graph.description import (
    NAMES_FILE,
    STORE_FOLDER,
    GraphDescription,
    Source,
    is_graph,
    write_description,
)
from branchwise.corpora.graph.names.harvest import Harvest
from branchwise.corpora.graph.names.tables import NameTables
from branchwise.corpora.graph.store import StorageError, fill_store
from branchwise.corpora.progress import Progress, silent
from branchwise.corpora.worlds.description import GRAPH_FILE

if TYPE_CHECKING:
    import pyoxigraph

_USED_AT_ONCE = 500_000  # ids counted in memory
_THINGS_BETWEEN_REPORTS = 1_000


def build_graph(
    sources: Sequence[Path], out: Path, progress: Progress = silent
) -> GraphDescription:
    """Make a graph folder from files of triples, or from world folders.

    N-Triples and Turtle, plain, .gz or .zst. Files are streamed: Oxigraph sorts in pieces, which
    takes up to some 1.5 GiB, and names are sorted on disk. A graph that stands at `out` is replaced
    at the end; after an error nothing is changed. Progress is in lines read, without a total, and
    then in triples whose names were taken. Raises InputError for a source that is no such file or
    broken (with its line), or where `out` holds something else; OSError where the disk is full.
    """
    files = _files(sources)
    _refuse_to_replace(out, files)
    try:
        with new_folder(out) as folder:
            store, read = fill_store(files, folder / STORE_FOLDER, progress)
            description = _index_names(store, folder, read, progress)
            write_description(folder, description)
            del store  # its lock goes with it, before the folder gets its name
    except StorageError as error:
        raise error.error from None
    except OSError as error:
        if error.errno is not None:
            raise
        raise StorageError.of(error).error from None  # Oxigraph's have no number
    except sqlite3.OperationalError as error:
        if "disk" not in str(error):
            raise
        raise StorageError.of(error).error from None
    return description


def _index_names(
    store: "pyoxigraph.Store", folder: Path, read: list[Source], progress: Progress
) -> GraphDescription:
    total, harvest = len(store), Harvest(store)
    tables = NameTables(folder / NAMES_FILE)
    try:
        for number, thing in enumerate(harvest.things()):
            tables.add(thing)
            tables.add_used(harvest.take_used(at_least=_USED_AT_ONCE))
            if number % _THINGS_BETWEEN_REPORTS == 0:
                progress(harvest.triples, total)
        tables.add_used(harvest.take_used())
        counts = tables.finish(harvest.usage())
    finally:
        tables.close()
    progress(total, total)
    return GraphDescription(
        triples=total,
        entities=counts.entities,
        properties=counts.properties,
        names=counts.names,
        shared_names=counts.shared_names,
        sha256=_digest(read),
        sources=tuple(read),
    )


def _files(sources: Sequence[Path]) -> list[Path]:
    """The files to read: a world folder stands for its graph."""
    if not sources:
        raise InputError("no file of triples is named", remedy="name one, or a world folder")
    return [_world_graph(path) if path.is_dir() else path for path in map(Path, sources)]


def _world_graph(folder: Path) -> Path:
    path = folder / GRAPH_FILE
    if not path.is_file():
        raise InputError(
            f"no world here (there is no {GRAPH_FILE})",
            where=str(folder),
            remedy="name files of triples, or a world folder",
        )
    return path


def _refuse_to_replace(out: Path, files: Sequence[Path]) -> None:
    """Nothing but an earlier graph or an empty folder may be replaced, and no source in it."""
    if out.is_dir():
        replaceable = is_graph(out) or not any(out.iterdir())
        if replaceable and not any(file.resolve().is_relative_to(out.resolve()) for file in files):
            return
    elif not out.exists() and not out.is_symlink():
        return
    raise InputError(
        "there is something else here already",
        where=str(out),
        remedy="name a new folder with --out",
    )


def _digest(read: Sequence[Source]) -> str:
    if len(read) == 1:
        return read[0].sha256
    lines = "".join(f"{digest}\n" for digest in sorted(source.sha256 for source in read))
    return hashlib.sha256(lines.encode()).hexdigest()
