"""A tool's renderer: called once with the call, kept in the artifact, shown in the trace."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from branchwise.tools.plugin_tools import MAX_CHARS, MAX_LINES, PluginResult
from branchwise.tools.registry import ToolContext, make_tools
from branchwise.trace.events import Event
from branchwise.ui.steps.describe import blocks
from branchwise.ui.steps.words import Around

PLUGIN = '''
from branchwise import ToolResult, tool


def plain(arguments, content, artifact):
    yield f"{arguments['name']}: {content}"
    yield artifact["n"]

def text(arguments, content, artifact):
    return "one\\ntwo"

def fails(arguments, content, artifact):
    yield "begun"
    raise KeyError("no such thing")

def endless(arguments, content, artifact):
    while True:
        yield "x" * 100

def mutates(arguments, content, artifact):
    artifact["n"] = 9
    return ["\\x1b[31mred", "\\ud800"]

def nothing(arguments, content, artifact):
    return None

@tool(render=RENDER)
def greet(name: str) -> ToolResult:
    """Greet. `name`: whom."""
    return ToolResult("hello", {"n": 1})
'''


def called(folder: Path, render: str) -> PluginResult:
    file = folder / "greet.py"
    file.write_text(PLUGIN.replace("RENDER", render))
    [made] = make_tools([f"{file}:greet"], ToolContext())
    result: PluginResult = asyncio.run(made.call({"name": "Ada"}, 10))  # type: ignore[attr-defined]
    return result


@pytest.mark.parametrize(
    ("render", "lines"),
    [
        ("plain", ["Ada: hello", "1"]),
        ("text", ["one", "two"]),
        ("fails", ["the renderer of greet: KeyError: 'no such thing'"]),
        ("mutates", ["\x1b[31mred", "\ufffd"]),
        ("nothing", ["the renderer of greet: TypeError: 'NoneType' object is not iterable"]),
    ],
)
def test_its_lines_are_kept_and_the_call_is_as_without(
    tmp_path: Path, render: str, lines: list[str]
):
    result = called(tmp_path, render)
    assert (result.content, result.error) == ("hello", None)
    assert result.artifact == {"n": 1, "rendered": lines}


def test_what_never_ends_is_cut(tmp_path: Path):
    lines = called(tmp_path, "endless").artifact["rendered"]
    assert len(lines) <= MAX_LINES
    assert len("\n".join(lines)) <= MAX_CHARS + 100
    assert lines[-1].startswith("[cut: ")


def test_the_trace_shows_them_without_what_could_steer_a_terminal(tmp_path: Path):
    result = called(tmp_path, "mutates")
    call = {"id": "c1", "name": "greet", "args": {"name": "Ada"}}
    event: dict[str, Any] = {
        "call": call, "of": 0, "seconds": 0.1, "replayed": False, "error": None,
        "content": result.content, "artifact": dict(result.artifact),
    }  # fmt: skip
    shown = blocks(Event(0, "tool", 0.0, event), Around())
    [block] = [one for one in shown if one.title == "as greet shows it"]
    assert block.text == "\ufffd[31mred\n\ufffd"
    assert not any("rendered" in one.text for one in shown)
    event["artifact"]["rendered"] = {"not": "lines"}
    assert any(one.title == "rendered" for one in blocks(Event(0, "tool", 0.0, event), Around()))
