"""Retrievers of one's own: `@retriever`, made and called on one thread, its rankings checked."""

import inspect
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, cast, overload

import orjson
from pydantic import BaseModel, Field, FiniteFloat, ValidationError

from branchwise.base.errors import InputError
from branchwise.base.plugins.call import DaemonThread, PluginFailure, call_blocking
from branchwise.base.plugins.declare import (
    FILLS,
    Declaration,
    Given,
    Group,
    InjectionContext,
    Plugin,
)
from branchwise.base.plugins.sources import WrongResult
from branchwise.base.plugins.specs import load_plugin
from branchwise.base.text import storable
from branchwise.corpora.folder import Corpus
from branchwise.corpora.passages import Passage, passage_id, to_passage
from branchwise.corpora.retrieval import Hit, RetrieverError
from branchwise.corpora.search_server import MAX_ID_CHARS

FILLS[Corpus] = "corpus"

SEARCH_SECONDS, LOADING_SECONDS = 60.0, 600.0
MAX_PASSAGE_CHARS = 200_000
_PROBE, _PROBED = "What is the capital of France?", 3
_GIVEN = "corpus: Path | None, corpus: Corpus, or settings: a pydantic model"
_FORMS = (
    'a passage is a Hit, (Passage, score), or {"id", "title", "text", "score"} (id and score may '
    "be left out)"
)
_Search = Callable[[Sequence[str], int], Any]


def injected_from(
    folder: Path | None, settings: Given, **others: Callable[[], Any]
) -> InjectionContext:
    """What plug-ins get of a corpus's folder, opened when first asked for, and of the `others`."""
    corpus = cache(lambda: None if folder is None else Corpus.open(folder))
    return InjectionContext({"path": lambda: folder, "corpus": corpus, **others}, settings)


@dataclass(frozen=True, eq=False, kw_only=True)
class RetrieverPlugin(Plugin):
    """A declared retriever. `seconds`, `loading_seconds`: limits; `batch`: most queries a call."""

    plugin_group: ClassVar[Group] = "retrievers"
    fills: ClassVar[tuple[str, ...]] = ("path", "corpus", "settings")
    seconds: float = SEARCH_SECONDS
    loading_seconds: float = LOADING_SECONDS
    batch: int = 1


@overload
def retriever(function: Callable[..., Any], /) -> RetrieverPlugin: ...
@overload
def retriever(
    *,
    name: str | None = None,
    seconds: float = SEARCH_SECONDS,
    loading_seconds: float = LOADING_SECONDS,
    batch: int = 1,
) -> Callable[[Callable[..., Any]], RetrieverPlugin]: ...
def retriever(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    seconds: float = SEARCH_SECONDS,
    loading_seconds: float = LOADING_SECONDS,
    batch: int = 1,
) -> RetrieverPlugin | Callable[[Callable[..., Any]], RetrieverPlugin]:
    """Declare a function that makes a retriever: an object with `search(queries, k)`.

    The function's parameters say what it gets: `corpus: Path | None` (the folder of
    `--corpus`), `corpus: Corpus` (the same, opened), and a parameter annotated with a pydantic
    model class, its settings (`--set NAME.KEY=VALUE`). It may return the function `search` itself.

    `search(queries: Sequence[str], k: int)` returns for each query its best k passages, the best
    first, each once: `Hit`s, (Passage, score) pairs, or `{"id", "title", "text", "score"}`. The
    first 3 of 50 must be the best 3. It is called on the thread that made it, one call at a time,
    with one query unless `batch` allows more: then a query's ranking must not depend on the other
    queries. What it raises becomes an error of that search; a search that takes longer than
    `seconds` is abandoned, and the retriever is made again on another thread. If it has an
    attribute `identity` (JSON), this enters the system's digest beside its source, its settings and
    its corpus.

    Raises InputError, with file and line, for a function that cannot be called so.
    """

    def read(declaration: Declaration) -> Mapping[str, Any]:
        declaration.check_positive(seconds=seconds, loading_seconds=loading_seconds, batch=batch)
        for parameter in declaration.others.values():
            several = (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
            if parameter.default is parameter.empty and parameter.kind not in several:
                given = f"nothing is given as the parameter {parameter.name!r}"
                fault = f"{given} of {declaration.name}"
                raise declaration.refused(fault, f"a retriever may take {_GIVEN}")
        return {"loading_seconds": loading_seconds, "batch": int(batch)}

    def declare(made: Callable[..., Any]) -> RetrieverPlugin:
        return RetrieverPlugin.declared(made, read, name=name, seconds=seconds, settings=BaseModel)

    return declare if function is None else declare(function)


class PluginRetriever:
    """A plug-in as a retriever. Thread-safe: callers wait for each other. `batch`: the most queries
    per call; a failed call fails for all of them. `identity`: what rankings depend on, as far as
    known: JSON-serialisable, free of paths. `daemon`: has a `Batcher` work on a daemon thread, so
    that a hanging search does not block the exit."""

    def __init__(self, plugin: RetrieverPlugin, identity: Mapping[str, Any]) -> None:
        self.name, self.batch = plugin.name, plugin.batch
        self.identity: Mapping[str, Any] = identity
        self.daemon = DaemonThread(f"searches of {plugin.name}")
        self._plugin = plugin
        # Where it was made it is called: SQLite's connections, for example, belong to one thread.
        self._thread: DaemonThread | None = None
        self._search: _Search | None = None
        self._lock = threading.Lock()

    def begin(self) -> None:
        """Make it, and add its own identity. Raises PluginFailure."""
        self._thread = DaemonThread(f"plug-in {self.name}")
        self._search, own = self._call(self._made, self._plugin.loading_seconds)
        if own is not None:
            self.identity = {**self.identity, "own": own}

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        rankings: list[list[Hit]] = []
        for at in range(0, len(queries), self.batch):
            part = list(queries[at : at + self.batch])
            try:
                with self._lock:
                    if self._search is None:
                        self.begin()
                    search = partial(cast(_Search, self._search), part, k)
                    read = partial(checked_rankings, queries=len(part), k=k)
                    rankings += self._call(search, self._plugin.seconds, read)
            except PluginFailure as failure:
                raise RetrieverError(failure.line) from failure.error
        return rankings

    def _made(self) -> tuple[_Search, Any]:
        returned = self._plugin.function(**self._plugin.now())
        search = getattr(returned, "search", returned)
        if not callable(search) or inspect.iscoroutinefunction(search):
            kind = "an async search" if callable(search) else type(returned).__name__
            raise WrongResult(f"returned {kind}; return an object with search(queries, k)")
        try:
            return search, orjson.loads(orjson.dumps(getattr(returned, "identity", None)))
        except TypeError as error:
            problem = f"its identity is not JSON: {error}; make it texts, numbers"
            raise WrongResult(problem) from None

    def _call(
        self, function: Callable[[], Any], seconds: float, read: Callable[[Any], Any] = lambda x: x
    ) -> Any:
        try:
            return call_blocking(
                self.name, function, {}, seconds=seconds, read=read, thread=self._thread
            )
        except PluginFailure as failure:
            if failure.error is None:
                self._thread = self._search = None  # it is still running
            raise


def open_plugin(
    spec: str, corpus: Path | None = None, settings: Given | None = None
) -> PluginRetriever:
    """The retriever plug-in of a spec, tried with one query. `settings`: by plug-in name."""
    around = injected_from(corpus, settings or {})
    plugin: RetrieverPlugin = load_plugin(spec, "retrievers").fill(around)
    identity = {"kind": "plugin", "name": plugin.name, "source": plugin.source.identity}
    if plugin.chosen is not None:
        identity["settings"] = plugin.chosen_json
    kinds = {kind for kind, _ in plugin.injected.values()}
    if corpus is not None and not kinds.isdisjoint(("path", "corpus")):
        identity["corpus_sha256"] = around.values["corpus"]().sha256
    retriever = PluginRetriever(plugin, identity)
    try:
        retriever.begin()
        retriever.search([_PROBE], _PROBED)
    except (PluginFailure, RetrieverError) as error:
        problem = f"the retriever cannot be used: {error}"
        raise InputError(problem, where=plugin.place, remedy="fix it there") from None
    return retriever


class _GivenPassage(BaseModel, coerce_numbers_to_str=True):
    id: str | None = Field(None, max_length=MAX_ID_CHARS)
    title: str = ""
    text: str = Field(max_length=MAX_PASSAGE_CHARS)
    score: FiniteFloat | None = None


def checked_rankings(returned: Any, queries: int, k: int) -> list[list[Hit]]:
    """The rankings of a retriever, one a query, of at most `k` hits each, best first, each passage
    once. Without scores they get 1, 1/2, 1/3, ... Raises WrongResult."""
    if not isinstance(returned, list | tuple):
        kind = type(returned).__name__
        raise WrongResult(f"returned {kind}; return a list with a ranking a query")
    if len(returned) != queries:
        raise WrongResult(f"returned {len(returned)} rankings for {queries} queries")
    return [_ranking(ranking, k) for ranking in returned]


def _ranking(ranking: Any, k: int) -> list[Hit]:
    if not isinstance(ranking, list | tuple) or isinstance(ranking, Hit):
        problem = f"returned {type(ranking).__name__} as a ranking; return a list of passages"
        raise WrongResult(problem)
    passages: list[Passage] = []
    given: list[float | None] = []
    for passage, score in map(_passage_and_score, ranking[:k]):
        if any(passage.id == earlier.id for earlier in passages):
            raise WrongResult(f"the passage {passage.id!r} comes twice in a ranking")
        passages.append(passage)
        given.append(score)
    scores = [score for score in given if score is not None]
    if len(scores) < len(given):
        scores = [1 / rank for rank in range(1, len(given) + 1)]
    for rank, (above, below) in enumerate(pairwise(scores), start=2):
        if below > above:
            problem = f"the score rises from {above:g} to {below:g} at rank {rank}"
            raise WrongResult(f"{problem}; return the best first, higher being better")
    return list(map(Hit, passages, scores))


def _passage_and_score(item: Any) -> tuple[Passage, float | None]:
    if isinstance(item, Passage):
        item = (item, None)
    if isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], Passage):
        item = {**dict(item[0]), "score": item[1]}
    if not isinstance(item, Mapping):
        raise WrongResult(f"returned {type(item).__name__} as a passage; {_FORMS}")
    fields = {key: storable(v) if isinstance(v, str) else v for key, v in item.items()}
    if fields.get("text") is None and isinstance(fields.get("contents"), str):
        of_contents = to_passage("", fields["contents"])
        fields |= {"title": of_contents.title, "text": of_contents.text}
    try:
        given = _GivenPassage.model_validate({**fields, "title": fields.get("title") or ""})
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        problem = f"returned a passage with a wrong {first['loc'][0]}: {first['msg']}"
        raise WrongResult(f"{problem}; {_FORMS}") from None
    id = passage_id(given.title, given.text) if given.id is None else given.id
    if not id.strip() or not id.isprintable():
        raise WrongResult(f"the passage id {id[:80]!r} cannot be shown: use printable characters")
    return Passage(id=id, title=given.title, text=given.text), given.score
