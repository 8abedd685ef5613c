"""A type has a name of its own: nowhere in the product does the same name mean another type."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.rooms import ROOT, product_files


def public_types(file: Path) -> Iterator[str]:
    """Classes and type aliases of a module, as far as their names say that they are some."""
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef):
            names = [node.name]
        elif isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        else:
            names = []
        yield from (name for name in names if name[0].isupper() and not name.isupper())


def types_in_several_modules() -> dict[str, list[str]]:
    homes: dict[str, list[str]] = defaultdict(list)
    for file in product_files():
        for name in public_types(file):
            homes[name].append(file.relative_to(ROOT).as_posix())
    return {name: files for name, files in homes.items() if len(files) > 1}


@pytest.mark.slow
def test_no_public_type_is_defined_in_two_modules():
    assert types_in_several_modules() == {}
