"""Events are read as typed bodies: outside records and views, `data` is only passed on."""

import ast
from collections.abc import Callable, Iterator

import pytest

from support.rooms import ROOT, product_files

VIEW = "_View"
"""What reads a record that may be anyone's: its `data` is its own."""
TYPED = ("event", "read", "_read")
"""A journal's `event` is given data to write, a record's `read` makes fields of them."""
OF_PYDANTIC = "info.data"
"""What a validator is given of the other fields."""
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
RAW = ("Data", "Mapping[str, Any]", "dict[str, Any]")


def read_parts(tree: ast.AST) -> Iterator[ast.expr]:
    """What is subscripted, asked for a member, unpacked, searched or walked through."""
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(value=read) | ast.Attribute(value=read):
                yield read
            case ast.keyword(arg=None, value=read) | ast.Starred(value=read):
                yield read
            case ast.For(iter=read) | ast.AsyncFor(iter=read) | ast.comprehension(iter=read):
                yield read
            case ast.Dict():
                yield from (v for k, v in zip(node.keys, node.values, strict=True) if k is None)
            case ast.Compare():
                yield from node.comparators


def is_data(node: ast.AST | None) -> bool:
    """Whether an expression is the `data` of something that may be an event."""
    is_member = isinstance(node, ast.Attribute) and node.attr == "data"
    return is_member and ast.unparse(node) != OF_PYDANTIC


def names_of_data(function: ast.AST) -> set[str]:
    """Local names that stand for the `data` of something."""
    given = (n for n in ast.walk(function) if isinstance(n, ast.Assign | ast.AnnAssign))
    walrus = (n for n in ast.walk(function) if isinstance(n, ast.NamedExpr))
    named = (node for node in (*given, *walrus) if is_data(node.value))
    targets = (getattr(node, "targets", None) or [node.target] for node in named)
    return {one.id for several in targets for one in several if isinstance(one, ast.Name)}


def in_views(tree: ast.AST) -> set[ast.AST]:
    """All that stands in views."""
    classes = (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    views = (one for one in classes if VIEW in (one.name, *map(ast.unparse, one.bases)))
    return {node for view in views for node in ast.walk(view)}


def raw_readings(source: str) -> list[str]:
    """Expressions that look into the `data` of something, under this or another name."""
    tree = ast.parse(source)
    found = [read for read in read_parts(tree) if is_data(read)]
    # Of an array `data` is its buffer.
    scopes = [] if "import numpy" in source else ast.walk(tree)
    for function in (node for node in scopes if isinstance(node, FUNCTIONS)):
        names = names_of_data(function)
        read = (part for part in read_parts(function) if isinstance(part, ast.Name))
        found += [part for part in read if part.id in names]
    own = in_views(tree)
    return [ast.unparse(part) for part in found if part not in own]


def raw_parameters(source: str) -> list[str]:
    """Functions that take an event's data as it is."""
    tree = ast.parse(source)
    functions = {node for node in ast.walk(tree) if isinstance(node, FUNCTIONS)} - in_views(tree)
    return [
        function.name
        for function in functions
        for given in (*function.args.args, *function.args.kwonlyargs)
        if function.name not in TYPED
        and given.arg == "data"
        and given.annotation
        and ast.unparse(given.annotation) in RAW
    ]


@pytest.mark.parametrize(
    "source",
    [
        'event.data["how"]',
        'self.event.data.get("how")',
        "[*trace.events[0].data.values()]",
        "{**event.data, 'edited': True}",
        "dict(**event.data)",
        "'how' in event.data",
        "[key for key in event.data]",
        "def f():\n    said = event.data\n    return said['how']",
        "def f():\n    return 'how' in said if (said := event.data) else None",
    ],
)
def test_looking_into_an_events_data_is_seen(source: str):
    assert len(raw_readings(source)) == 1


def test_what_is_passed_on_as_it_is_may_be():
    assert raw_readings("Event(1, kind, 0.0, event.data); shown(event.data)") == []
    assert raw_readings("def f():\n    data = event.data\n    return shown(data)") == []


def test_a_view_may_look_into_what_it_is_a_view_of():
    assert raw_readings("class Shown(_View):\n    def f(self): return self.data['how']") == []
    assert raw_readings("class Shown:\n    def f(self): return self.data['how']") == ["self.data"]


@pytest.mark.long
def test_no_file_looks_into_an_events_data():
    assert looking(raw_readings) == {}


def test_no_function_takes_an_events_raw_data():
    assert looking(raw_parameters) == {}


def looking(rule: Callable[[str], list[str]]) -> dict[str, list[str]]:
    """What a rule finds, by file."""
    found = {file: rule(file.read_text("utf-8")) for file in product_files()}
    return {str(file.relative_to(ROOT)): seen for file, seen in found.items() if seen}
