"""What of its file a plug-in uses: a digest that its neighbours in the file do not change.

Counted are all bindings of its name and, in turn, of every module-level name that what counts may
read: functions, classes, constants, single names of imports, in file order. What runs at import
counts, too, where it may change something that is used:

- for every plug-in, expressions with calls that stand alone (`TOOLS.append(f)`), assignments to
  attributes and items, calls with an unused result, unused imports (`import x`);
- of other statements that run code (a call that is assigned, a decorator of one's own, a loop),
  those that reach an object that is used and is not seen to be unchanging, or a module beside the
  file of which something is used.

Comments and layout do not count, nor which Python reads the file; docstrings do. Where code may
reach names unseen (`globals()`, `eval`, `from x import *`), the whole file counts. Not looked into
is what an imported module does to others while it is imported.
"""

import ast
import builtins
import hashlib
from collections import defaultdict
from collections.abc import Set
from functools import cached_property, lru_cache
from typing import NamedTuple

from branchwise.base.plugins.statements import (
    FUNCTION,
    ModuleStatement,
    executed,
    imported_modules,
    is_store,
    plain,
    statements_of,
)

_OWN = frozenset({"metric", "node", "retriever", "tool"})
_DECLARING = frozenset(
    {
        "abc.ABC", "abc.abstractmethod", "builtins.classmethod", "builtins.property",
        "builtins.staticmethod", "contextlib.asynccontextmanager", "contextlib.contextmanager",
        "dataclasses.dataclass", "dataclasses.field", "enum.Enum", "enum.IntEnum", "enum.StrEnum",
        "functools.cache", "functools.lru_cache", "functools.partial", "functools.wraps",
        "pathlib.Path", "pydantic.BaseModel", "pydantic.ConfigDict", "pydantic.Field",
        "pydantic.field_validator", "pydantic.model_validator", "re.compile", "typing.Generic",
        "typing.NamedTuple", "typing.NewType", "typing.Protocol", "typing.TypeVar",
        "typing.TypedDict",
    }
)  # fmt: skip
"""What is called, or inherited from, without changing anything that it is given."""
_RUNNING = (
    ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp | ast.For | ast.AsyncFor
    | ast.With | ast.AsyncWith | ast.Starred | ast.AugAssign | ast.Await
)  # fmt: skip
_HELD = ast.List | ast.Dict | ast.Set


class UsedCode(NamedTuple):
    """SHA-256 of what a plug-in uses of its file, and the first names of modules it imports."""

    sha256: str
    modules: frozenset[str]


@lru_cache(maxsize=64)
def used_code(source: bytes, name: str, beside: Set[str] = frozenset()) -> UsedCode | None:
    """What the module-level `name` uses of a file's source; None: all of it has to count. `beside`:
    modules whose objects may be changed by calls of their functions."""
    try:
        used = _Module(ast.parse(source), beside).used_by(name)
        text = repr([plain(statement.node) for statement in used])
    except (RecursionError, ValueError):  # a sum of a thousand texts, a number of as many digits
        return None
    if not used or any(statement.is_unseen for statement in used):
        return None
    sha256 = hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
    return UsedCode(sha256, imported_modules(statement.node for statement in used))


class _Module:
    def __init__(self, tree: ast.Module, beside: Set[str]) -> None:
        self._beside = beside
        self._statements = statements_of(tree)
        self._binding: dict[str, list[ModuleStatement]] = defaultdict(list)
        for statement in self._statements:
            for name in statement.binds:
                self._binding[name].append(statement)
            if statement.node is tree.body[0]:
                self._binding["__doc__"].append(statement)
        self._read = frozenset[str]().union(*(s.reads for s in self._statements))
        stores = [part for place in ast.walk(tree) if is_store(place) for part in ast.walk(place)]
        self._changed = {part.id for part in stores if isinstance(part, ast.Name)}
        aliases = [part for part in ast.walk(tree) if isinstance(part, ast.alias)]
        self._has_star = any(alias.name == "*" for alias in aliases)

    def used_by(self, name: str) -> list[ModuleStatement]:
        """The statements that count, in order; none where the name is not seen to be bound."""
        if not self._binding.get(name) or self._has_star:
            return []
        names, used = {name}, set[ModuleStatement]()
        while more := [s for s in self._statements if s not in used and self._counts(s, names)]:
            used.update(more)
            names.update(*(statement.reads for statement in more))
        return [statement for statement in self._statements if statement in used]

    def _counts(self, statement: ModuleStatement, names: set[str]) -> bool:
        if any(statement in self._binding.get(name, ()) for name in names):
            return True
        if self._is_for_effect(statement):
            return True
        if not self._runs(statement):
            return False
        reached, behind = self._reached(statement)
        changes = reached & names & self._changing or self._modules(reached) & self._modules(names)
        return bool(changes) or any(s.is_unseen for s in behind)

    def _is_for_effect(self, statement: ModuleStatement) -> bool:
        """Whether it may change something for every plug-in."""
        is_unread = self._read.isdisjoint(statement.binds)
        if statement.origin.startswith("__future__"):
            return True
        for part in statement.executed:
            if is_unread and isinstance(part, ast.Import):
                return True
            inner = executed(part) if isinstance(part, ast.Expr) else ()
            if is_store(part) or any(isinstance(one, ast.Call | ast.Await) for one in inner):
                return True
        is_hidden = all(name.startswith("_") for name in statement.binds)
        return is_unread and is_hidden and self._runs(statement)

    def _runs(self, statement: ModuleStatement) -> bool:
        """Whether code runs at import that may change what it reaches."""
        for part in statement.executed:
            asked = [*getattr(part, "decorator_list", ())]
            if isinstance(part, ast.Call):
                asked.append(part.func)
            elif isinstance(part, ast.ClassDef):
                classes = [*part.bases, *(k.value for k in part.keywords if k.arg == "metaclass")]
                asked += [c for c in classes if not self._dotted(c).startswith("builtins.")]
            unpacks = isinstance(part, ast.Tuple | ast.List) and isinstance(part.ctx, ast.Store)
            if unpacks or isinstance(part, _RUNNING) or not all(map(self._declares, asked)):
                return True
        return False

    def _reached(self, statement: ModuleStatement) -> tuple[set[str], set[ModuleStatement]]:
        """Names that a statement may read or bind, directly or by others, and these with it."""
        reached, behind = set[str](), {statement}
        todo = [*statement.reads, *statement.binds]
        while todo:
            if (name := todo.pop()) not in reached:
                reached.add(name)
                behind.update(self._binding.get(name, ()))
                todo += [n for s in self._binding.get(name, ()) for n in (*s.reads, *s.binds)]
        return reached, behind

    def _modules(self, names: set[str]) -> set[str]:
        """The modules beside the file that the names are imported from."""
        origins = [s.origin for name in names for s in self._binding.get(name, ())]
        return {origin.partition(".")[0] for origin in origins} & self._beside

    @cached_property
    def _changing(self) -> set[str]:
        """Names of objects that are not seen to stay as they are."""
        names, assigned = set(self._changed), list[ModuleStatement]()
        for statement in self._statements:
            node, parts = statement.node, statement.executed
            if isinstance(node, FUNCTION | ast.ClassDef):
                names |= statement.binds - {node.name}  # by `global`
            holds = any(isinstance(part, _HELD) for part in parts)
            if isinstance(node, ast.Assign | ast.AnnAssign):
                assigned.append(statement)
                # An attribute of an imported module may be anything.
                attributes = [part for part in parts if isinstance(part, ast.Attribute)]
                holds = holds or not all(map(self._declares, attributes))
            if holds or self._runs(statement):
                names |= statement.binds
        while more := {n for s in assigned if s.reads & names for n in s.binds} - names:
            names |= more
        return names

    def _declares(self, value: ast.AST) -> bool:
        """Whether calling it, inheriting from it or decorating by it changes nothing else."""
        dotted = self._dotted(value)
        is_own = dotted.startswith("branchwise.") and dotted.rpartition(".")[2] in _OWN
        return is_own or dotted in _DECLARING

    def _dotted(self, value: ast.AST) -> str:
        """The path of an imported or built-in object; "" of any other."""
        if isinstance(value, ast.Call | ast.Subscript):
            return self._dotted(value.func if isinstance(value, ast.Call) else value.value)
        first, dot, rest = ast.unparse(value).partition(".")
        origins = {statement.origin for statement in self._binding.get(first, ())}
        if not origins and hasattr(builtins, first):
            origins = {f"builtins.{first}"}
        return f"{origins.pop()}{dot}{rest}" if len(origins) == 1 else ""
