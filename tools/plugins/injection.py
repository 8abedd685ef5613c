"""Parameters that the harness fills and the model does not see."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, get_args

from pydantic import BaseModel

from branchwise.corpora.errors import InputError
from branchwise.corpora.folder import Corpus
from branchwise.corpora.graph.answers import Graph
from branchwise.corpora.plugins.settings import Given, check_settings
from branchwise.tools.run_context import RunContext, current_run

__all__ = ["Injected", "Surroundings", "check_settings", "fill", "injected_as", "is_optional"]
Injected = Literal["corpus", "graph", "run", "settings"]
_BY_TYPE: Mapping[Any, Injected] = {Corpus: "corpus", Graph: "graph", RunContext: "run"}
_OPTIONS = {"corpus": "--corpus DIR", "graph": "--kg DIR or --kg URL"}


@dataclass(frozen=True)
class Surroundings:
    """What there is to inject: `corpus` is opened when it is first asked for.

    `settings`: as the user gave them, by plug-in name.
    """

    corpus: Callable[[], Corpus | None] = lambda: None
    graph: Graph | None = None
    settings: Given = field(default_factory=dict)


def injected_as(annotation: Any, settings: type[BaseModel] | None) -> Injected | None:
    """What a parameter of this type is filled with; None for one that the model fills.

    `Corpus | None` is filled where there is one.
    """
    kinds = [part for part in (annotation, *get_args(annotation)) if part is not type(None)]
    for kind in kinds:
        if settings is not None and kind is settings:
            return "settings"
        if isinstance(kind, type) and kind in _BY_TYPE:
            return _BY_TYPE[kind]
    return None


def is_optional(annotation: Any) -> bool:
    """Whether None may stand in its place."""
    return type(None) in get_args(annotation)


def fill(
    name: str,
    wanted: Mapping[str, tuple[Injected, bool]],
    surroundings: Surroundings,
    settings: BaseModel | None,
) -> Mapping[str, Callable[[], Any]]:
    """For each injected parameter what gives its value at a call.

    `wanted`: what it is filled with, and whether it may be None. Raises InputError where it may
    not, and there is none.
    """
    filled: dict[str, Callable[[], Any]] = {}
    for parameter, (kind, optional) in wanted.items():
        if kind == "run":
            filled[parameter] = current_run
            continue
        value = _value(kind, surroundings, settings)
        if value is None and not optional:
            what = "corpus" if kind == "corpus" else "graph"
            raise InputError(
                f"{name} needs a {what} and there is none", remedy=f"give one with {_OPTIONS[kind]}"
            )
        filled[parameter] = partial(_same, value)
    return filled


def _same(value: Any) -> Any:
    return value


def _value(kind: Injected, surroundings: Surroundings, settings: BaseModel | None) -> Any:
    if kind == "settings":
        return settings
    return surroundings.corpus() if kind == "corpus" else surroundings.graph
