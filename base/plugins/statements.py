"""The statements of a module: which of the module's names each binds and may read."""

import ast
import contextlib
import symtable
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

_UNSEEN = frozenset(
    {
        "__builtins__", "__dict__", "__globals__", "__import__", "__subclasses__", "delattr",
        "exec", "f_globals", "globals", "import_module", "importlib", "modules", "runpy", "setattr",
    }
)  # fmt: skip
"""Names and attributes by which code reaches what it does not name."""
_UNSEEN_NAMES = _UNSEEN | {"compile", "eval", "locals", "vars"}  # attributes are other things
FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, eq=False)
class ModuleStatement:
    """A statement of a module. `binds`: the module's names that it binds, by `global` in functions,
    too; `reads`: those that it may read whenever it runs; `executed`: its parts that run at import,
    which bodies of functions do not."""

    node: ast.stmt
    binds: frozenset[str]
    reads: frozenset[str]
    executed: tuple[ast.AST, ...]

    @classmethod
    def of(cls, node: ast.stmt) -> "ModuleStatement":
        """Reads the statement by itself, so that each name is either its own or the module's."""
        top = symtable.symtable(ast.unparse(node), "plug-in", "exec")
        binds = {one.get_name() for one in top.get_symbols() if _is_bound(one)}
        reads = {one.get_name() for one in top.get_symbols() if one.is_referenced()}
        for table in _inner(top):
            for one in table.get_symbols():
                if one.is_declared_global() and _is_bound(one):
                    binds.add(one.get_name())
                # In the body of a class, `limit = limit` reads the module's.
                in_class = table.get_type() == "class" and one.is_referenced()
                if one.is_global() or (in_class and _is_bound(one)):
                    reads.add(one.get_name())
        parts = tuple(executed(node))
        return cls(node, frozenset(binds), frozenset(reads | _named_in_texts(parts)), parts)

    @cached_property
    def is_unseen(self) -> bool:
        """Whether something in it may read or bind names that it does not say."""
        return is_unseen(self.node)

    @property
    def origin(self) -> str:
        """What an import binds, as a path; "" of any other statement."""
        match self.node:
            case ast.Import(names=[alias]):
                return alias.name if alias.asname else alias.name.partition(".")[0]
            case ast.ImportFrom(names=[alias]):
                return f"{self.node.module}.{alias.name}"
        return ""


def statements_of(tree: ast.Module) -> list[ModuleStatement]:
    """All statements in order, imports by single names, without what only a script runs."""
    split: list[ast.stmt] = []
    for node in tree.body:
        match node:
            case ast.Import():
                split += [ast.Import([alias]) for alias in node.names]
            case ast.ImportFrom():
                split += [ast.ImportFrom(node.module, [one], node.level) for one in node.names]
            case ast.If(orelse=[]) if ast.unparse(node.test) == "__name__ == '__main__'":
                continue
            case _:
                split.append(node)
    return [ModuleStatement.of(node) for node in split]


def is_unseen(node: ast.AST) -> bool:
    """Whether something in the node may read or bind names that it does not say."""
    parts = [*ast.walk(node)]
    names = {part.id for part in parts if isinstance(part, ast.Name)}
    others = {part.attr for part in parts if isinstance(part, ast.Attribute)}
    others.update(*(part.name.split(".") for part in parts if isinstance(part, ast.alias)))
    return not (names.isdisjoint(_UNSEEN_NAMES) and others.isdisjoint(_UNSEEN))


def is_store(part: ast.AST) -> bool:
    """Whether it is an attribute or item that is assigned or deleted."""
    return isinstance(part, ast.Attribute | ast.Subscript) and not isinstance(part.ctx, ast.Load)


def executed(node: ast.AST) -> Iterator[ast.AST]:
    """The node and its parts, without the bodies of functions."""
    yield node
    for field, value in ast.iter_fields(node):
        if field != "body" or not isinstance(node, FUNCTION | ast.Lambda):
            for part in value if isinstance(value, list) else [value]:
                yield from executed(part) if isinstance(part, ast.AST) else ()


def plain(value: Any) -> Any:
    """A node as every Python has it: without places, and without fields that are empty."""
    if isinstance(value, list):
        return [plain(part) for part in value]
    if not isinstance(value, ast.AST):
        return value
    fields = [(name, plain(part)) for name, part in ast.iter_fields(value) if name != "kind"]
    return type(value).__name__, [(name, part) for name, part in fields if part not in (None, [])]


def imported_modules(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """First names of the modules that are imported anywhere in the nodes."""
    parts = [part for node in nodes for part in ast.walk(node)]
    names = [alias.name for part in parts if isinstance(part, ast.Import) for alias in part.names]
    names += [str(part.module) for part in parts if isinstance(part, ast.ImportFrom)]
    return frozenset(name.partition(".")[0] for name in names)


def _named_in_texts(parts: Iterable[ast.AST]) -> set[str]:
    """Names in annotations and types that are written as texts, `list["Settings"]`."""
    texts = {
        inner.value
        for part in parts
        for field in ("annotation", "returns", "slice")
        for inner in ast.walk(getattr(part, field, None) or ast.Pass())
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str)
    }
    names = set()
    for text in texts:
        with contextlib.suppress(SyntaxError, ValueError):
            written = ast.walk(ast.parse(text, mode="eval"))
            names |= {name.id for name in written if isinstance(name, ast.Name)}
    return names


def _inner(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    for child in table.get_children():
        yield child
        yield from _inner(child)


def _is_bound(one: symtable.Symbol) -> bool:
    return one.is_assigned() or one.is_imported()
