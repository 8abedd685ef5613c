"""What a query process does: prepare, run and explain one query after another."""

import gc
import os
import resource
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from pyoxigraph import DefaultGraph, RdfFormat, Store

from branchwise.corpora.errors import InputError
from branchwise.corpora.graph.answers import GraphError
from branchwise.corpora.graph.bounds import cut
from branchwise.corpora.graph.description import read_description, refuse_replaced
from branchwise.corpora.graph.names.index import NameIndex
from branchwise.corpora.graph.processes import rows
from branchwise.corpora.graph.processes.explain import explain_emptiness, unknown_mentions
from branchwise.corpora.graph.processes.frames import receive_frame, send_frame
from branchwise.corpora.graph.sparql.prepare import Prepared, prepare
from branchwise.corpora.graph.store import open_store

_WARM_UP = (
    """SELECT ?film ?filmLabel (COUNT(?cast) AS ?n) WHERE {
      ?film wdt:P31/wdt:P279* wd:Q11424 ; wdt:P577 ?date . OPTIONAL { ?film wdt:P161 ?cast }
      FILTER(YEAR(?date) > 1990) SERVICE wikibase:label { bd:serviceParam wikibase:language "en" }
    } GROUP BY ?film ?filmLabel HAVING(COUNT(?cast) > 1) ORDER BY DESC(?n) LIMIT 5""",
    "SELECT * WHERE { ?film wdt:P2147483647 ?director }",
    'ASK { ?film rdfs:label "film" }',
    "SELECT * WHERE { ?film",
)


class Holdings(NamedTuple):
    """What query processes inherit: a folder (None: they only prepare), perhaps the graph.

    `sha256`: what the graph's description must say when they open it; "" where it may say anything.
    """

    folder: Path | None
    in_memory: Store | None
    sha256: str


class Opened(NamedTuple):
    """What a query process has open."""

    store: Store
    names: NameIndex


def open_holdings(folder: Path | None, in_memory: int, sha256: str = "") -> Holdings:
    """Do once what every query process needs: load parsers, and the graph if it is small.

    `in_memory`: the triples up to which it is small. Raises InputError.
    """
    _warm_up(folder)
    store = None
    if folder is not None:
        small = read_description(folder).triples <= in_memory
        store = _in_memory(folder) if small else None
    gc.collect()
    gc.freeze()
    return Holdings(folder, store, sha256)


def _warm_up(folder: Path | None) -> None:
    """Import everything that queries need: a query process cannot open the file of a module."""
    names = None if folder is None else NameIndex.open(folder)
    opened = None if names is None else Opened(Store(), names)
    for text in _WARM_UP:
        for _ in _frames(text, opened):
            pass
    if names is not None:
        names.close()


def _in_memory(folder: Path) -> Store:
    """The graph in memory. A child reads it from disk: that starts threads, which must not be here.

    Raises InputError where the child could not read it.
    """
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(ours)
            with os.fdopen(theirs, "wb") as pipe:
                open_store(folder).dump(pipe, RdfFormat.N_TRIPLES, from_graph=DefaultGraph())
        except BaseException:  # noqa: BLE001 (nothing may unwind into the parent's code)
            os._exit(1)
        os._exit(0)
    os.close(theirs)
    store = Store()
    with os.fdopen(ours, "rb") as pipe:
        store.bulk_load(pipe, RdfFormat.N_TRIPLES, lenient=True)
    if os.waitpid(child, 0)[1] != 0:
        raise InputError("the store cannot be read", remedy="build the graph again")
    return store


def serve(host: socket.socket, holdings: Holdings, limit: Callable[[], None], growth: int) -> None:
    """Answer requests until the host is gone. `limit` is called when all is open.

    The current folder is the graph's. The last frame of an answer says whether this process has
    grown by more than `growth` bytes and should be replaced: what a query took is not always given
    back, and the next would miss it.
    """
    try:
        opened = None if holdings.folder is None else _open(holdings)
    except GraphError as error:
        send_frame(host, {"error": [error.kind, str(error)]})
        return
    except InputError as error:
        message = f"The graph cannot be opened: {error.what}; {error.remedy}."
        send_frame(host, {"error": ["damaged", message]})
        return
    limit()
    send_frame(host, {"ready": True})
    at_first = _peak_bytes()
    with suppress(EOFError):
        while True:
            request = receive_frame(host)
            for frame in _frames(request["sparql"], opened):
                frame["spent"] = _peak_bytes() - at_first > growth
                send_frame(host, frame)


def _frames(text: str, opened: Opened | None) -> Iterator[dict[str, Any]]:
    """The frames that answer a query, an error at the end of them if there is one."""
    try:
        yield from _answer(text, opened)
    except GraphError as error:
        yield {"error": [error.kind, cut(str(error))], "last": True}
    except (MemoryError, RecursionError):
        message = "The query needs more memory or deeper nesting than is allowed: simplify it."
        yield {"error": ["resources", message], "last": True}
    except Exception as error:  # noqa: BLE001 (a fault of ours must not end the conversation)
        message = f"The query could not be evaluated ({type(error).__name__}): write it otherwise."
        yield {"error": ["resources", message], "last": True}


def _answer(text: str, opened: Opened | None) -> Iterator[dict[str, Any]]:
    prepared = _prepared(text)
    if opened is None:
        mentioned = [tuple(mention) for mention in prepared.mentioned]
        yield {"prepared": {**vars(prepared), "mentioned": mentioned}, "last": True}
        return
    answer = rows.run(opened.store, prepared.text)
    empty = answer["complete"] and not (answer["rows"] or answer["boolean"])
    answer["labels"] = rows.short_labels(opened.names.labels(rows.iris(answer["rows"])))
    answer["notes"] = [cut(note) for note in unknown_mentions(prepared, opened.names)]
    if not answer["complete"] and not answer["rows"]:
        answer["notes"].append("The first row alone is too long: ask for fewer columns.")
    yield {"answer": answer, "last": not empty}
    if empty:
        yield {"notes": _explained(prepared, opened), "last": True}


def _explained(prepared: Prepared, opened: Opened) -> list[str]:
    """Why there is no row. The empty answer stands, even if the explanation fails."""
    try:
        return [cut(note) for note in explain_emptiness(prepared, *opened)]
    except (SyntaxError, OSError, ValueError, RuntimeError):
        return []


@lru_cache(maxsize=256)
def _prepared(text: str) -> Prepared:
    """The prepared query. Models repeat queries, and parsing is most of a short one's time."""
    return prepare(text)


def _peak_bytes() -> int:
    """The most memory that this process ever had."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _open(holdings: Holdings) -> Opened:
    """Open what is in the current folder, so that all of it is one graph's, whatever happens to
    the folder's name meanwhile.

    Raises GraphError where it is another graph than when the host opened it.
    """
    here = Path()
    store = holdings.in_memory if holdings.in_memory is not None else open_store(here)
    names = NameIndex.open(here)
    names.labels(["http://www.wikidata.org/entity/Q1"])
    refuse_replaced(here, holdings.sha256)
    return Opened(store, names)
