"""A knowledge graph behind a SPARQL endpoint: Wikidata's service, QLever, Virtuoso, Fuseki."""

import hashlib
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from branchwise.base.keys import NO_KEYS, Keys
from branchwise.kg.answers import (
    DEFAULT_SECONDS,
    KgError,
    Match,
    QueryResult,
    SearchKind,
)
from branchwise.kg.processes.pool import Pool
from branchwise.kg.remote.client import ClientSettings, Form, HostClient, RunSelect, sparql_request
from branchwise.kg.remote.descriptions import ClassSizes, explain_emptiness, labels_of, unlabelled
from branchwise.kg.remote.entity_search import EntityApi, search_labels, search_wikibase
from branchwise.kg.remote.responses import read_boolean, read_results, read_triples

if TYPE_CHECKING:
    from branchwise.kg.processes.pool import Pool
    from branchwise.kg.sparql.prepare import Prepared


Prepare = Callable[[str, float], "Prepared"]
"""Checks a query and makes it plain SPARQL within so many seconds. Raises KgError."""


class WorkerCheck:
    """Prepares queries in a worker process, which is started with the first of them.

    A parser that hangs, or runs out of memory, is killed there.
    """

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
        """End the process, if there is one."""
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

    `address`, `name_address`: where queries and searches go.
    """

    def __init__(
        self,
        url: str,
        settings: RemoteSettings | None = None,
        prepare: Prepare | None = None,
        keys: Keys = NO_KEYS,
    ) -> None:
        """Raises InputError if `url` is not an http(s) address.

        `prepare` replaces the default, a worker process in which a hanging parser can be killed.
        """
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
        """Answer a query as models write them for Wikidata. Raises KgError.

        `seconds` is for everything: the check, the queue, the answer, labels and explanation.
        """
        deadline = time.monotonic() + seconds
        prepared = self._prepare(sparql, seconds)
        answer = self._ask(prepared.text, prepared.form, deadline)
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
            found = search_wikibase(self._api, select, text, kind, limit, deadline)
        else:
            found = search_labels(self._selector(deadline, attempts=2), text, kind, limit)
        if kind == "property" or not found:
            return found
        return self._sizes.added(
            found, self._selector(min(deadline, time.monotonic() + LABEL_SECONDS))
        )

    def close(self) -> None:
        """Let go of the worker process. The graph cannot be asked after that."""
        self._worker.close()

    def _selector(self, deadline: float, attempts: int = 1) -> RunSelect:
        """For questions of our own, which need no check; what is optional has one attempt."""

        def select(text: str, form: Form = "SELECT") -> QueryResult:
            return self._ask(text, form, deadline, attempts)

        return select

    def _ask(self, text: str, form: Form, deadline: float, attempts: int = 2) -> QueryResult:
        reply = self._client.send(sparql_request(self._url, text, form), deadline, attempts)
        if form == "ASK":
            return read_boolean(reply)
        return read_results(reply) if form == "SELECT" else read_triples(reply)
