"""LangChain tools as they are: whatever kind they are of, and whatever they do."""

from typing import Annotated, Any

import pytest
from langchain_core.tools import BaseTool, InjectedToolArg, StructuredTool, Tool, ToolException
from langchain_core.tools import tool as langchain_tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.types import Command
from pydantic import BaseModel

from branchwise.base.plugins.sources import PluginSource
from branchwise.tools.plugin_tools import ForeignTool

SOURCE = PluginSource("here")


async def called(inner: BaseTool, **arguments: Any):
    return await ForeignTool.of(inner, SOURCE).call(arguments, 20.0, "c1")


def giving(value: Any, **options: Any) -> BaseTool:
    """A tool that returns a value, or raises it."""

    def gives() -> Any:
        """Gives."""
        if isinstance(value, Exception):
            raise value
        return value

    return StructuredTool.from_function(gives, **options)


def echo(word: str, times: int = 1) -> str:
    """Says it again."""
    return word * times


async def echo_later(word: str) -> str:
    """Says it again."""
    return word


@langchain_tool
def hides(word: str, secret: Annotated[str, InjectedToolArg] = "s") -> str:
    """Hides."""
    return word + secret


class Words(BaseModel):
    word: str


class Blocking(BaseTool):
    name: str = "blocking"
    description: str = "Only `_run`."
    args_schema: type[BaseModel] = Words

    def _run(self, word: str) -> str:
        return word


class Either(Blocking):
    async def _arun(self, word: str) -> str:
        return f"async {word}"


BY_DICT = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}


@pytest.mark.parametrize(
    ("inner", "given", "content", "blocks"),
    [
        (StructuredTool.from_function(echo), {"word": "a", "times": 2}, "aa", True),
        (StructuredTool.from_function(coroutine=echo_later), {"word": "a"}, "a", False),
        (Tool("plain", lambda text: text, "One text."), {"__arg1": "c"}, "c", True),
        (Blocking(), {"word": "d"}, "d", True),
        (Either(), {"word": "e"}, "async e", False),
        (StructuredTool.from_function(echo, args_schema=BY_DICT), {"word": "f"}, "f", True),
        (hides, {"word": "a"}, "as", True),
    ],
    ids=lambda one: type(one).__name__,
)
async def test_each_is_shown_as_it_is_and_called_on_a_thread_where_there_is_no_other_way(
    inner, given, content, blocks
):
    made = ForeignTool.of(inner, SOURCE)
    expected = convert_to_openai_tool(inner)
    # LangChain repeats the one parameter's name as its title there, and nowhere else.
    expected["function"]["parameters"]["properties"].get("__arg1", {}).pop("title", None)
    assert convert_to_openai_tool(made) == expected
    assert "secret" not in str(expected)
    assert (await called(inner, **given)).content == content
    assert made.is_blocking is blocks


async def test_bad_arguments_are_the_models_and_other_validation_is_not():
    def validates(word: str) -> str:
        """Validates."""
        return Words.model_validate({"word": 3}).word

    inner = StructuredTool.from_function(validates)
    bad = await called(inner, words="a")
    assert (bad.failure, bad.content) == ("arguments", "Error: bad arguments: word: Field required")
    own = await called(inner, word="a")
    assert own.failure == "failed"
    assert own.error is not None
    assert own.error.startswith("validates: ValidationError: 1 validation error for Words")


@pytest.mark.parametrize(
    ("inner", "content", "error"),
    [
        (
            giving(ToolException("not today")),
            "Error: gives: ToolException: not today",
            "gives: ToolException: not today",
        ),
        (
            giving(ToolException("not today"), handle_tool_error="try tomorrow"),
            "Error: try tomorrow",
            "gives: try tomorrow",
        ),
    ],
)
async def test_errors_are_told_with_the_name(inner, content, error):
    result = await called(inner)
    assert (result.content, result.error, result.failure) == (content, error, "failed")


RECORD = {"id": "p", "title": "T", "text": "x", "score": 1.0}


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (None, {}),
        ({"passages": [RECORD], "more": {"a": [1]}}, {"passages": [RECORD], "more": {"a": [1]}}),
        # Made for others, it is kept where it harms nothing.
        ({"passages": "page 3"}, {"artifact": {"passages": "page 3"}}),
        ({"big": 2**70}, {}),
    ],
)
async def test_an_artifact_is_kept_where_json_can_hold_it(given, kept):
    result = await called(giving(("found", given), response_format="content_and_artifact"))
    assert (result.content, result.error, result.artifact) == ("found", None, kept)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": "é"}, '{"a": "é"}'),
        (
            [{"type": "text", "text": "one"}, {"type": "image", "url": "u"}],
            "one\n[left out: image]",
        ),
        ("x" * 300_000, "x" * 200_000 + "\n[cut: 300000 characters]"),
        (
            Command(goto="elsewhere"),
            "Error: gives: it returned a value of type Command; return a str, a ToolResult, or a "
            "dict, list, number or model that JSON can hold",
        ),
    ],
)
async def test_values_are_shown_as_langchain_shows_them(value, text):
    assert (await called(giving(value))).content == text
