"""Parameters of a plug-in that the harness fills in."""

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from pydantic import BaseModel

from branchwise.corpora.errors import InputError
from branchwise.corpora.folder import Corpus
from branchwise.corpora.graph.answers import Graph
from branchwise.corpora.plugins.run_context import RunContext, current_run
from branchwise.corpora.plugins.settings import Given, check_settings

if TYPE_CHECKING:
    from branchwise.corpora.plugins.declaring import Plugin

Injected = Literal["path", "corpus", "graph", "run", "settings"]
"""What a parameter is filled with; `path` is the corpus's folder."""
_BY_TYPE: Mapping[Any, Injected] = {
    Path: "path",
    Corpus: "corpus",
    Graph: "graph",
    RunContext: "run",
}
_ABSENT = {
    "path": ("corpus", "--corpus DIR"),
    "corpus": ("corpus", "--corpus DIR"),
    "graph": ("graph", "--kg DIR or --kg URL"),
}


class InjectedParameter(NamedTuple):
    """What a parameter is filled with, and whether it is optional."""

    kind: Injected
    optional: bool


def wanted_by(
    parameter: inspect.Parameter, settings: type[BaseModel] | None, kinds: Collection[Injected]
) -> InjectedParameter | None:
    """What fills a parameter, by its annotation; None if the harness does not fill it.

    `settings`: the class of the plug-in's settings. `kinds`: what its kind may be filled with.
    """
    annotation = parameter.annotation
    parts = (annotation, *get_args(annotation))
    optional = type(None) in parts or parameter.default is not parameter.empty
    for part in parts:
        if not isinstance(part, type):
            continue
        kind: Injected | None = "settings" if part is settings else _BY_TYPE.get(part)
        if kind is not None and kind in kinds:
            return InjectedParameter(kind, optional)
    return None


def settings_among(parameters: Collection[inspect.Parameter]) -> type[BaseModel] | None:
    """The settings class in a parameter's annotation, if the decorator does not name one."""
    parts = [p for one in parameters for p in (one.annotation, *get_args(one.annotation))]
    models = [part for part in parts if isinstance(part, type) and issubclass(part, BaseModel)]
    return models[-1] if models else None


@dataclass(frozen=True)
class InjectionContext:
    """What can be injected: the corpus's folder, the graph, and settings by plug-in name."""

    path: Path | None = None
    graph: Graph | None = None
    settings: Given = field(default_factory=dict)

    @cached_property
    def corpus(self) -> Corpus | None:
        """The corpus, opened on first use."""
        return None if self.path is None else Corpus.open(self.path)


@dataclass(frozen=True)
class Filled:
    """A plug-in's settings, checked, and for each parameter what gives its value at a call."""

    settings: BaseModel | None = None
    values: Mapping[str, Callable[[], Any]] = field(default_factory=dict)

    @property
    def settings_json(self) -> dict[str, Any]:
        """The settings as they enter digests."""
        return self.settings.model_dump(mode="json") if self.settings else {}

    def now(self) -> dict[str, Any]:
        """The current values."""
        return {name: value() for name, value in self.values.items()}


def fill(plugin: "Plugin", around: InjectionContext) -> Filled:
    """What a plug-in's parameters are filled with.

    A parameter with a default keeps it if there is nothing to inject. Raises InputError for
    settings that do not fit, and for a missing corpus or graph.
    """
    settings = check_settings(plugin.name, plugin.settings, around.settings.get(plugin.name))
    values: dict[str, Callable[[], Any]] = {}
    for parameter, (kind, optional) in plugin.injected.items():
        if kind == "run":
            values[parameter] = current_run
            continue
        value = settings if kind == "settings" else getattr(around, kind)
        if value is None and not optional:
            what, option = _ABSENT[kind]
            raise InputError(f"{plugin.name} needs a {what}", remedy=f"give one with {option}")
        if value is not None or not _has_default(plugin.function, parameter):
            values[parameter] = _Always(value)
    return Filled(settings, values)


@dataclass(frozen=True)
class _Always:
    value: Any

    def __call__(self) -> Any:
        return self.value


def _has_default(function: Callable[..., Any], parameter: str) -> bool:
    return inspect.signature(function).parameters[parameter].default is not inspect.Parameter.empty
