"""What the house measures: `python benchmarks/structure.py [TREE...]`, each tree a checkout.

Files and functions of the product with their lines (median, 95th percentile, longest), and what a
new kind of event would have to be taught to: files that dig in an event's record, and files that
know kinds of events by name or by type.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import TypeGuard

PRODUCT = ("agents", "branchwise", "corpora", "eval", "graphs", "tools", "trace", "ui")
KINDS = frozenset(
    {
        *("start", "expansion", "model", "tool", "node", "extraction", "budget", "answer"),
        *("context_trimmed", "retry", "left_out", "repair", "repair_failed", "error"),
    }
)
TYPES = "branchwise.trace.events"
_MIN_TABLE = 3
"""Kinds among a dictionary's keys that make it a table of kinds, and no coincidence."""


def main() -> None:
    trees = [Path(tree) for tree in sys.argv[1:]] or [Path(__file__).parents[1]]
    rows = [measures(tree) for tree in trees]
    for name in rows[0]:
        print(f"{name:<44}" + "".join(f"{row[name]:>20}" for row in rows))


def measures(tree: Path) -> dict[str, str]:
    """The figures of one tree."""
    files = [file for folder in PRODUCT for file in sorted((tree / folder).rglob("*.py"))]
    parsed = {file: ast.parse(file.read_text("utf-8")) for file in files}
    lines = [len(file.read_text("utf-8").splitlines()) for file in files]
    functions = [size for module in parsed.values() for size in function_sizes(module)]
    outside = {f: m for f, m in parsed.items() if f.relative_to(tree).parts[0] != "trace"}
    return {
        "files": f"{len(files):,}",
        "lines": f"{sum(lines):,}",
        "lines a file (median, 95%, longest)": spread(lines),
        "lines a function (median, 95%, longest)": spread(functions),
        "files that dig in an event's record": str(sum(map(digs, outside.values()))),
        "files that know kinds by name": str(sum(map(names_kinds, outside.values()))),
        "files that know kinds by type": str(sum(map(imports_types, outside.values()))),
    }


def spread(sizes: list[int]) -> str:
    """Median, 95th percentile and longest."""
    ordered = sorted(sizes)
    return f"{median(ordered):g} / {ordered[int(0.95 * len(ordered))]} / {ordered[-1]}"


def function_sizes(module: ast.Module) -> Iterator[int]:
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno:
            yield node.end_lineno - node.lineno + 1


def digs(module: ast.Module) -> bool:
    """Whether a file looks into `event.data`, or into a `data` that it was handed."""
    return any(is_record(node.value) for node in ast.walk(module) if reads(node))


def reads(node: ast.AST) -> TypeGuard[ast.Subscript | ast.Attribute]:
    return isinstance(node, ast.Subscript) or (
        isinstance(node, ast.Attribute) and node.attr in ("get", "items", "keys", "values")
    )


def is_record(node: ast.expr) -> bool:
    named = isinstance(node, ast.Name) and node.id == "data"
    return named or (isinstance(node, ast.Attribute) and node.attr == "data")


def names_kinds(module: ast.Module) -> bool:
    """Whether a file compares a `kind` with one of an event, or has a table of kinds."""
    for node in ast.walk(module):
        if isinstance(node, ast.Compare) and is_kind(node.left):
            if kinds_in(*node.comparators):
                return True
        elif isinstance(node, ast.Dict):
            keys = [key.value for key in node.keys if isinstance(key, ast.Constant)]
            if len(KINDS.intersection(map(str, keys))) >= _MIN_TABLE:
                return True
    return False


def is_kind(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "kind"


def kinds_in(*nodes: ast.expr) -> bool:
    constants = (one for node in nodes for one in ast.walk(node) if isinstance(one, ast.Constant))
    return any(one.value in KINDS for one in constants)


def imports_types(module: ast.Module) -> bool:
    return any(
        isinstance(node, ast.ImportFrom)
        and node.module == TYPES
        and not {alias.name for alias in node.names} <= {"Event", "Usage", "graph_name"}
        for node in ast.walk(module)
    )


if __name__ == "__main__":
    main()
