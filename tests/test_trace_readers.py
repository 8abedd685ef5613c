"""Events are read as typed bodies: outside `trace/` and the store, `data` is only passed on."""

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("branchwise", "agents", "tools", "graphs", "eval", "ui")
STORE = ROOT / "eval" / "store"
READING_TRACES = ("branchwise", "graphs", "eval/errors", "eval/forks", "ui")
OF_PYDANTIC = "info.data"
"""What a validator is given of the other fields."""
RAW = ("Data", "Mapping[str, Any]", "dict[str, Any]")


def files(*folders: str) -> list[Path]:
    found = [file for folder in folders for file in sorted((ROOT / folder).rglob("*.py"))]
    return [file for file in found if STORE not in file.parents]


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


def raw_readings(source: str) -> list[str]:
    """Expressions that look into the `data` of something."""
    members = (one for one in read_parts(ast.parse(source)) if isinstance(one, ast.Attribute))
    read = [ast.unparse(member) for member in members if member.attr == "data"]
    return [member for member in read if member != OF_PYDANTIC]


def raw_parameters(source: str) -> list[str]:
    """Functions that take an event's data as it is; a journal's `event` is given it to write."""
    functions = (n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.FunctionDef))
    return [
        function.name
        for function in functions
        for given in (*function.args.args, *function.args.kwonlyargs)
        if function.name != "event"
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
    ],
)
def test_looking_into_an_events_data_is_seen(source: str):
    assert len(raw_readings(source)) == 1


def test_what_is_passed_on_as_it_is_may_be():
    assert raw_readings("Event(1, kind, 0.0, event.data); shown(event.data)") == []


def test_no_file_looks_into_an_events_data():
    assert looking(raw_readings, *FOLDERS) == {}


def test_no_function_of_a_reader_takes_raw_data():
    assert looking(raw_parameters, *READING_TRACES) == {}


def looking(rule: Callable[[str], list[str]], *folders: str) -> dict[str, list[str]]:
    """What a rule finds, by file."""
    found = {file: rule(file.read_text("utf-8")) for file in files(*folders)}
    return {str(file.relative_to(ROOT)): seen for file, seen in found.items() if seen}
