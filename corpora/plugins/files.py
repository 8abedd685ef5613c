"""Importing a plug-in's file: under its own module name, once per content."""

import importlib.util
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from branchwise.corpora.errors import InputError
from branchwise.corpora.plugins.faults import importing
from branchwise.corpora.plugins.sources import file_digest


@dataclass(frozen=True)
class PluginFile:
    """An imported file, and the files beside it that it imported."""

    path: Path
    module: ModuleType
    neighbours: tuple[Path, ...]


_OWN_NAME = "branchwise_plugin_"
_LOADED: dict[tuple[Path, str], PluginFile] = {}
_NEIGHBOURS: dict[Path, dict[str, ModuleType]] = {}
"""By folder, the modules in it that plug-ins of the folder imported, by their plain names."""


def import_file(path: Path) -> PluginFile:
    """The module of a file. A changed file is imported again.

    The file's folder is on `sys.path` only while it is imported, and last: `import neighbour` at
    the top of the file works, and nothing there shadows an installed module. Folders may have
    neighbours of the same name. Raises InputError for a file that is missing or fails.
    """
    whole = path.expanduser().resolve()
    if not whole.is_file():
        raise InputError(f"there is no file {path}", remedy="check the path of the plug-in")
    key = (whole, file_digest(whole))
    known = _LOADED.get(key)
    if known is None or _changed(known):
        known = _LOADED[key] = _import(whole, key[1])
    return known


_DIGESTS: dict[Path, str] = {}


def _changed(known: PluginFile) -> bool:
    return any(file_digest(file) != _DIGESTS.get(file) for file in known.neighbours)


def _import(path: Path, digest: str) -> PluginFile:
    name = f"{_OWN_NAME}{digest[:12]}_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InputError(
            "is not a Python file", where=str(path), remedy="name a file that ends in .py"
        )
    module = importlib.util.module_from_spec(spec)
    # dataclasses and pydantic look up a class's module there.
    sys.modules[name] = module
    try:
        with _beside(path.parent) as neighbours, importing(str(path), path):
            spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    files = tuple(sorted(_files_of(neighbours)))
    _DIGESTS.update({file: file_digest(file) for file in files})
    return PluginFile(path, module, files)


@contextmanager
def _beside(folder: Path) -> Iterator[Mapping[str, ModuleType]]:
    """Allow imports from the folder; yields a list that has the imported modules at the end."""
    found: dict[str, ModuleType] = {}
    _make_way()
    before = set(sys.modules)
    sys.path.append(str(folder))
    try:
        yield found
    finally:
        # The file may have added other folders, or removed this one.
        with suppress(ValueError):
            sys.path.remove(str(folder))
        new = [(name, m) for name, m in list(sys.modules.items()) if name not in before]
        found |= {name: module for name, module in new if _lies_in(module, folder, name)}
        _NEIGHBOURS[folder] = found


def _make_way() -> None:
    """Take neighbours out of `sys.modules`: those of other folders, and old ones of this one.

    Their importers keep them; they can just no longer be imported by name.
    """
    for modules in _NEIGHBOURS.values():
        for name, module in modules.items():
            if sys.modules.get(name) is module:
                del sys.modules[name]


def _lies_in(module: object, folder: Path, name: str) -> bool:
    file = getattr(module, "__file__", None)
    if not file or name.startswith(_OWN_NAME):
        return False
    levels = name.count(".") + (Path(file).name == "__init__.py")
    parents = Path(file).parents
    return levels < len(parents) and parents[levels] == folder


def _files_of(modules: Mapping[str, ModuleType]) -> Iterator[Path]:
    return (Path(module.__file__) for module in modules.values() if module.__file__)
