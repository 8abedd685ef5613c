"""How to name a plug-in: NAME, `package.module:name`, `path/to/file.py:name`, `mcp:...`."""

from dataclasses import dataclass
from pathlib import Path

from branchwise.corpora.errors import InputError

Group = str
"""A kind of plug-in, a key of `kinds.KINDS`; its entry points are in `branchwise.KIND`."""

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


def _no_spec(text: str) -> InputError:
    return InputError(
        f"{text[:200]!r} names no plug-in",
        remedy="write file.py:NAME, package.module:NAME, or the NAME of an installed one",
    )
