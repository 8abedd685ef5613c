"""A retriever plug-in at work: made and called on its own thread, its rankings checked."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from branchwise.corpora.errors import InputError
from branchwise.corpora.plugins.injection import Filled, InjectionContext, fill
from branchwise.corpora.plugins.isolator import PluginFailure
from branchwise.corpora.plugins.kinds import made
from branchwise.corpora.plugins.loading import find_plugin
from branchwise.corpora.plugins.rankings import checked_rankings
from branchwise.corpora.plugins.retriever import RetrieverPlugin
from branchwise.corpora.plugins.settings import Given
from branchwise.corpora.plugins.sources import PluginSource
from branchwise.corpora.plugins.threads import DaemonThread
from branchwise.corpora.plugins.worker import PluginWorker
from branchwise.corpora.retrieval import Hit, RetrieverError

_PROBE, _PROBED = "What is the capital of France?", 3
_MAX_IDENTITY = 100_000
_Search = Callable[[Sequence[str], int], Any]


class PluginRetriever:
    """A plug-in as a retriever. Thread-safe: callers wait for each other.

    `batch`: the most queries per call; a failed call fails for all of them. `daemon`: has a
    `Batcher` work on a daemon thread, so that a hanging search does not block the exit.
    """

    def __init__(
        self, plugin: RetrieverPlugin, make: Callable[[], Any], identity: Mapping[str, Any]
    ) -> None:
        self.name, self.batch, self._seconds = plugin.name, plugin.batch, plugin.seconds
        self.identity = identity
        self.daemon = DaemonThread(f"searches of {plugin.name}")
        self._worker: PluginWorker[_Search] = PluginWorker(
            plugin.name, make, plugin.loading_seconds
        )

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """For each query its best `k` passages, in the plug-in's order. Raises RetrieverError."""
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        parts = [queries[at : at + self.batch] for at in range(0, len(queries), self.batch)]
        return [ranking for part in parts for ranking in self._search(list(part), k)]

    def _search(self, queries: list[str], k: int) -> list[list[Hit]]:
        try:
            return self._worker.call(
                lambda search, queries, k: search(queries, k),
                {"queries": queries, "k": k},
                seconds=self._seconds,
                read=lambda returned: checked_rankings(returned, len(queries), k),
            )
        except PluginFailure as failure:
            raise RetrieverError(failure.line) from failure.error


def open_plugin(
    spec: str, corpus: Path | None = None, settings: Given | None = None
) -> PluginRetriever:
    """The retriever plug-in of a spec, made and tried with one query, so that errors show at once.

    `settings`: as the user gave them, by plug-in name. Raises InputError.
    """
    found = find_plugin(spec, "retrievers")
    plugin: RetrieverPlugin = made(found.object, "retrievers", spec)
    around = InjectionContext(corpus, settings=settings or {})
    filled = fill(plugin, around)
    own: dict[str, Any] = {}

    def make() -> _Search:
        returned = plugin.function(**filled.now())
        search = getattr(returned, "search", returned)
        if not callable(search) or inspect.iscoroutinefunction(search):
            what = "an async search" if callable(search) else type(returned).__name__
            raise TypeError(f"returned {what}; return an object with search(queries, k)")
        own["identity"] = getattr(returned, "identity", None)
        return search  # type: ignore[no-any-return]

    retriever = PluginRetriever(plugin, make, {})
    try:
        retriever._worker.begin()
        retriever.identity = _identity(plugin, found.source, filled, around, own["identity"])
        retriever.search([_PROBE], _PROBED)
    except (PluginFailure, RetrieverError) as error:
        what = f"the retriever cannot be used: {error}"
        raise InputError(what, where=plugin.place, remedy="fix it there") from None
    return retriever


def _identity(
    plugin: RetrieverPlugin,
    source: PluginSource,
    filled: Filled,
    around: InjectionContext,
    own: Any,
) -> dict[str, Any]:
    """What rankings depend on, as far as known: JSON-serialisable, free of paths."""
    identity: dict[str, Any] = {"kind": "plugin", "name": plugin.name, "source": source.identity}
    if filled.settings is not None:
        identity["settings"] = filled.settings_json
    takes_corpus = any(kind in ("path", "corpus") for kind, _ in plugin.injected.values())
    if takes_corpus and around.corpus is not None:
        identity["corpus_sha256"] = around.corpus.sha256
    if own is not None:
        identity["own"] = _own_identity(plugin, own)
    return identity


def _own_identity(plugin: RetrieverPlugin, own: Any) -> Any:
    try:
        body = orjson.dumps(own)
    except (TypeError, ValueError) as error:
        what = f"the identity of {plugin.name} is not JSON: {error}"
        raise InputError(what, where=plugin.place, remedy="make it texts, numbers, lists") from None
    if len(body) > _MAX_IDENTITY:
        what = f"the identity of {plugin.name} has {len(body):,} bytes"
        remedy = f"at most {_MAX_IDENTITY:,}: give a hash of what is long"
        raise InputError(what, where=plugin.place, remedy=remedy)
    return orjson.loads(body)
