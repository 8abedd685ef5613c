"""The offline reader uses a tool that says what a name may refer to."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langchain_core.utils.function_calling import convert_to_openai_tool

from branchwise.agents.offline.model import OfflineChatModel
from branchwise.agents.offline.view import listed_titles
from branchwise.agents.prompt_files import Prompts

PROMPT = SystemMessage(Prompts.load().render("answer_with_tools"))
PAGE = "Night Ferry may refer to:\n  Night Ferry (1951 film): by Ada Holm\n  Night Ferry (song)"


@tool
def pages(name: str) -> str:
    """List what a name may refer to."""
    return PAGE


@tool
def search(query: str) -> str:
    """Search the passages."""
    return "No passage matches the query."


def turn(messages: list[Any], tools: list[Any]) -> list[tuple[str, str]]:
    """The calls of the next turn, by tool and its one argument."""
    model = OfflineChatModel().bind(tools=list(map(convert_to_openai_tool, tools)))
    reply = model.invoke([PROMPT, *messages])
    assert isinstance(reply, AIMessage)
    messages.append(reply)
    return [(call["name"], next(iter(call["args"].values()))) for call in reply.tool_calls]


def told(messages: list[Any], *texts: str) -> None:
    """Add the results of the last turn's calls."""
    for call, text in zip(messages[-1].tool_calls, texts, strict=True):
        messages.append(ToolMessage(text, tool_call_id=call["id"], name=call["name"]))


def test_it_asks_for_the_name_once_and_searches_for_every_title_that_is_listed():
    messages: list[Any] = [HumanMessage("Question: Who directed Night Ferry?")]
    first = turn(messages, [pages, search])
    assert first == [("search", "Who directed Night Ferry?"), ("pages", "Night Ferry")]
    told(messages, "No passage matches the query.", PAGE)
    assert turn(messages, [pages, search]) == [
        ("search", "Night Ferry (1951 film) directed"),
        ("search", "Night Ferry (song) directed"),
        ("search", "Night Ferry"),
    ]


def test_the_listing_alone_is_no_search():
    messages: list[Any] = [HumanMessage("Question: Who directed Night Ferry?")]
    assert turn(messages, [pages]) == [("pages", "Night Ferry")]
    told(messages, PAGE)
    assert turn(messages, [pages]) == []


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("- Heat (1995 film): by Michael Mann", "Heat (1995 film)"),
        ("* Heat, a physical quantity", "Heat"),
        ("2. Heat (book) – a book", "Heat (book)"),
        ("  heat (film)", "heat (film)"),
        ("Heat may refer to:", None),
        ("Heat Wave (film): another", None),
        ("see Heat (film)", None),
        (f"Heat ({'(' * 500}", None),
    ],
)
def test_a_title_is_the_name_alone_or_with_a_disambiguator(line, title):
    call = {"name": "pages", "args": {"name": "Heat"}, "id": "c1", "type": "tool_call"}
    messages = [AIMessage("", tool_calls=[call]), ToolMessage(line, tool_call_id="c1")]
    assert listed_titles(messages, "pages", "Heat") == ((title,) if title else ())
    assert listed_titles(messages, "other", "Heat") == ()
