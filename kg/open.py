"""Graphs, opened from a user's source: a folder, queried in processes that stop, or the address of
a SPARQL endpoint: Wikidata's service, QLever, Virtuoso, Fuseki."""

import hashlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from branchwise.base.errors import DamagedDataError, InputError
from branchwise.base.http import check_way
from branchwise.base.keys import NO_KEYS, Keys
from branchwise.kg.answers import (
    DEFAULT_SECONDS,
    MAX_QUERY_BYTES,
    Graph,
    KgError,
    Match,
    QueryResult,
    SearchKind,
)
from branchwise.kg.names.index import NameIndex
from branchwise.kg.processes.pool import IN_MEMORY_TRIPLES, MEMORY_BYTES, Pool
from branchwise.kg.remote.client import ClientSettings, Form, HostClient, RunSelect, sparql_request
from branchwise.kg.remote.descriptions import ClassSizes, explain_emptiness, labels_of, unlabelled
from branchwise.kg.remote.entity_search import EntityApi, search_labels, search_wikibase
from branchwise.kg.remote.responses import read_boolean, read_results, read_triples
from branchwise.kg.store import (
    DESCRIPTION_FILE,
    REBUILD,
    check_kg,
    read_description,
    refuse_replaced,
)
from branchwise.kg.world_folder import KG_FILE

if TYPE_CHECKING:
    from branchwise.kg.sparql.prepare import Prepared


class EmbeddedKg:
    """A folder that `build_graph` made. Use it from any thread; close it when done.

    Raises InputError if the folder does not contain a graph; DamagedDataError, then and later, if
    it is not what was built; and KgError from queries and searches once it was rebuilt.
    """

    def __init__(
        self,
        folder: Path,
        workers: int | None = None,
        memory: int = MEMORY_BYTES,
        in_memory: int = IN_MEMORY_TRIPLES,
    ) -> None:
        self._folder = folder
        check_kg(folder)
        self._description = read_description(folder)
        self._names = NameIndex.open(folder)
        self._pool = Pool(folder, workers, memory, in_memory, self._description.sha256)

    def identity(self) -> dict[str, str]:
        """The digest of the contents that it was built from, wherever it is."""
        return {"kg": "embedded", "sha256": self._description.sha256}

    def query(self, sparql: str, seconds: float = DEFAULT_SECONDS) -> QueryResult:
        """Answer a query as models write them for Wikidata. Raises KgError. `seconds` count from
        when a query process takes the query; after a wait of three times as long, "busy"."""
        if len(sparql.encode(errors="replace")) > MAX_QUERY_BYTES:
            message = f"The query is longer than {MAX_QUERY_BYTES // 1024} KB: shorten it."
            raise KgError("refused", message)
        with self._damage_shown():
            try:
                return self._pool.query(sparql, seconds)
            except KgError as error:
                # Tables that are opened late may be gone.
                if error.kind in ("resources", "damaged"):
                    refuse_replaced(self._folder, self._description.sha256)
                raise

    def search(self, text: str, kind: SearchKind = "item", limit: int = 8) -> list[Match]:
        """Things with this name, best first, bearers of one name together. Raises KgError."""
        with self._damage_shown():
            matches = self._names.search(text, kind, limit)
            refuse_replaced(self._folder, self._description.sha256)
            return matches

    def most_used_properties(self, limit: int) -> list[Match]:
        """Properties that most statements have, the most used first. Raises KgError."""
        with self._damage_shown():
            return self._names.most_used_properties(limit)

    @contextmanager
    def _damage_shown(self) -> Iterator[None]:
        try:
            yield
        except KgError as error:
            if error.kind != "damaged":
                raise
            problem = str(error).rstrip(".")
            raise DamagedDataError(problem, where=str(self._folder), remedy=REBUILD) from None

    def close(self) -> None:
        self._pool.close()
        self._names.close()


Prepare = Callable[[str, float], "Prepared"]
"""Checks a query and makes it plain SPARQL within so many seconds. Raises KgError."""


class WorkerCheck:
    """Prepares queries in a worker process, started with the first: parsers can be killed there."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pool: Pool | None = None

    def __call__(self, text: str, seconds: float) -> "Prepared":
        """Raises KgError."""
        with self._lock:
            if self._pool is None:
                self._pool = Pool(None)
            pool = self._pool
        return pool.prepare(text, seconds)

    def close(self) -> None:
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()


LABEL_SECONDS = 3.0
"""What an answer that is there may wait for its labels, or for the sizes of classes."""

_WIKIDATA_API = "https://www.wikidata.org/w/api.php"
_WIKIDATA_HOSTS = ("query.wikidata.org", "query-main.wikidata.org", "query-scholarly.wikidata.org")


@dataclass(frozen=True)
class RemoteSettings:
    """How a remote graph is asked.

    `labels`: names of IRIs in the rows are looked up with one more query. `explain`: so is the
    reason for an empty result, with a few more. `search_api`: the address of a Wikibase's
    `api.php`; known for Wikidata's own service. Without one, names are searched with SPARQL.
    """

    labels: bool = True
    explain: bool = True
    search_api: str | None = None
    client: ClientSettings = field(default_factory=ClientSettings)


class RemoteKg:
    """A graph that is asked over HTTP, from any thread. Only what was checked is ever sent.
    `address`, `name_address`: where queries and searches go."""

    def __init__(
        self,
        url: str,
        settings: RemoteSettings | None = None,
        prepare: Prepare | None = None,
        keys: Keys = NO_KEYS,
    ) -> None:
        """Raises InputError if `url` is not an http(s) address. `prepare` replaces the default, a
        worker process in which a hanging parser can be killed."""
        self._url, self._settings = url, settings or RemoteSettings()
        self.address = url.partition("?")[0]
        self._client = HostClient(url, self._settings.client, keys)
        known = _WIKIDATA_API if urlsplit(url).hostname in _WIKIDATA_HOSTS else None
        self._search_api = self._settings.search_api or known
        self._api = None
        self.name_address = (self._search_api or url).partition("?")[0]
        if self._search_api:
            self._api = EntityApi(self._search_api, self._settings.client, keys)
        self._sizes = ClassSizes()
        self._worker = WorkerCheck()
        self._prepare: Prepare = prepare or self._worker

    def identity(self) -> dict[str, str]:
        """What tells this endpoint from others, without its address."""
        named = f"{self._url}\n{self._search_api or ''}".encode()
        return {"kg": "remote", "endpoint": hashlib.blake2b(named, digest_size=8).hexdigest()}

    def query(self, sparql: str, seconds: float = DEFAULT_SECONDS) -> QueryResult:
        """Answer a query as models write them for Wikidata. Raises KgError. `seconds` is for
        everything: the check, the queue, the answer, labels and explanation."""
        deadline = time.monotonic() + seconds
        prepared = self._prepare(sparql, seconds)
        answer = self._ask(prepared.text, prepared.form, deadline=deadline)
        empty = answer.boolean is None and not answer.rows and answer.complete
        if empty and self._settings.explain:
            notes = explain_emptiness(prepared, self._selector(deadline))
            return replace(answer, notes=notes)
        if answer.rows and self._settings.labels:
            select = self._selector(min(deadline, time.monotonic() + LABEL_SECONDS))
            with suppress(KgError):
                return replace(answer, labels=labels_of(unlabelled(answer), select))
        return answer

    def search(self, text: str, kind: SearchKind = "item", limit: int = 8) -> list[Match]:
        """Things with this name, through a Wikibase's own search where there is one."""
        deadline = time.monotonic() + DEFAULT_SECONDS
        if self._api:
            select = self._selector(deadline)
            matches = search_wikibase(self._api, select, text, kind, limit, deadline)
        else:
            matches = search_labels(self._selector(deadline, attempts=2), text, kind, limit)
        if kind == "property" or not matches:
            return matches
        select = self._selector(min(deadline, time.monotonic() + LABEL_SECONDS))
        return self._sizes.added(matches, select)

    def close(self) -> None:
        """Let go of the worker process. The graph cannot be asked after that."""
        self._worker.close()

    def _selector(self, deadline: float, attempts: int = 1) -> RunSelect:
        # Questions of our own need no check; what is optional has one attempt.
        return partial(self._ask, deadline=deadline, attempts=attempts)

    def _ask(
        self, text: str, form: Form = "SELECT", *, deadline: float, attempts: int = 2
    ) -> QueryResult:
        reply = self._client.send(sparql_request(self._url, text, form), deadline, attempts)
        if form == "ASK":
            return read_boolean(reply)
        return read_results(reply) if form == "SELECT" else read_triples(reply)


IN_A_WORLD = "kg"
"""The folder of a world's graph, within the world's own."""

_NAMES_OF_KGS = {"default-graph-uri", "named-graph-uri"}


def open_kg(source: str, keys: Keys = NO_KEYS) -> Graph:
    """The graph in a folder that `branchwise kg build` made (or a world's), or behind an http(s)
    address, which gets its own key of `keys`. Raises InputError."""
    if not is_address(source):
        return EmbeddedKg(kg_folder(Path(source)))
    # Runs keep the address, so one with a password is refused. Which graphs of a server are meant
    # (SPARQL 1.1 Protocol, section 2.1) is not a secret.
    parts = urlsplit(source)
    named = {name for name, _ in parse_qsl(parts.query, keep_blank_values=True)}
    hidden = parts.username or parts.password or named - _NAMES_OF_KGS
    if hidden or not parts.hostname:
        problem = "the endpoint's address contains a user or a key, or has no host"
        raise InputError(problem, remedy="give it as https://HOST/PATH")
    check_way(source)
    return RemoteKg(source, keys=keys)


def is_address(source: str) -> bool:
    """Whether it is an endpoint's address rather than a folder."""
    return urlsplit(source).scheme in ("http", "https")


def kg_folder(path: Path) -> Path:
    """The folder of the built graph that a path means. Raises InputError if there is none."""
    for folder in (path, path / IN_A_WORLD):
        if (folder / DESCRIPTION_FILE).is_file():
            return folder
    if not path.exists():
        raise InputError("no such folder", where=str(path), remedy="name a graph or world folder")
    source = f"{'FILE' if path.is_dir() else path} --out KG"
    if (path / KG_FILE).is_file():
        source = str(path)
    remedy = f"build one with `branchwise kg build {source}`"
    raise InputError("no graph here", where=str(path), remedy=remedy)
