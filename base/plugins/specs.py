"""How to name a plug-in or an MCP server, and the way from there to the plug-in."""

import contextlib
import importlib
import re
import shlex
import sys
from dataclasses import dataclass, replace
from functools import reduce
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from branchwise.base.errors import InputError, nearest
from branchwise.base.plugins.declare import KINDS, Group, RefusedPlugin, group_of, made
from branchwise.base.plugins.sources import PluginSource, import_file, importing, source_of_module

MCP = "mcp:"

_ONE_TOOL = re.compile(r"#([\w./-]{1,128})$")
_SECRET = re.compile(
    r"key$|token$|secret|passw|^pwd$|^auth|credential|^sig(nature)?$", re.IGNORECASE
)
_EXAMPLES = "write mcp:COMMAND ARGS..., or mcp:http://HOST:PORT/mcp"


@dataclass(frozen=True)
class Server:
    """A program to start, by its words, or an address; `url` is "" for a program."""

    command: tuple[str, ...] = ()
    url: str = ""

    @property
    def place(self) -> str:
        """For messages: the program, or the address without possible keys."""
        if self.url:
            parts = urlsplit(self.url)
            return f"{MCP}{parts.scheme}://{parts.netloc}{parts.path}"
        return MCP + shlex.join(self.command)


@dataclass(frozen=True)
class McpSpec:
    """A server and one of its tools; "" means all."""

    server: Server
    tool: str = ""


def parse_mcp(text: str) -> McpSpec:
    """Read a spec; a command is split into words as in a shell, but not run by a shell.

    `python` alone is the running Python, in which our own extras are installed. Raises
    InputError.
    """
    named = text.removeprefix(MCP).strip()
    tool = ""
    if one := _ONE_TOOL.search(named):
        named, tool = named[: one.start()].strip(), one[1]
    if named.startswith(("http://", "https://")):
        return McpSpec(_at(named), tool)
    try:
        words = shlex.split(named)
    except ValueError as error:
        raise InputError(
            f"the command cannot be read: {error}", where=text[:200], remedy=_EXAMPLES
        ) from None
    if not words or "\0" in named:
        raise InputError("names no MCP server", where=repr(text[:200]), remedy=_EXAMPLES)
    if words[0] == "python":
        words[0] = sys.executable
    return McpSpec(Server(command=tuple(words)), tool)


def _at(url: str) -> Server:
    try:
        parts = urlsplit(url)
        is_address = bool(parts.hostname) and parts.port != 0 and url.isprintable()
    except ValueError:
        is_address = False
    if not is_address or " " in url:
        raise InputError(
            "is not an address of an MCP server", where=repr(url[:200]), remedy=_EXAMPLES
        )
    carried = "a user or a password" if parts.username or parts.password else ""
    if any(_SECRET.search(name) for name, _ in parse_qsl(parts.query)):
        carried = "what may be a key"
    if carried:
        raise InputError(
            f"the address contains {carried}, which the run would store",
            where=f"{MCP}{parts.scheme}://{parts.hostname}",
            remedy="leave it out of the address; --key HOST=VARIABLE sends a key as bearer token",
        )
    return Server(url=url)


def absolute_mcp(text: str, folder: Path) -> str:
    """The spec with whole paths for its words that are files of `folder`."""
    spec = parse_mcp(text)
    if spec.server.url:
        return text
    words = shlex.split(_ONE_TOOL.sub("", text.removeprefix(MCP).strip()))
    for n, word in enumerate(words):
        # A word may be a whole script, too long for the name of a file.
        with contextlib.suppress(OSError):
            if (n or "/" in word) and not word.startswith("-") and (folder / word).is_file():
                words[n] = str((folder / word).absolute())
    return MCP + shlex.join(words) + (f"#{spec.tool}" if spec.tool else "")


BERTSCORE = "bertscore:"
"""Before the folder of a model: a metric that is built in."""


class PluginSpec(NamedTuple):
    """`file` of `path/to/file.py:name`, `module` of `package.module:name`; neither of a bare NAME:
    something built in, or else an entry point.

    `name` may have dots; "" for a file without one.
    """

    name: str
    file: Path | None = None
    module: str = ""


def parse_spec(text: str) -> PluginSpec:
    """Read a spec other than an MCP server's. Raises InputError if a required name is missing."""
    text = text.strip()
    before, colon, name = text.rpartition(":")
    in_folder = "/" in before or "\\" in before
    if text.endswith(".py"):
        return PluginSpec("", file=Path(text))
    if not colon and text and not any(sign in text for sign in "/\\"):
        return PluginSpec(text)
    if before and all(part.isidentifier() for part in name.split(".")):
        if before.endswith(".py") or in_folder:
            return PluginSpec(name, file=Path(before))
        if all(part.isidentifier() for part in before.split(".")):
            return PluginSpec(name, module=before)
    raise InputError(
        f"{text[:200]!r} names no plug-in",
        remedy="write file.py:NAME, package.module:NAME, or the NAME of an installed one",
    )


def is_mcp(text: str) -> bool:
    """Whether a spec names an MCP server, which lists its tools itself."""
    return text.startswith(MCP)


def is_plugin(text: str) -> bool:
    """Whether a spec names foreign code by its location rather than by a bare name."""
    return is_mcp(text) or ":" in text or text.endswith(".py")


def short_spec(text: str) -> str:
    """A spec in lists: a plug-in's name, or an MCP server without folders and possible keys."""
    if not is_mcp(text):
        return Path(text.rpartition(":")[2]).name if is_plugin(text) else text
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
        return absolute_mcp(text, folder or Path())
    if not is_plugin(text):
        return text
    if text.startswith(BERTSCORE):
        path = Path(text.removeprefix(BERTSCORE)).expanduser()
        return f"{BERTSCORE}{((folder or Path()) / path).resolve()}"
    spec = parse_spec(text)
    if spec.file is None:
        return text
    path = ((folder or Path()) / spec.file.expanduser()).resolve()
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
    name, path, module = parse_spec(spec)
    if path is not None:
        file = import_file(path)
        if not name:
            raise InputError(
                f"names a file but none of its {group}",
                where=str(path),
                remedy=f"write {path}:NAME ({_names_in(file.module, group)})",
            )
        return LoadedPlugin(_attribute(file.module, name, str(path), group), file.source_of(name))
    if module:
        return _of_module(module, name, group)
    points = entry_points(group)
    if name not in points:
        near = nearest(name, points, most=3, cutoff=0.5) or list(points)
        none = "none is installed; write file.py:NAME or package.module:NAME"
        raise InputError(
            f"unknown plug-in {name!r} among the {group}",
            remedy=f"installed are {', '.join(near)}" if near else none,
        )
    point = points[name]
    installed = distribution_of(point) if point.dist else None
    return _of_module(point.module, point.attr, group, installed)


def load_plugin(spec: str, group: Group) -> Any:
    """The plug-in of our own kinds that a spec names, with its source. Raises InputError."""
    plugin = find_plugin(spec, group)
    return replace(made(plugin.object, group, spec), source=plugin.source)


def entry_points(group: Group) -> dict[str, metadata.EntryPoint]:
    """The installed plug-ins of a kind, by name. Nothing is imported.

    Raises InputError if two distributions install one of the same name.
    """
    points: dict[str, metadata.EntryPoint] = {}
    for point in sorted(metadata.entry_points(group=f"branchwise.{group}"), key=lambda p: p.name):
        other = points.setdefault(point.name, point)
        if other.value != point.value:
            raise InputError(
                f"two installed packages have {group} named {point.name!r}: "
                f"{distribution_of(other)} and {distribution_of(point)}",
                remedy="uninstall one of them, or name the one you mean as package.module:name",
            )
    return points


def distribution_of(point: metadata.EntryPoint) -> str:
    """`name==version` of the package that an entry point belongs to."""
    return f"{point.dist.name}=={point.dist.version}" if point.dist else point.value


def _of_module(
    module: str, name: str, group: Group, distribution: str | None = None
) -> LoadedPlugin:
    with importing(f"{module}:{name}"):
        try:
            imported = importlib.import_module(module)
        except ModuleNotFoundError as error:
            if not error.name or not f"{module}.".startswith(f"{error.name}."):
                raise
            file = f"{module.split('.')[-1]}.py:{name}"
            remedy = f"install its package, or name its file: {file}"
            raise InputError(f"unknown module {module!r}", remedy=remedy) from None
    declared = _attribute(imported, name, module, group)
    return LoadedPlugin(declared, source_of_module(module, declared, distribution))


def _attribute(module: ModuleType, name: str, place: str, group: Group) -> Any:
    try:
        found = reduce(getattr, name.split("."), module)
    except AttributeError:
        remedy = _names_in(module, group, near=name)
        raise InputError(f"it does not define {name!r}", where=place, remedy=remedy) from None
    if isinstance(found, RefusedPlugin):
        raise found.error
    return found


def _names_in(module: ModuleType, group: Group, near: str = "") -> str:
    """What a user may have meant: plug-ins of the kind, or else the module's own public names."""
    public = {name: value for name, value in vars(module).items() if not name.startswith("_")}
    kin = [name for name, value in public.items() if group_of(value) == group]
    own = [n for n, v in public.items() if getattr(v, "__module__", None) == module.__name__]
    names, kind = kin or own, KINDS[group]
    if not names:
        return "it defines nothing"
    shown = ", ".join(nearest(near, names, most=3, cutoff=0.5) or names[:8])
    none = "" if kin else f", and no {kind.noun}: put `{kind.decorator}` above a function"
    return f"it has {shown}{none}"
