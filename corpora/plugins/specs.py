"""How to name a plug-in (NAME, `package.module:name`, `path/to/file.py:name`, `mcp:...`), and the
way from there to the plug-in."""

import importlib
from dataclasses import dataclass
from functools import reduce
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

from branchwise.corpora.errors import InputError, nearest
from branchwise.corpora.plugins.declare import KINDS, Group, RefusedPlugin, group_of
from branchwise.corpora.plugins.faults import importing
from branchwise.corpora.plugins.sources import PluginSource, import_file, source_of_module

MCP = "mcp:"
BERTSCORE = "bertscore:"
"""Before the folder of a model: a metric that is built in."""


@dataclass(frozen=True)
class FileSpec:
    """`path/to/file.py:name`; `name` is "" if left out."""

    path: Path
    name: str


@dataclass(frozen=True)
class ModuleSpec:
    """`package.module:name`; `name` may have dots."""

    module: str
    name: str


@dataclass(frozen=True)
class EntryPointSpec:
    """A bare NAME: something built in, or else an entry point."""

    name: str


PluginSpec = FileSpec | ModuleSpec | EntryPointSpec


def parse_spec(text: str) -> PluginSpec:
    """Read a spec other than an MCP server's (`is_mcp`).

    Raises InputError if a required name is missing.
    """
    text = text.strip()
    before, colon, name = text.rpartition(":")
    if text.endswith(".py"):
        return FileSpec(Path(text), "")
    if not colon:
        if not text or any(sign in text for sign in "/\\"):
            raise _no_spec(text)
        return EntryPointSpec(text)
    if not before or not all(part.isidentifier() for part in name.split(".")):
        raise _no_spec(text)
    if before.endswith(".py") or "/" in before or "\\" in before:
        return FileSpec(Path(before), name)
    if not all(part.isidentifier() for part in before.split(".")):
        raise _no_spec(text)
    return ModuleSpec(before, name)


def is_mcp(text: str) -> bool:
    """Whether a spec names an MCP server, which lists its tools itself."""
    return text.startswith(MCP)


def is_plugin(text: str) -> bool:
    """Whether a spec names foreign code by its location rather than by a bare name."""
    return is_mcp(text) or ":" in text or text.endswith(".py")


def short_spec(text: str) -> str:
    """A spec in short, for lists: a plug-in's name, or an MCP server without folders and possible
    keys.
    """
    if not is_mcp(text):
        return Path(text.rpartition(":")[2]).name if is_plugin(text) else text
    from branchwise.corpora.plugins.mcp_specs import parse_mcp

    try:
        named = parse_mcp(text)
    except InputError:
        return MCP.rstrip(":")
    server = named.server
    place = server.place if server.url else MCP + " ".join(Path(w).name for w in server.command)
    return f"{place}#{named.tool}" if named.tool else place


def absolute_spec(text: str, folder: Path | None = None) -> str:
    """The spec with its file's whole path, so that it means the same from any folder.

    A relative path is taken from `folder` (default: the working directory); in an MCP server's
    command, the words that are files there. Raises InputError for a command that cannot be read.
    """
    if is_mcp(text):
        from branchwise.corpora.plugins.mcp_specs import absolute_mcp

        return absolute_mcp(text, folder or Path())
    if not is_plugin(text):
        return text
    if text.startswith(BERTSCORE):
        path = Path(text.removeprefix(BERTSCORE)).expanduser()
        return f"{BERTSCORE}{((folder or Path()) / path).resolve()}"
    spec = parse_spec(text)
    if not isinstance(spec, FileSpec):
        return text
    path = ((folder or Path()) / spec.path.expanduser()).resolve()
    return f"{path}:{spec.name}" if spec.name else str(path)


@dataclass(frozen=True)
class LoadedPlugin:
    """What a spec led to: the object found there, and its source."""

    object: Any
    source: PluginSource


def find_plugin(spec: str, group: Group) -> LoadedPlugin:
    """What `spec` names: a decorated function, an object, or a function that makes one.

    A bare NAME is an entry point in the group `branchwise.GROUP`; callers look up built-in names
    first. Raises a one-line InputError if there is none, or if its file or module cannot be
    imported. Nothing is imported twice.
    """
    if is_mcp(spec):
        raise InputError(f"an MCP server has no {group}", where=spec, remedy="use it with --tool")
    parsed = parse_spec(spec)
    if isinstance(parsed, ModuleSpec):
        return _of_module(parsed, group)
    if isinstance(parsed, FileSpec):
        file = import_file(parsed.path)
        if not parsed.name:
            raise InputError(
                f"names a file but none of its {group}",
                where=str(parsed.path),
                remedy=f"write {parsed.path}:NAME ({_names_in(file.module, group)})",
            )
        found = _attribute(file.module, parsed.name, str(parsed.path), group)
        return LoadedPlugin(found, file.source)
    points = entry_points(group)
    if parsed.name not in points:
        near = nearest(parsed.name, points, most=3, cutoff=0.5) or list(points)
        raise InputError(
            f"unknown plug-in {parsed.name!r} among the {group}",
            remedy=f"installed are {', '.join(near)}"
            if near
            else "none is installed; write file.py:NAME or package.module:NAME",
        )
    point = points[parsed.name]
    installed = distribution_of(point) if point.dist else None
    return _of_module(ModuleSpec(point.module, point.attr), group, installed)


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


def _of_module(spec: ModuleSpec, group: Group, distribution: str | None = None) -> LoadedPlugin:
    with importing(f"{spec.module}:{spec.name}"):
        try:
            module = importlib.import_module(spec.module)
        except ModuleNotFoundError as error:
            if not error.name or not f"{spec.module}.".startswith(f"{error.name}."):
                raise
            raise InputError(
                f"unknown module {spec.module!r}",
                remedy="install its package, or name its file: "
                f"{spec.module.split('.')[-1]}.py:{spec.name}",
            ) from None
    found = _attribute(module, spec.name, spec.module, group)
    return LoadedPlugin(found, source_of_module(spec.module, found, distribution))


def _attribute(module: ModuleType, name: str, place: str, group: Group) -> Any:
    try:
        found = reduce(getattr, name.split("."), module)
    except AttributeError:
        raise InputError(
            f"it does not define {name!r}", where=place, remedy=_names_in(module, group, near=name)
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
    shown = nearest(near, names, most=3, cutoff=0.5) or names[:8]
    if kin or not own:
        return f"it has {', '.join(shown)}" if shown else "it defines nothing"
    kind = KINDS[group]
    return f"it has {', '.join(shown)}, and no {kind.noun}: put `{kind.decorator}` above a function"


def _no_spec(text: str) -> InputError:
    return InputError(
        f"{text[:200]!r} names no plug-in",
        remedy="write file.py:NAME, package.module:NAME, or the NAME of an installed one",
    )
