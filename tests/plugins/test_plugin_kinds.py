"""A plug-in of another kind than is asked for, and a function that nothing declares."""

import pytest

from branchwise.base.errors import InputError
from branchwise.base.plugins.declare import KINDS, group_of, made
from branchwise.base.plugins.specs import find_plugin

PLUGINS = '''
from langchain_core.tools import tool as langchain_tool
from branchwise import metric, node, retriever, tool

@tool
def tools(x: str) -> str:
    """D."""
    return x

@node("after_tools")
def nodes(state):
    """D."""

@retriever
def retrievers():
    """D."""

@metric(heading="m", note="m")
def metrics(item):
    """D."""
    return 1

@langchain_tool
def chained(x: str) -> str:
    """D."""
    return x

called = []
def wants(x): called.append(x)
def gives_none(): return None
async def later(): return tools
def makes_tool(): return tools
class Sort: pass
'''
OPTIONS = {
    "tools": "name it with --tool (tools: in a study file)",
    "nodes": "name it with --node (nodes: in a study file)",
    "retrievers": "name it with --retriever (retriever: in a study file)",
    "metrics": "name it with --metric (metrics: in a study file)",
}
DECORATORS = {
    "tools": "put `@tool` above it",
    "nodes": 'put `@node("after_tools")` above it',
    "retrievers": "put `@retriever` above it",
    "metrics": "put `@metric(...)` above it",
}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mixed.py"
    path.write_text(PLUGINS)
    return path


def refusal(file, name, group):
    with pytest.raises(InputError) as caught:
        made(find_plugin(f"{file}:{name}", group).object, group, "HERE")
    assert str(caught.value).startswith("HERE: ")
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("group", KINDS)
def test_each_kind_is_taken_for_its_own_and_named_where_another_is_wanted(file, group):
    found = find_plugin(f"{file}:{group}", group).object
    assert group_of(found) == group
    assert made(found, group, "HERE") is found
    for other in KINDS.keys() - {group}:
        said = refusal(file, other, group)
        assert said == f"HERE: is a {other[:-1]}, not a {group[:-1]}; {OPTIONS[other]}"


@pytest.mark.parametrize("group", KINDS)
def test_a_function_that_nothing_declares_is_not_called_and_its_decorator_is_named(file, group):
    for name in ("wants", "later"):
        said = refusal(file, name, group)
        assert said.startswith(f"HERE: is a function, not a {group[:-1]}; {DECORATORS[group]}")
    assert find_plugin(f"{file}:called", group).object == []


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("gives_none", "makes a NoneType, not a node; put `@node("),
        ("makes_tool", "makes a tool, not a node; name it with --tool"),
        ("chained", "is a tool, not a node; name it with --tool"),
        ("Sort", "makes a Sort, not a node; name a node, or"),
        ("called", "is a list, not a node; name a node, or"),
    ],
)
def test_what_stands_there_instead_is_said(file, name, said):
    assert said in refusal(file, name, "nodes")


def test_a_plugin_that_is_refused_leaves_the_others_of_its_file_alone(tmp_path):
    file = tmp_path / "two.py"
    good = '@tool\ndef good(x: str) -> str:\n    """Says it."""\n    return x\n'
    bad = "@metric\ndef bad(item):\n    return 1.0\n"
    file.write_text(f"from branchwise import metric, tool\n{bad}{good}")
    assert find_plugin(f"{file}:good", "tools").object.name == "good"
    with pytest.raises(InputError, match=r"two\.py:2: the metric bad has no docstring"):
        find_plugin(f"{file}:bad", "metrics")
