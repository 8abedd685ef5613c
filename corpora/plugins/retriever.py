"""`@retriever`: a function that makes a searcher, as a plug-in."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, overload

from pydantic import BaseModel

from branchwise.corpora.plugins.declaring import Declaration, Plugin, decorating
from branchwise.corpora.plugins.injection import Injected, InjectedParameter
from branchwise.corpora.plugins.specs import Group

SEARCH_SECONDS, LOADING_SECONDS = 60.0, 600.0
_GIVEN = "corpus: Path | None, corpus: Corpus, or settings: a pydantic model"


@dataclass(frozen=True, eq=False, kw_only=True)
class RetrieverPlugin(Plugin):
    """A declared retriever. `seconds`: time limit of a search, `loading_seconds`: of making it.
    `batch`: the most queries per call.
    """

    plugin_group: ClassVar[Group] = "retrievers"
    fills: ClassVar[tuple[Injected, ...]] = ("path", "corpus", "settings")
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
        _check_parameters(declaration)
        return {"loading_seconds": loading_seconds, "batch": int(batch)}

    return decorating(
        function,
        lambda declared: RetrieverPlugin.declared(
            declared, read, name=name, seconds=seconds, settings=BaseModel
        ),
    )


def _check_parameters(declaration: Declaration) -> None:
    name = declaration.name
    for parameter in declaration.others.values():
        # A parameter of this name needs no annotation.
        if parameter.name == "corpus" and parameter.annotation is parameter.empty:
            declaration.injected["corpus"] = InjectedParameter("path", True)
        elif parameter.default is parameter.empty and parameter.kind not in (
            parameter.VAR_POSITIONAL,
            parameter.VAR_KEYWORD,
        ):
            what = f"nothing is given as the parameter {parameter.name!r} of {name}"
            raise declaration.refused(what, f"a retriever may take {_GIVEN}")
    parameters = inspect.signature(declaration.function).parameters
    for given in declaration.injected:
        if parameters[given].kind is inspect.Parameter.POSITIONAL_ONLY:
            what = f"the parameter {given!r} of {name} is passed by name"
            raise declaration.refused(what, "remove the / after it")
