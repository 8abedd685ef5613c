"""A plug-in's code: imported once per content, its identity for digests, its errors in one line."""

import ast
import contextlib
import hashlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

from branchwise.base.errors import InputError
from branchwise.base.plugins.statements import imported_modules, is_unseen
from branchwise.base.plugins.used_code import used_code
from branchwise.base.secrets import without_keys
from branchwise.base.text import encodable, one_line

MAX_LINE = 500
is_importing = ContextVar("is_importing", default=False)
"""Whether a plug-in's file or module is being imported."""


class WrongResult(ValueError):  # noqa: N818 - it is what the call came to
    """A plug-in returned something that its kind does not accept; the text says what to return."""


def fault_line(error: BaseException) -> str:
    """`ValueError: message`, on one bounded line; of a WrongResult only the message."""
    name = type(error).__name__
    if isinstance(error, BaseExceptionGroup) and error.exceptions:
        return f"{name}: {fault_line(error.exceptions[0])}"[:MAX_LINE]
    said = one_line(str(error))
    line = said if isinstance(error, WrongResult) else ": ".join(filter(None, (name, said)))
    return encodable(without_keys(line))[:MAX_LINE]


def raised_at(error: BaseException, file: Path | None = None) -> str:
    """`file:line` where an exception last was, of the places in `file`; "" if in none."""
    frames = traceback.extract_tb(error.__traceback__)
    known = [f for f in frames if f.filename != __file__ and Path(f.filename).exists()]
    own = [f for f in known if file in (None, Path(f.filename))]
    return f"{own[-1].filename}:{own[-1].lineno}" if own else ""


def fault_place(error: BaseException | None, function: Callable[..., Any]) -> str:
    """Where the function's own file raised it, `FILE:LINE` without a folder; of a cell of a
    notebook, which has no file, `line LINE`. Empty where nothing says it."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if error is None or code is None:
        return ""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame.lineno for frame in frames if frame.filename == code.co_filename]
    line, file = (own or [code.co_firstlineno])[-1], Path(code.co_filename)
    return f"{file.name}:{line}" if file.exists() else f"line {line}"


@contextlib.contextmanager
def importing(place: str, file: Path | None = None) -> Iterator[None]:
    """Turn exceptions inside into an InputError with file and line.

    `file`: the plug-in's file, whose own line is named rather than that of a library below it.
    """
    before = is_importing.set(True)
    try:
        yield
    except InputError:
        raise
    # A script without `if __name__ == "__main__"` may exit, even with 0: nothing would be said.
    except (Exception, SystemExit) as error:  # noqa: BLE001
        where = raised_at(error, file) or place
        if isinstance(error, SyntaxError):
            where = f"{error.filename}:{error.lineno}" if error.filename else place
        raise InputError(
            f"the plug-in cannot be imported: {fault_line(error)}",
            where=where,
            remedy="fix it there",
        ) from None
    finally:
        is_importing.reset(before)


@dataclass(frozen=True)
class PluginSource:
    """Where a plug-in comes from.

    `sha256`: by file name without folder, the digests of what it uses of the defining file, and of
    the neighbours that this imports, whole. `distribution`: `name==version` of an installed one.
    `place`: the file or module, for messages; it does not enter digests.
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

    path: Path
    module: ModuleType
    digests: Mapping[Path, str]

    def source_of(self, name: str) -> PluginSource:
        """The source of what `name`, perhaps with dots, is in the file (`used_code`)."""
        folder, counted = self.path.parent, dict(self.digests)
        beside = frozenset(self._top(file) for file in self.digests if file != self.path)
        if used := used_code(self.path.read_bytes(), name.partition(".")[0], beside):
            counted[self.path] = used.sha256
            for file in self._unused_by(used.modules):
                del counted[file]
        named = {file.relative_to(folder).as_posix(): digest for file, digest in counted.items()}
        return PluginSource(str(self.path), dict(sorted(named.items())))

    def _unused_by(self, modules: Set[str]) -> list[Path]:
        """The neighbours that none of the modules is or imports."""
        others = {file: self._top(file) for file in self.digests if file != self.path}
        wanted, todo = set[str](), {*modules}
        while todo:
            wanted |= todo
            files = [file for file, top in others.items() if top in todo]
            todo = set[str]()
            for file in files:
                try:
                    tree = ast.parse(file.read_bytes())
                except (SyntaxError, ValueError, OSError):  # a compiled one
                    return []
                if is_unseen(tree):
                    return []
                todo |= imported_modules([tree])
            todo -= wanted
        return [file for file, top in others.items() if top not in wanted]

    def _top(self, file: Path) -> str:
        return file.relative_to(self.path.parent).parts[0].partition(".")[0]


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
    """The source of an object in a module: the module's file, and that of the one that defines it.

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
    return PluginFile(path, module, digests)
