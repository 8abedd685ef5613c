"""Checks the plug-ins that a study names: that tools, nodes and metrics exist, and their settings.

Their files are imported, as they are when the study runs.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel

from branchwise.base.errors import InputError, SettingError, did_you_mean
from branchwise.base.plugins.declare import check_settings
from branchwise.base.plugins.specs import absolute_spec, find_plugin, is_mcp
from branchwise.base.yaml_lines import KeyPath, shown
from branchwise.corpora.open import is_plugin_retriever
from branchwise.corpora.plugin_retriever import RetrieverPlugin
from branchwise.eval.plugin_metrics import load_metrics
from branchwise.runs.studies.study import Study, StudyError, Value
from branchwise.tools.registry import check_known, known_tools


@contextmanager
def refusing(key: str, place: KeyPath) -> Iterator[None]:
    """Report why a plug-in is refused at its place in the study."""
    try:
        yield
    except InputError as error:
        where = f"{error.where}: " if error.where else ""
        raise StudyError(f"{key}: {where}{error.what}", place, error.remedy) from None


def check_tools(names: Sequence[str], folder: Path, place: KeyPath) -> None:
    for n, name in enumerate(names):
        if name in names[:n]:
            raise StudyError(f"the tool {name} is listed twice", (*place, n), "keep one of them")
        try:
            check_known(name)
        except SettingError as error:
            raise StudyError(error.what, (*place, n), error.remedy) from None
        if name in known_tools() or is_mcp(name):
            continue
        with refusing("tools", (*place, n)):
            _tool(absolute_spec(name, folder))


def check_metrics(specs: Sequence[str], folder: Path) -> None:
    if not specs:
        return
    absolute: list[str] = []
    for n, spec in enumerate(specs):
        with refusing("metrics", ("metrics", n)):
            absolute.append(absolute_spec(spec, folder))
            load_metrics(absolute)


class _Plugin(NamedTuple):
    name: str
    settings: type[BaseModel] | None


@dataclass(frozen=True)
class StudyPlugins:
    study: Study
    folder: Path

    def check(self) -> None:
        """Raise StudyError for an unknown node, and for invalid settings."""
        seen: dict[str, str] = {}
        for key, plugin in self._nodes.items():
            if other := seen.get(plugin.name):
                problem = f"the nodes {other} and {key} are both called {plugin.name!r}"
                remedy = "leave one out, or give it another name: @node(..., name=...)"
                raise StudyError(problem, ("nodes", key), remedy)
            seen[plugin.name] = key
        known = {plugin.name: plugin.settings for plugin in self._known}
        for name, given in self.study.settings.items():
            if name in known:
                self._check_settings(name, known[name], given)
            elif None not in self._retrievers.values():
                none = "the study has none: name a tool or node"
                listed = f"there are {', '.join(known)}" if known else none
                remedy = did_you_mean(name, known, else_=listed)
                raise StudyError(f"no plug-in is called {shown(name)}", ("settings", name), remedy)
        for name in known.keys() - self.study.settings.keys():
            self._check_settings(name, known[name], {}, self._place_of(name))

    def settings_of(
        self, nodes: Sequence[str], tools: Value, retriever: Value
    ) -> dict[str, Mapping[str, Any]]:
        """The settings of a system with these plug-ins, those of others left out."""
        own = {self._nodes[key].name for key in nodes}
        own |= {self._tools[spec].name for spec in _specs(tools) if spec in self._tools}
        if isinstance(retriever, str) and (plugin := self._retrievers.get(retriever)):
            own.add(plugin.name)
        others = {plugin.name for plugin in self._known} - own
        return {name: given for name, given in self.study.settings.items() if name not in others}

    def _place_of(self, name: str) -> KeyPath:
        key = next((key for key, node in self._nodes.items() if node.name == name), None)
        if key is not None:
            return ("nodes", key)
        key = "tools" if any(tool.name == name for tool in self._tools.values()) else "retriever"
        return ("factors" if key in self.study.factors else "base", key)

    def _check_settings(
        self,
        name: str,
        model: type[BaseModel] | None,
        given: Mapping[str, Any],
        at: KeyPath | None = None,
    ) -> None:
        try:
            check_settings(name, model, given)
        except InputError as error:
            keys = (error.where or "").removeprefix(f"{name}.").split(".")
            place: KeyPath = at or ("settings", name, *keys)
            wanted = f"write settings: {{{name}: {{{keys[0]}: VALUE}}}} at the top of the file"
            remedy = wanted if at else (error.remedy or "").replace("--set ", "")
            raise StudyError(f"{'.'.join((name, *keys))}: {error.what}", place, remedy) from None

    @cached_property
    def _nodes(self) -> dict[str, _Plugin]:
        if not self.study.nodes:
            return {}
        from branchwise.graphs.plugin_nodes import load_node

        plugins = {}
        for key, spec in self.study.nodes.items():
            with refusing(f"the node {key}", ("nodes", key)):
                plugin = load_node(absolute_spec(spec, self.folder))
                plugins[key] = _Plugin(plugin.name, plugin.settings)
        return plugins

    @cached_property
    def _tools(self) -> dict[str, _Plugin]:
        """Of those that were checked already; a server's tools are known when it is asked."""
        named = [self.study.base.get("tools"), *self.study.factors.get("tools", ())]
        specs = dict.fromkeys(spec for value in named for spec in _specs(value))
        others = [spec for spec in specs if spec not in known_tools() and not is_mcp(spec)]
        return {spec: _tool(absolute_spec(spec, self.folder)) for spec in others}

    @cached_property
    def _retrievers(self) -> dict[str, _Plugin | None]:
        """None for a function that makes one: its name is known once it was called."""
        named = [self.study.base.get("retriever"), *self.study.factors.get("retriever", ())]
        plugins: dict[str, _Plugin | None] = {}
        for spec in named:
            if isinstance(spec, str) and is_plugin_retriever(spec):
                made = find_plugin(absolute_spec(spec, self.folder), "retrievers").object
                is_plugin = isinstance(made, RetrieverPlugin)
                plugins[spec] = _Plugin(made.name, made.settings) if is_plugin else None
        return plugins

    @property
    def _known(self) -> list[_Plugin]:
        retrievers = filter(None, self._retrievers.values())
        return [*self._tools.values(), *self._nodes.values(), *retrievers]


def _tool(spec: str) -> _Plugin:
    from branchwise.tools.plugin_tools import find_tool

    tool = find_tool(spec).object
    return _Plugin(tool.name, getattr(tool, "settings", None))


def _specs(value: Value) -> tuple[str, ...]:
    return value if isinstance(value, tuple) else ()
