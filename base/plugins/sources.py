"""A plug-in's code: its file, imported once per content, and its identity for digests."""

import hashlib
import importlib.util
import inspect
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

from branchwise.base.errors import InputError
from branchwise.base.plugins.faults import importing


@dataclass(frozen=True)
class PluginSource:
    """Where a plug-in comes from.

    `sha256`: by file name without folder, the digests of the defining file and of the neighbours
    that it imports. `distribution`: `name==version` of an installed one. `place`: the file or
    module, for messages; it does not enter digests.
    """

    place: str
    sha256: Mapping[str, str] = field(default_factory=dict)
    distribution: str | None = None

    @property
    def identity(self) -> dict[str, Any]:
        """What answers depend on: JSON-serialisable, free of paths."""
        installed = {"distribution": self.distribution} if self.distribution else {}
        return {"sha256": dict(self.sha256), **installed}


@dataclass(frozen=True)
class PluginFile:
    """An imported file. `digests`: by path, of it and of the files beside it that it imported."""

    module: ModuleType
    digests: Mapping[Path, str]
    source: PluginSource


_LOADED: dict[Path, PluginFile] = {}
_NEIGHBOURS: dict[str, ModuleType] = {}
"""What plug-ins imported from beside their files, by the plain names."""


def import_file(path: Path) -> PluginFile:
    """The module of a file, imported again if it or a neighbour of it has changed.

    The file's folder is on `sys.path` only while it is imported, and last: `import neighbour` at
    the top of the file works, and nothing there shadows an installed module. Folders may have
    neighbours of the same name. Raises InputError for a file that is missing or fails.
    """
    whole = path.expanduser().resolve()
    if not whole.is_file():
        raise InputError(f"no such file: {path}", remedy="check the path of the plug-in")
    known = _LOADED.get(whole)
    if known is None or any(_digest(file) != was for file, was in known.digests.items()):
        known = _LOADED[whole] = _imported(whole)
    return known


def source_of_module(module: str, found: object, distribution: str | None) -> PluginSource:
    """The source of an object in a module: the module's file, and that of the module that defines
    it.

    Only files of the same package count, because the object may be a LangChain class.
    """
    package = module.partition(".")[0]
    defining = getattr(inspect.unwrap(found) if callable(found) else found, "__module__", module)
    files = {}
    for name in dict.fromkeys([module, str(defining)]):
        file = getattr(sys.modules.get(name), "__file__", None)
        if file and name.partition(".")[0] == package:
            files[f"{name.replace('.', '/')}{Path(file).suffix}"] = _digest(Path(file))
    if distribution is None:
        names = set(metadata.packages_distributions().get(package, []))
        distribution = "; ".join(sorted(f"{n}=={metadata.version(n)}" for n in names)) or None
    return PluginSource(module, dict(sorted(files.items())), distribution)


def _digest(path: Path) -> str:
    """SHA-256 of a file's bytes; "" if it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def _imported(path: Path) -> PluginFile:
    digest, folder = _digest(path), path.parent
    name = f"branchwise_plugin_{digest[:12]}_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        remedy = "name a file that ends in .py"
        raise InputError("is not a Python file", where=str(path), remedy=remedy)
    module = importlib.util.module_from_spec(spec)
    # Neighbours of other folders, and old ones of this one, can no longer be imported by name;
    # their importers keep them.
    for beside, other in _NEIGHBOURS.items():
        if sys.modules.get(beside) is other:
            del sys.modules[beside]
    _NEIGHBOURS.clear()
    before = set(sys.modules)
    # dataclasses and pydantic look up a class's module there.
    sys.modules[name] = module
    sys.path.append(str(folder))
    try:
        with importing(str(path), path):
            spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    finally:
        with suppress(ValueError):  # the file may have removed its folder itself
            sys.path.remove(str(folder))
        for new in sys.modules.keys() - before:
            top, file = folder / new.partition(".")[0], getattr(sys.modules[new], "__file__", None)
            if file and (top in Path(file).parents or Path(file) == top.with_suffix(".py")):
                _NEIGHBOURS[new] = sys.modules[new]
    besides = [Path(str(one.__file__)) for one in _NEIGHBOURS.values()]
    digests = {path: digest} | {file: _digest(file) for file in besides}
    named = {file.relative_to(folder).as_posix(): d for file, d in digests.items()}
    return PluginFile(module, digests, PluginSource(str(path), dict(sorted(named.items()))))
