"""The identity of a plug-in's code, which enters the system's digest so that changes are
noticed."""

import hashlib
import inspect
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any


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


def file_digest(path: Path) -> str:
    """SHA-256 of a file's bytes; "" if it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def source_of_files(path: Path, files: Iterable[Path]) -> PluginSource:
    """The source of a plug-in in a file, with those beside it that it imports."""
    folder = path.parent
    named = {file.relative_to(folder).as_posix(): file_digest(file) for file in (path, *files)}
    return PluginSource(str(path), dict(sorted(named.items())))


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
            files[f"{name.replace('.', '/')}{Path(file).suffix}"] = file_digest(Path(file))
    installed = distribution or _distribution_of(package)
    return PluginSource(module, dict(sorted(files.items())), installed)


def _distribution_of(package: str) -> str | None:
    """`name==version` of the distribution that brings a top-level package, if one does."""
    names = metadata.packages_distributions().get(package, [])
    return "; ".join(sorted(f"{name}=={metadata.version(name)}" for name in set(names))) or None
