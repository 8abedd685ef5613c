"""`@retriever`: a function that makes what searches, as a plug-in."""

import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, overload

from pydantic import BaseModel

from branchwise.corpora.errors import InputError
from branchwise.corpora.folder import Corpus
from branchwise.corpora.plugins.declaring import (
    check_once,
    check_positive,
    checked_name,
    first_paragraph,
    look_like,
    place_of,
)
from branchwise.corpora.plugins.specs import Group

SEARCH_SECONDS, LOADING_SECONDS = 60.0, 600.0
Given = Literal["path", "corpus", "settings"]
_GIVEN = "corpus: Path | None, corpus: Corpus, or settings: a pydantic model"


@dataclass(frozen=True)
class RetrieverPlugin:
    """A declared retriever; calling it calls the function, as if it had never been declared.

    `given`: by parameter, what the function is given (the corpus folder's path, the opened corpus,
    the settings) and whether None will do. `seconds`: what a search may take, `loading_seconds`
    what making it may. `batch`: how many queries it is given at once, at most.
    """

    plugin_group: ClassVar[Group] = "retrievers"
    name: str
    function: Callable[..., Any]
    description: str
    given: Mapping[str, tuple[Given, bool]] = field(repr=False)
    settings: type[BaseModel] | None = None
    seconds: float = SEARCH_SECONDS
    loading_seconds: float = LOADING_SECONDS
    batch: int = 1

    def __post_init__(self) -> None:
        look_like(self, self.function)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self.function(*arguments, **named)

    @property
    def place(self) -> str:
        """`file:line` of the function."""
        return place_of(self.function)


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

    The function is given what its parameters ask for: `corpus: Path | None` (the folder of
    `--corpus`), `corpus: Corpus` (the same, opened), and a parameter annotated with a pydantic
    model class, its settings (`--set NAME.KEY=VALUE`). It may return the function `search` itself.

    `search(queries: Sequence[str], k: int)` returns for each query its best k passages, the best
    first, each once: `Hit`s, (Passage, score) pairs, or `{"id", "title", "text", "score"}`. The
    first 3 of 50 must be the best 3. It is called on the thread on which it was made, one call at
    a time, with one query unless `batch` says that it may be given more: then a query's ranking
    must not depend on its company. What it raises becomes an error of the search that met it; a
    search that takes longer than `seconds` is given up, and the retriever made anew on another
    thread. Has it an attribute `identity` (JSON), this enters the system's digest beside its
    source, its settings and its corpus.

    Raises InputError, with file and line, for a function that cannot be called so.
    """

    def declare(declared: Callable[..., Any]) -> RetrieverPlugin:
        chosen = checked_name("retriever", declared, name)
        check_positive(
            "retriever", declared, seconds=seconds, loading_seconds=loading_seconds, batch=batch
        )
        given, settings = _parameters(chosen, declared)
        said = first_paragraph("retriever", chosen, declared)
        plugin = RetrieverPlugin(
            chosen, declared, said, given, settings, seconds, loading_seconds, int(batch)
        )
        check_once("retriever", plugin, getattr(declared, "__globals__", {}))
        return plugin

    return declare if function is None else declare(function)


def _parameters(
    name: str, function: Callable[..., Any]
) -> tuple[dict[str, tuple[Given, bool]], type[BaseModel] | None]:
    where = place_of(function)
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        raise InputError(
            f"the retriever {name} is async or a generator",
            where=where,
            remedy="make it a plain function that returns the retriever",
        )
    try:
        hints = typing.get_type_hints(function)
    except Exception as error:  # noqa: BLE001 - annotations are anyone's code
        what = f"an annotation of {name} cannot be read: {type(error).__name__}: {error}"
        raise InputError(what, where=where) from None
    given: dict[str, tuple[Given, bool]] = {}
    settings = None
    for parameter in inspect.signature(function).parameters.values():
        kind, optional, model = _asked(parameter.name, hints.get(parameter.name))
        if kind is None:
            if parameter.default is inspect.Parameter.empty and parameter.kind not in (
                parameter.VAR_POSITIONAL,
                parameter.VAR_KEYWORD,
            ):
                what = f"nothing is given as the parameter {parameter.name!r} of {name}"
                raise InputError(what, where=where, remedy=f"a retriever may take {_GIVEN}")
            continue
        if parameter.kind is parameter.POSITIONAL_ONLY:
            what = f"the parameter {parameter.name!r} of {name} is given by its name"
            raise InputError(what, where=where, remedy="leave out the / behind it")
        has_default = parameter.default is not inspect.Parameter.empty
        given[parameter.name] = (kind, optional or has_default)
        settings = model or settings
    return given, settings


def _asked(name: str, annotation: Any) -> tuple[Given | None, bool, type[BaseModel] | None]:
    """What a parameter asks for, whether None will do, and the class of settings."""
    kinds = typing.get_args(annotation) or (annotation,)
    optional = type(None) in kinds
    for kind in kinds:
        if kind is Corpus:
            return "corpus", optional, None
        if kind is Path:
            return "path", optional, None
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return "settings", True, kind
    return ("path", True, None) if annotation is None and name == "corpus" else (None, False, None)
