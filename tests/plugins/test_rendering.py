"""A tool's renderer: called once with the call, kept in the artifact, shown in the trace."""

import asyncio
from itertools import repeat
from typing import Any

import pytest

from branchwise import ToolResult, tool
from branchwise.tools.plugin_tools import MAX_CHARS, MAX_LINES, FunctionTool, PluginResult, Render
from branchwise.trace.events import Event
from branchwise.ui.steps.words import Around, blocks


def called(render: Render) -> PluginResult:
    @tool(render=render)
    def greet(name: str) -> ToolResult:
        """Greet."""
        return ToolResult("hello", {"n": 1})

    made = FunctionTool.of(greet)
    return asyncio.run(made.call({"name": "Ada"}, 10))


def fails(*_: Any) -> Any:
    yield "begun"
    raise KeyError("no such thing")


def mutates(arguments: Any, content: Any, artifact: Any) -> Any:
    artifact["n"] = 9
    return ["\x1b[31mred", "\ud800"]


@pytest.mark.parametrize(
    ("render", "lines"),
    [
        (
            lambda given, content, kept: [f"{given['name']}: {content}", kept["n"]],
            ["Ada: hello", "1"],
        ),
        (fails, ["the renderer of greet: KeyError: 'no such thing'"]),
        (mutates, ["\x1b[31mred", "\ufffd"]),
    ],
)
def test_its_lines_are_kept_and_the_call_is_as_without(render: Render, lines: list[str]):
    result = called(render)
    assert (result.content, result.error) == ("hello", None)
    assert result.artifact == {"n": 1, "rendered": lines}


def test_what_never_ends_is_cut():
    lines = called(lambda *_: repeat("x" * 100)).artifact["rendered"]
    assert len(lines) <= MAX_LINES
    assert len("\n".join(lines)) <= MAX_CHARS + 100
    assert lines[-1].startswith("[cut: ")


def test_the_trace_shows_them_without_what_could_steer_a_terminal():
    result = called(mutates)
    event: dict[str, Any] = {
        "call": {"id": "c1", "name": "greet", "args": {"name": "Ada"}},
        **{"of": 0, "seconds": 0.1, "replayed": False, "error": None},
        **{"content": result.content, "artifact": dict(result.artifact)},
    }
    shown = blocks(Event(0, "tool", 0.0, event), Around())
    [block] = [one for one in shown if one.title == "as greet shows it"]
    assert block.text == "\ufffd[31mred\n\ufffd"
    assert not any("rendered" in one.text for one in shown)
    event["artifact"]["rendered"] = {"not": "lines"}
    assert any(one.title == "rendered" for one in blocks(Event(0, "tool", 0.0, event), Around()))
