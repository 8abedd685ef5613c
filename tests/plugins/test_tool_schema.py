"""What the model sees of a tool, what is refused, and how its renderer shows a call."""

import asyncio
from itertools import repeat
from typing import Annotated, Any, Literal

import pytest
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel, Field

from branchwise import Corpus, Graph, RunContext, ToolResult, tool
from branchwise.base.errors import InputError
from branchwise.tools.plugin_tools import (
    MAX_CHARS,
    MAX_LINES,
    FunctionTool,
    PluginResult,
    Render,
    ToolPlugin,
)
from branchwise.trace.events import Event
from branchwise.ui.steps.words import Around, blocks


def seen(plugin: ToolPlugin) -> Any:
    """What a model sees."""
    made = FunctionTool.of(plugin)
    return convert_to_openai_tool(made)["function"]


def read(plugin: ToolPlugin, **given: Any) -> dict[str, Any]:
    """The function's arguments, of a model's."""
    return dict(plugin.arguments.model_validate(given))


class Limits(BaseModel):
    """Settings of a tool."""

    limit: int = 3


def test_names_types_and_words_become_a_schema_and_what_is_injected_is_hidden():
    @tool(settings=Limits)
    def pick(
        kind: Literal["item", "property"],
        corpus: Corpus,
        limits: Limits,
        limit: Annotated[int, Field(ge=1, le=9, description="how many")] = 3,
        names: Annotated[list[str] | None, "which"] = None,
        *,
        kg: Graph | None,
        run: RunContext,
    ) -> str:
        """Pick some.

        Of many.

        Args:
            kind: of which
                kind.
            corpus: where.
        """
        return ""

    shown = seen(pick)
    assert (shown["name"], shown["description"]) == ("pick", "Pick some. Of many.")
    kind, limit, names = shown["parameters"]["properties"].values()
    assert (kind["enum"], kind["description"]) == (["item", "property"], "of which kind.")
    assert (limit["minimum"], limit["maximum"], limit["default"]) == (1, 9, 3)
    assert (names["default"], names["description"]) == (None, "which")
    assert shown["parameters"]["required"] == ["kind"]
    assert pick.injected == {
        "corpus": ("corpus", False),
        "limits": ("settings", False),
        "kg": ("graph", True),
        "run": ("run", False),
    }


def test_arguments_arrive_as_their_types_with_defaults_of_their_own():
    class Film(BaseModel):
        title: str
        year: int

    @tool
    def about(film: Film, schema: str = "s", more: list[int] = []) -> str:  # noqa: B006
        """About."""
        return film.title

    given = {"title": "Heat", "year": "1995"}
    first, second = read(about, film=given), read(about, film=given)
    assert first == {"film": Film(title="Heat", year=1995), "schema": "s", "more": []}
    assert first["more"] is not second["more"]
    with pytest.raises(ValueError, match="flim\n  Extra inputs are not permitted"):
        read(about, film=given, flim=given)


@pytest.mark.parametrize(
    ("code", "what"),
    [
        ("async def f(x: int): 'Words.'; yield 1", "the tool f is a generator"),
        ("def f(x: int): ...", "the tool f has no docstring"),
        ("def f(x: int): 'Args:\\n    x: words.'", "describes only parameters"),
        ("def f(x): 'Words.'", "the parameter 'x' of f has no annotation"),
        ("def f(x: int, /): 'Words.'", "the parameter 'x' of f cannot be given by its name alone"),
        ("def f(x: type(iter)): 'Words.'", "cannot be described to a model"),
        ("def f(x: int): 'Words.\\n\\nArgs:\\n    y: no.'", "Arg y in docstring not found"),
        ("def f(args: int): 'Words.'", "a parameter of f cannot be called 'args'"),
        ("def f(x: 'No'): 'Words.'", "an annotation of f cannot be read: NameError: name 'No'"),
    ],
)
def test_a_function_that_cannot_be_a_tool_is_refused_with_its_place(code, what):
    names: dict[str, Any] = {}
    exec(compile(f"\n{code}", "film.py", "exec"), names)
    with pytest.raises(InputError) as refused:
        tool(names["f"])
    said = str(refused.value)
    assert what in said
    assert said.startswith("film.py:2: ")
    assert "\n" not in said
    assert refused.value.remedy


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"name": "two words"}, "cannot be the name"),
        ({"seconds": 0}, "not a positive number"),
        ({"section": 3}, "section is not a text"),
        ({"settings": dict}, "settings is not a pydantic model"),
        ({"render": "words"}, "render is not a function"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, what):
    def fits(x: int) -> str:
        """Words."""
        return ""

    with pytest.raises(InputError, match=what):
        tool(**options)(fits)
    with pytest.raises(InputError, match="declares a function"):
        tool(int)


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
