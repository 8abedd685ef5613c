"""Retrievers of one's own: `@retriever`, made and called on one thread, its rankings checked."""

import inspect
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from numbers import Real
from pathlib import Path
from typing import Any, ClassVar, overload

import orjson
from pydantic import BaseModel

from branchwise.corpora.errors import InputError
from branchwise.corpora.folder import Corpus
from branchwise.corpora.passages import Passage, passage_id
from branchwise.corpora.plugins.call import DaemonThread, PluginFailure, Read, call_blocking
from branchwise.corpora.plugins.declare import (
    FILLS,
    Declaration,
    Group,
    InjectionContext,
    Plugin,
    made,
)
from branchwise.corpora.plugins.faults import WrongResult
from branchwise.corpora.plugins.settings import Given
from branchwise.corpora.plugins.specs import find_plugin
from branchwise.corpora.records import to_passage
from branchwise.corpora.retrieval import Hit, RetrieverError
from branchwise.corpora.search_answers import MAX_ID_CHARS
from branchwise.corpora.text import storable

FILLS[Corpus] = "corpus"

SEARCH_SECONDS, LOADING_SECONDS = 60.0, 600.0
MAX_PASSAGE_CHARS = 200_000
_MAX_IDENTITY = 100_000
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
    """What plug-ins get of a corpus's folder, opened once when it is first asked for, and of the
    `others`."""
    corpus = cache(lambda: None if folder is None else Corpus.open(folder))
    return InjectionContext({"path": lambda: folder, "corpus": corpus, **others}, settings)


@dataclass(frozen=True, eq=False, kw_only=True)
class RetrieverPlugin(Plugin):
    """A declared retriever. `seconds`: time limit of a search, `loading_seconds`: of making it.
    `batch`: the most queries per call.
    """

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
                what = f"nothing is given as the parameter {parameter.name!r} of {declaration.name}"
                raise declaration.refused(what, f"a retriever may take {_GIVEN}")
        return {"loading_seconds": loading_seconds, "batch": int(batch)}

    def declare(declared: Callable[..., Any]) -> RetrieverPlugin:
        return RetrieverPlugin.declared(
            declared, read, name=name, seconds=seconds, settings=BaseModel
        )

    return declare if function is None else declare(function)


class PluginRetriever:
    """A plug-in as a retriever. Thread-safe: callers wait for each other.

    `batch`: the most queries per call; a failed call fails for all of them. `daemon`: has a
    `Batcher` work on a daemon thread, so that a hanging search does not block the exit.
    """

    def __init__(self, plugin: RetrieverPlugin, make: Callable[[], _Search]) -> None:
        self.name, self.batch = plugin.name, plugin.batch
        self.identity: Mapping[str, Any] = {}
        self.daemon = DaemonThread(f"searches of {plugin.name}")
        self._plugin, self._make = plugin, make
        # Where it was made it is called: SQLite's connections, for example, belong to one thread.
        self._thread: DaemonThread | None = None
        self._made: _Search | None = None
        self._lock = threading.Lock()

    def begin(self) -> None:
        """Make it. Raises PluginFailure."""
        self._thread = DaemonThread(f"plug-in {self.name}")
        self._made = self._call(self._make, {}, self._plugin.loading_seconds, lambda found: found)

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """For each query its best `k` passages, in the plug-in's order. Raises RetrieverError."""
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        rankings: list[list[Hit]] = []
        for at in range(0, len(queries), self.batch):
            part = list(queries[at : at + self.batch])
            read = partial(checked_rankings, queries=len(part), k=k)
            try:
                with self._lock:
                    if self._made is None:
                        self.begin()
                    given = {"queries": part, "k": k}
                    rankings += self._call(self._positional, given, self._plugin.seconds, read)
            except PluginFailure as failure:
                raise RetrieverError(failure.line) from failure.error
        return rankings

    def _positional(self, queries: list[str], k: int) -> Any:
        assert self._made is not None
        return self._made(queries, k)

    def _call(
        self,
        function: Callable[..., Any],
        given: Mapping[str, Any],
        seconds: float,
        read: Callable[[Any], Read],
    ) -> Read:
        try:
            return call_blocking(
                self.name, function, given, seconds=seconds, read=read, thread=self._thread
            )
        except PluginFailure as failure:
            if failure.error is None:
                self._thread = self._made = None  # it is still running
            raise


def open_plugin(
    spec: str, corpus: Path | None = None, settings: Given | None = None
) -> PluginRetriever:
    """The retriever plug-in of a spec, made and tried with one query, so that errors show at once.

    `settings`: as the user gave them, by plug-in name. Raises InputError.
    """
    found = find_plugin(spec, "retrievers")
    plugin: RetrieverPlugin = made(found.object, "retrievers", spec)
    around = injected_from(corpus, settings or {})
    filled = plugin.fill(around)
    own: Any = None

    def make() -> _Search:
        nonlocal own
        returned = plugin.function(**filled.now())
        search = getattr(returned, "search", returned)
        if not callable(search) or inspect.iscoroutinefunction(search):
            what = "an async search" if callable(search) else type(returned).__name__
            raise WrongResult(f"returned {what}; return an object with search(queries, k)")
        own = getattr(returned, "identity", None)
        return search  # type: ignore[no-any-return]

    # What rankings depend on, as far as known: JSON-serialisable, free of paths.
    identity = {"kind": "plugin", "name": plugin.name, "source": found.source.identity}
    if filled.settings is not None:
        identity["settings"] = filled.settings_json
    kinds = {kind for kind, _ in plugin.injected.values()}
    if corpus is not None and not kinds.isdisjoint(("path", "corpus")):
        identity["corpus_sha256"] = around.values["corpus"]().sha256
    retriever = PluginRetriever(plugin, make)
    try:
        retriever.begin()
        if own is not None:
            identity["own"] = _own_identity(plugin, own)
        retriever.identity = identity
        retriever.search([_PROBE], _PROBED)
    except (PluginFailure, RetrieverError) as error:
        what = f"the retriever cannot be used: {error}"
        raise InputError(what, where=plugin.place, remedy="fix it there") from None
    return retriever


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


def checked_rankings(returned: Any, queries: int, k: int) -> list[list[Hit]]:
    """The rankings of a retriever: one for each query, in order, with at most `k` hits each.

    A ranking has the best passage first and each passage once. Passages without scores get 1, 1/2,
    1/3, ..., which only express the order. Raises WrongResult.
    """
    if not isinstance(returned, list | tuple):
        raise WrongResult(f"returned {_kind(returned)}; return a list with a ranking a query")
    if len(returned) != queries:
        raise WrongResult(f"returned {len(returned)} rankings for {queries} queries")
    return [_ranking(ranking, k) for ranking in returned]


def _ranking(ranking: Any, k: int) -> list[Hit]:
    if not isinstance(ranking, list | tuple) or isinstance(ranking, Hit):
        raise WrongResult(f"returned {_kind(ranking)} as a ranking; return a list of passages")
    found = [_passage_and_score(item) for item in ranking[:k]]
    scores = [score for _, score in found if score is not None]
    if len(scores) < len(found):
        scores = [1 / rank for rank in range(1, len(found) + 1)]
    for rank, (above, below) in enumerate(pairwise(scores), start=2):
        if below > above:
            what = f"the score rises from {above:g} to {below:g} at rank {rank}"
            raise WrongResult(f"{what}; return the best first, higher being better")
    ids = [passage.id for passage, _ in found]
    if twice := [id for n, id in enumerate(ids) if id in ids[:n]]:
        raise WrongResult(f"the passage {twice[0]!r} comes twice in a ranking")
    return [Hit(passage, score) for (passage, _), score in zip(found, scores, strict=True)]


def _passage_and_score(item: Any) -> tuple[Passage, float | None]:
    if isinstance(item, Passage):
        return _checked(item), None
    if isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], Passage):
        return _checked(item[0]), _score(item[1])
    if isinstance(item, Mapping):
        score = item.get("score")
        return _of_mapping(item), None if score is None else _score(score)
    raise WrongResult(f"returned {_kind(item)} as a passage; {_FORMS}")


def _of_mapping(item: Mapping[Any, Any]) -> Passage:
    contents, text, title = (item.get(key) for key in ("contents", "text", "title"))
    if text is None and isinstance(contents, str):
        passage = to_passage("", contents)
        title, text = passage.title, passage.text
    if not isinstance(text, str) or not isinstance(title or "", str):
        raise WrongResult(f"returned a passage without a text; {_FORMS}")
    id = item.get("id")
    title, text = storable(title or ""), storable(text)
    if id is None:
        id = passage_id(title, text)
    elif isinstance(id, int) and not isinstance(id, bool):
        id = str(id)
    if not isinstance(id, str):
        raise WrongResult(f"returned {_kind(id)} as a passage's id; make it a text")
    return _checked(Passage(id=id, title=title, text=text))


def _checked(passage: Passage) -> Passage:
    """The passage without lone surrogates. Its id is printed on one line and cited."""
    id, size = passage.id, len(passage.title) + len(passage.text)
    if not id.strip() or not id.isprintable() or len(id) > MAX_ID_CHARS:
        raise WrongResult(
            f"the passage id {storable(id)[:80]!r} cannot be shown: printable, at most "
            f"{MAX_ID_CHARS} characters"
        )
    if size > MAX_PASSAGE_CHARS:
        raise WrongResult(
            f"the passage {id!r} has {size:,} characters, and at most {MAX_PASSAGE_CHARS:,} are "
            "taken; cut the corpus into passages"
        )
    said = {"id": id, "title": passage.title, "text": passage.text}
    whole = {key: storable(text) for key, text in said.items()}
    return passage.model_copy(update=whole) if whole != said else passage


def _score(score: Any) -> float:
    if isinstance(score, Real) and not isinstance(score, bool):
        try:
            number = float(score)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
    said = f"{score!r:.40}" if isinstance(score, int | float) else _kind(score)
    raise WrongResult(f"returned {said} as a score; make it a finite number")


def _kind(value: Any) -> str:
    return "None" if value is None else type(value).__name__
