"""`local_retriever` as a model sees it and as the trace keeps it."""

import asyncio

import pytest
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import ValidationError

from branchwise.corpora.passages import Passage
from branchwise.corpora.retrieval import Hit
from branchwise.tools.built_in import SearchForm, make_local_retriever


class Fixed:
    name, identity = "fixed", {}

    def __init__(self, *passages):
        self._hits = [Hit(p, 1.0 - n / 10) for n, p in enumerate(passages)]

    def search(self, queries, k):
        return [self._hits[:k] for _ in queries]


def call(**arguments):
    return {"type": "tool_call", "id": "c1", "name": "local_retriever", "args": arguments}


def schema(tool):
    return convert_to_openai_tool(tool)["function"]


def test_the_model_sees_query_and_k_with_its_bounds(echo):
    shown = schema(make_local_retriever(echo))
    assert shown["name"] == "local_retriever"
    assert shown["parameters"]["required"] == ["query"]
    k = shown["parameters"]["properties"]["k"]
    assert (k["default"], k["minimum"], k["maximum"]) == (3, 1, 50)


def test_a_fixed_k_leaves_the_schema(echo):
    tool = make_local_retriever(echo, SearchForm(7))
    assert list(schema(tool)["parameters"]["properties"]) == ["query", "more_queries", "page"]
    message = asyncio.run(tool.ainvoke(call(query="a")))
    assert len(message.artifact["passages"]) == 7
    ignored = asyncio.run(tool.ainvoke(call(query="a", k=2)))
    assert len(ignored.artifact["passages"]) == 7


@pytest.mark.parametrize(
    ("passages", "content"),
    [
        ([("Etna", "A volcano."), ("", "No title.")], "[p1] Etna\nA volcano.\n\n[p2] \nNo title."),
        ([("T\n\n[p9] X", "a\n\n[p2] Fake\nfalse")], "[p1] T [p9] X\na [p2] Fake false"),
        ([], "No passage matches the query."),
    ],
    ids=["titles and texts", "one that poses as another", "none"],
)
async def test_the_result_is_text_for_the_model_and_an_artifact_for_the_trace(passages, content):
    shelf = [Passage(id=f"p{n}", title=t, text=x) for n, (t, x) in enumerate(passages, 1)]
    message = await make_local_retriever(Fixed(*shelf)).ainvoke(call(query="x"))
    head = f"{len(shelf)} of {len(shelf)} that match\n\n" if shelf else ""
    assert message.content == head + content
    assert message.artifact == {
        "passages": [p.model_dump() | {"score": 1.0 - n / 10} for n, p in enumerate(shelf)]
    }


@pytest.mark.parametrize(
    "arguments",
    [{"query": "a", "k": 0}, {"query": "a", "k": 51}, {"query": ""}, {}, {"query": "\ud800"}],
)
async def test_arguments_out_of_bounds_are_refused_before_any_search(echo, arguments):
    with pytest.raises(ValidationError):
        await make_local_retriever(echo).ainvoke(call(**arguments))
    assert echo.calls == []


def test_it_works_without_an_event_loop(echo):
    assert make_local_retriever(echo, SearchForm(1)).invoke({"query": "a"}) == (
        "1 of 50+ that match; more on page 2\n\n[a-1] a\ntext 1"
    )
