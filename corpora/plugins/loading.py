"""From a spec to the plug-in that it names, and to the identity of its code."""

import importlib
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from importlib import metadata
from types import ModuleType
from typing import Any

from branchwise.corpora.errors import InputError, nearest
from branchwise.corpora.plugins.declaring import RefusedPlugin
from branchwise.corpora.plugins.faults import importing
from branchwise.corpora.plugins.files import import_file
from branchwise.corpora.plugins.kinds import KINDS, group_of
from branchwise.corpora.plugins.sources import PluginSource, source_of_files, source_of_module
from branchwise.corpora.plugins.specs import (
    EntryPointSpec,
    FileSpec,
    Group,
    ModuleSpec,
    is_mcp,
    parse_spec,
)


@dataclass(frozen=True)
class LoadedPlugin:
    """What a spec led to: the object found there, and its source."""

    object: Any
    source: PluginSource


def load_plugin(spec: str, group: Group) -> Any:
    """What `spec` names: a decorated function, an object, or a function that makes one.

    A bare NAME is an entry point in the group `branchwise.GROUP`; callers look up built-in names
    first. Raises a one-line InputError if there is none, or if its file or module cannot be
    imported. Nothing is imported twice.
    """
    return find_plugin(spec, group).object


def find_plugin(spec: str, group: Group) -> LoadedPlugin:
    """`load_plugin`, with where the plug-in comes from."""
    if is_mcp(spec):
        raise InputError(f"an MCP server has no {group}", where=spec, remedy="use it with --tool")
    parsed = parse_spec(spec)
    if isinstance(parsed, FileSpec):
        return _of_file(parsed, group)
    if isinstance(parsed, ModuleSpec):
        return _of_module(parsed, group)
    return _of_entry_point(parsed, group)


def entry_points(group: Group) -> dict[str, metadata.EntryPoint]:
    """The installed plug-ins of a kind, by name. Nothing is imported.

    Raises InputError if two distributions install one of the same name.
    """
    found: dict[str, metadata.EntryPoint] = {}
    for point in sorted(metadata.entry_points(group=f"branchwise.{group}"), key=lambda p: p.name):
        other = found.setdefault(point.name, point)
        if other.value != point.value:
            raise InputError(
                f"two installed packages have {group} named {point.name!r}: "
                f"{distribution_of(other)} and {distribution_of(point)}",
                remedy="uninstall one of them, or name the one you mean as package.module:name",
            )
    return found


def distribution_of(point: metadata.EntryPoint) -> str:
    """`name==version` of the package that an entry point belongs to."""
    return f"{point.dist.name}=={point.dist.version}" if point.dist else point.value


def _of_file(spec: FileSpec, group: Group) -> LoadedPlugin:
    file = import_file(spec.path)
    if not spec.name:
        raise InputError(
            f"names a file but none of its {group}",
            where=str(spec.path),
            remedy=f"write {spec.path}:NAME ({_names_in(file.module, group)})",
        )
    found = _attribute(file.module, spec.name, str(spec.path), group)
    return LoadedPlugin(found, source_of_files(file.path, file.neighbours))


def _of_module(spec: ModuleSpec, group: Group, distribution: str | None = None) -> LoadedPlugin:
    if not _is_there(spec.module):
        raise InputError(
            f"there is no module {spec.module!r}",
            remedy=f"install its package, or name its file: {spec.module.split('.')[-1]}.py:"
            f"{spec.name}",
        )
    with importing(f"{spec.module}:{spec.name}"):
        module = importlib.import_module(spec.module)
    found = _attribute(module, spec.name, spec.module, group)
    return LoadedPlugin(found, source_of_module(spec.module, found, distribution))


def _is_there(module: str) -> bool:
    """Whether a module can be imported; this imports its parent packages."""
    with importing(module):
        try:
            return importlib.util.find_spec(module) is not None
        except ModuleNotFoundError as error:
            if error.name and module.startswith(error.name):
                return False
            raise
    raise AssertionError("importing() lets nothing pass silently")


def _of_entry_point(spec: EntryPointSpec, group: Group) -> LoadedPlugin:
    points = entry_points(group)
    if spec.name not in points:
        near = nearest(spec.name, points, most=3, cutoff=0.5) or list(points)
        raise InputError(
            f"there is no plug-in {spec.name!r} among the {group}",
            remedy=f"installed are {', '.join(near)}"
            if near
            else "none is installed; write file.py:NAME or package.module:NAME",
        )
    point = points[spec.name]
    distribution = distribution_of(point) if point.dist else None
    return _of_module(ModuleSpec(point.module, point.attr), group, distribution)


def _attribute(module: ModuleType, name: str, place: str, group: Group) -> Any:
    try:
        found = reduce(getattr, name.split("."), module)
    except AttributeError:
        raise InputError(
            f"it does not define {name!r}",
            where=place,
            remedy=_names_in(module, group, near=name),
        ) from None
    if isinstance(found, RefusedPlugin):
        raise found.error
    return found


def _names_in(module: ModuleType, group: Group, near: str = "") -> str:
    """What a user may have meant: plug-ins of the kind or, if there are none, the public names that
    the module defines itself."""
    public = {name: value for name, value in vars(module).items() if not name.startswith("_")}
    kin = [name for name, value in public.items() if group_of(value) == group]
    own = [n for n, v in public.items() if getattr(v, "__module__", None) == module.__name__]
    names = kin or own
    shown: Sequence[str] = nearest(near, names, most=3, cutoff=0.5) or names[:8]
    if kin or not own:
        return f"it has {', '.join(shown)}" if shown else "it defines nothing"
    kind = KINDS[group]
    return f"it has {', '.join(shown)}, and no {kind.noun}: put `{kind.decorator}` above a function"
