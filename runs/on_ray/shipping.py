"""Sources that a system names by their paths, brought to nodes that lack them.

A worker uses the file at its own place where that is the same, so that a plug-in finds the data
beside it; elsewhere the sources are laid out in a folder of the worker's own.
"""

from collections.abc import Mapping
from pathlib import Path

from branchwise.base.plugins.sources import import_file
from branchwise.base.plugins.specs import is_mcp, is_plugin, parse_spec
from branchwise.corpora.open import is_plugin_retriever
from branchwise.corpora.scratch import Scratch
from branchwise.graphs.system import System


def sources_of(system: System) -> dict[str, bytes]:
    """By path, the files of a system's plug-ins, with the neighbours that they import, and its
    prompts. Its paths are absolute. Raises InputError for plug-ins that cannot be imported."""
    found: dict[str, bytes] = {}
    named = [*(system.tools or ()), *system.nodes]
    if is_plugin_retriever(system.retriever):
        named.append(str(system.retriever))
    for file in filter(None, map(_file_of, named)):
        found |= {str(path): path.read_bytes() for path in import_file(file).digests}
    if system.prompts:
        prompts = Path(system.prompts).rglob("*.md")
        found |= {str(path): path.read_bytes() for path in prompts if path.is_file()}
    return found


def room_for_sources() -> Scratch:
    """Where a worker lays them out, for as long as it lives."""
    return Scratch("branchwise-sources-")


def laid_out(system: System, files: Mapping[str, bytes], room: Scratch) -> System:
    """The system with its sources where they are here. Writes those that are not, into the room."""
    if all(_is_here(Path(path), body) for path, body in files.items()):
        return system
    root = room.folder
    for path, body in files.items():
        place = _below(root, path)
        if not _is_here(place, body):
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(body)

    def moved(spec: str) -> str:
        return str(_below(root, spec)) if _file_of(spec) else spec

    changes: dict[str, object] = {"nodes": tuple(map(moved, system.nodes))}
    if system.tools is not None:
        changes["tools"] = tuple(map(moved, system.tools))
    if system.retriever is not None and is_plugin_retriever(system.retriever):
        changes["retriever"] = moved(system.retriever)
    if system.prompts is not None:
        changes["prompts"] = str(_below(root, system.prompts))
    return system.model_copy(update=changes)


def _file_of(spec: str) -> Path | None:
    return parse_spec(spec).file if is_plugin(spec) and not is_mcp(spec) else None


def _is_here(path: Path, body: bytes) -> bool:
    try:
        return path.read_bytes() == body
    except OSError:
        return False


def _below(root: Path, path: str) -> Path:
    return root / path.lstrip("/")
