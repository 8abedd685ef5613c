"""LangChain tools as they are: whatever kind they are of, and whatever they do."""

import json
from typing import Annotated, Any

import pytest
from langchain_core.documents import Document
from langchain_core.messages import ToolMessage
from langchain_core.tools import (
    BaseTool,
    InjectedToolArg,
    StructuredTool,
    Tool,
    ToolException,
    create_retriever_tool,
)
from langchain_core.tools import tool as langchain_tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel

from branchwise.corpora.plugins.sources import PluginSource
from branchwise.tools.plugin_tools import ForeignTool
from support.plugins.tool_cases import calls_once, run_tools, write_tools

SOURCE = PluginSource("here")


async def called(inner: BaseTool, seconds: float = 20.0, **arguments: Any):
    return await ForeignTool.of(inner, SOURCE).call(arguments, seconds, "c1")


def echo(word: str, times: int = 1) -> str:
    """Says it again."""
    return word * times


async def echo_later(word: str) -> str:
    """Says it again."""
    return word


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


def made() -> list[BaseTool]:
    schema = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
    return [
        StructuredTool.from_function(echo),
        StructuredTool.from_function(coroutine=echo_later),
        langchain_tool(echo),
        Tool("plain", lambda text: text, "One text."),
        Blocking(),
        Either(),
        StructuredTool.from_function(echo, args_schema=schema),
    ]


@pytest.mark.parametrize("inner", made(), ids=lambda inner: type(inner).__name__ + inner.name)
def test_the_model_sees_what_it_would_see_of_the_tool_itself(inner):
    expected = convert_to_openai_tool(inner)
    # LangChain repeats the one parameter's name as its title there, and nowhere else.
    expected["function"]["parameters"]["properties"].get("__arg1", {}).pop("title", None)
    assert convert_to_openai_tool(ForeignTool.of(inner, SOURCE)) == expected


async def test_each_kind_is_called():
    structured, later, decorated, plain, blocking, either, by_dict = made()
    assert (await called(structured, word="a", times=2)).content == "aa"
    assert (await called(later, word="a")).content == "a"
    assert (await called(decorated, word="b")).content == "b"
    assert (await called(plain, __arg1="c")).content == "c"
    assert (await called(blocking, word="d")).content == "d"
    assert (await called(either, word="e")).content == "async e"
    assert (await called(by_dict, word="f")).content == "f"


def test_only_what_has_no_asynchronous_way_is_called_on_a_thread():
    assert [ForeignTool.of(tool, SOURCE).is_blocking for tool in made()] == [
        True,
        False,
        True,
        True,
        True,
        False,
        True,
    ]


async def test_what_is_injected_by_langchain_is_hidden():
    @langchain_tool
    def hides(word: str, secret: Annotated[str, InjectedToolArg] = "s") -> str:
        """Hides."""
        return word + secret

    shown = convert_to_openai_tool(ForeignTool.of(hides, SOURCE))
    assert list(shown["function"]["parameters"]["properties"]) == ["word"]
    assert (await called(hides, word="a")).content == "as"


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
    ("raised", "line"),
    [
        (ToolException("not today"), "raises: ToolException: not today"),
        (OSError("gone"), "raises: OSError: gone"),
    ],
)
async def test_what_it_raises_is_told_with_its_name(raised, line):
    def raises() -> str:
        """Raises."""
        raise raised

    async def raises_later() -> str:
        """Raises."""
        raise raised

    assert (await called(StructuredTool.from_function(raises))).error == line
    later = StructuredTool.from_function(coroutine=raises_later, name="raises")
    assert (await called(later)).error == line


async def test_errors_that_the_tool_handles_itself_are_errors_too():
    def raises() -> str:
        """Raises."""
        raise ToolException("not today")

    inner = StructuredTool.from_function(raises, handle_tool_error="try tomorrow")
    result = await called(inner)
    assert (result.content, result.failure) == ("Error: try tomorrow", "failed")
    assert result.error == "raises: try tomorrow"


async def test_content_and_artifact_are_honoured():
    record = {"id": "p", "title": "T", "text": "x", "score": 1.0}

    def finds() -> tuple[str, Any]:
        """Finds."""
        return "found", {"passages": [record], "more": {"a": [1]}}

    inner = StructuredTool.from_function(finds, response_format="content_and_artifact")
    result = await called(inner)
    assert (result.content, result.error) == ("found", None)
    assert result.artifact == {"passages": [record], "more": {"a": [1]}}


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (None, {}),
        ([1, 2], {"artifact": [1, 2]}),
        ({"passages": "page 3"}, {"artifact": {"passages": "page 3"}}),
        (object(), {}),
        ({"big": 2**70}, {}),
    ],
)
async def test_an_artifact_that_was_made_for_others_harms_nothing(given, kept):
    def finds() -> tuple[str, Any]:
        """Finds."""
        return "found", given

    inner = StructuredTool.from_function(finds, response_format="content_and_artifact")
    result = await called(inner)
    assert (result.content, result.error, result.artifact) == ("found", None, kept)


async def test_a_retriever_tool_of_langchains_keeps_its_documents():
    from langchain_core.retrievers import BaseRetriever

    class Fixed(BaseRetriever):
        def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
            return [Document("Heat is a film.", id="h", metadata={"title": "Heat"})]

    inner = create_retriever_tool(Fixed(), "find", "Finds.", response_format="content_and_artifact")
    result = await called(inner, query="Heat")
    assert result.content == "Heat is a film."
    (document,) = result.artifact["artifact"]
    assert document["page_content"] == "Heat is a film."


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": "é"}, '{"a": "é"}'),
        ([1, 2], "[1, 2]"),
        (3, "3"),
        (
            [{"type": "text", "text": "one"}, {"type": "image", "url": "u"}],
            "one\n[left out: image]",
        ),
        (ToolMessage("own", tool_call_id="c1"), "own"),
        ("x" * 300_000, "x" * 200_000 + "\n[cut: 300000 characters]"),
    ],
)
async def test_values_are_shown_as_langchain_shows_them(value, text):
    def gives() -> Any:
        """Gives."""
        return value

    assert (await called(StructuredTool.from_function(gives))).content == text


async def test_a_command_is_no_result():
    from langgraph.types import Command

    def gives() -> Any:
        """Gives."""
        return Command(goto="elsewhere")

    result = await called(StructuredTool.from_function(gives))
    assert result.error is not None
    assert result.error.startswith("gives: it returned a value of type Command")


CODE = '''
from langchain_core.tools import StructuredTool

def shout(word: str) -> str:
    """Says it loudly."""
    if word == "no":
        raise ValueError("too loud")
    return word.upper()

made = StructuredTool.from_function(shout)
'''


def test_a_run_uses_one_and_is_unharmed_by_it(chat_server, tmp_path):
    path = write_tools(tmp_path, CODE)
    chat_server.play(calls_once("shout", {"word": "no"}, {"word": "yes"}))
    ran = run_tools(chat_server, tmp_path, f"{path}:made")
    assert ran.shown("Question 1") == "Error: shout: ValueError: too loud"
    assert ran.shown("Question 2") == "YES"
    assert ran.made.state.failed == 0
    assert json.loads(json.dumps(ran.tools["q2"].data["artifact"])) == {}
