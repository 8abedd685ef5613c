"""The offline reader and a graph: names to numbers, a word to a property, rows to answers."""

import json

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langchain_core.utils.function_calling import convert_to_openai_tool

from branchwise.agents.offline.model import OfflineChatModel

THINGS = """2 things are called 'Aurora':
Q1  Aurora: 1990 film directed by Ann Lee [film; 9 statements]
Q2  Aurora: 2004 album by The Tides [album; 7 statements]
Q3  Aurora Borealis: 1999 song by The Tides [song; 5 statements]"""
PROPERTIES = """P57  director [12 statements]
P175  performer (found as 'directed at') [3 statements]"""
ROWS = """2 rows: ?thing | ?value
wd:Q1 | wd:Q8 (Ann Lee)
wd:Q2 | wd:Q9 (Bo (Dahl))"""


@tool
def wikidata_search(text: str, kind: str = "item", limit: int = 8) -> str:
    """Find entities or properties by name."""
    return PROPERTIES if kind == "property" else THINGS


@tool
def wikisparql(query: str) -> str:
    """Ask the graph in SPARQL."""
    return ROWS


def converse(question, tools, results=None):
    """Let the reader call tools until it answers; all its messages."""
    model = OfflineChatModel().bind(tools=list(map(convert_to_openai_tool, tools)))
    by_name = {made.name: made for made in tools}
    messages = [SystemMessage("Answer."), HumanMessage(question)]
    spoken: list[AIMessage] = []
    while True:
        spoken.append(model.invoke(messages))
        messages.append(spoken[-1])
        if not spoken[-1].tool_calls:
            return spoken
        for made in spoken[-1].tool_calls:
            found = (results or {}).get(made["name"]) or by_name[made["name"]].invoke(made["args"])
            messages.append(ToolMessage(found, tool_call_id=made["id"], name=made["name"]))


def answers(spoken):
    return json.loads(spoken[-1].content)["answers"]


def reasoning(spoken):
    return json.loads(spoken[-1].content)["reasoning"]


def searching(items, properties=PROPERTIES):
    """A search tool that finds these, under the tool's own name."""

    @tool
    def wikidata_search(text: str, kind: str = "item", limit: int = 8) -> str:
        """Find entities or properties by name."""
        return properties if kind == "property" else items

    return wikidata_search


def test_names_are_looked_up_then_the_property_then_the_rows():
    spoken = converse("Who directed Aurora?", [wikidata_search, wikisparql])
    first, second, third = (message.tool_calls[0] for message in spoken[:3])
    assert first["args"] == {"text": "Aurora", "kind": "item"}
    assert second["args"] == {"text": "directed", "kind": "property"}
    assert "VALUES ?thing { wd:Q1 wd:Q2 }" in third["args"]["query"]
    assert "wdt:P57" in third["args"]["query"]
    assert answers(spoken) == {
        "Aurora (1990 film)": ["Ann Lee"],
        "Aurora (2004 album)": ["Bo (Dahl)"],
    }


@pytest.mark.parametrize(
    ("tool", "result"),
    [
        ("wikidata_search", "nothing is called 'Aurora' here; try another spelling"),
        (
            "wikidata_search",
            "nothing is called 'Aurora'; the nearest names are:\nQ4  Aurore [film]",
        ),
        ("wikisparql", "Error: The query was stopped after 10 s."),
        ("wikisparql", "no rows"),
    ],
    ids=["nobody", "one only near", "an error", "no rows"],
)
def test_the_reasoning_of_no_answer_says_where_the_search_ended(tool, result):
    spoken = converse("Who directed Aurora?", [wikidata_search, wikisparql], {tool: result})
    turns, said = (
        (2, "Found nothing called 'Aurora' in the graph")
        if tool == "wikidata_search"
        else (4, "Found 'Aurora' in the graph, but no statement with 'director'")
    )
    assert (len(spoken), answers(spoken)) == (turns, {})
    assert reasoning(spoken) == f"{said} (without a language model)."


def test_iris_of_other_graphs_are_followed():
    things = """2 things are called 'Aurora':
http://ex.org/a(1)  Aurora: 1990 film [film; 9 statements]
http://schema.org/Aurora  Aurora (found as "Aurora's"): 2004 album [7 statements]"""
    rows = """2 rows: ?thing | ?value
<http://ex.org/a(1)> (Aurora) | <http://ex.org/lee> (Ann Lee)
schema:Aurora (Aurora) | Part:One (film)"""
    search = searching(things, "http://ex.org/p/director  director [1 statement]")
    spoken = converse("Who directed Aurora?", [search, wikisparql], {"wikisparql": rows})
    query = spoken[2].tool_calls[0]["args"]["query"]
    assert "{ <http://ex.org/a(1)> <http://schema.org/Aurora> }" in query
    assert "?thing <http://ex.org/p/director> ?value" in query
    assert answers(spoken) == {
        "Aurora (1990 film)": ["Ann Lee"],
        "Aurora (2004 album)": ["Part:One (film)"],
    }
