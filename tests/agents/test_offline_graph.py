"""The offline reader and a graph: names to numbers, a word to a property, rows to answers."""

import json

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool

from branchwise.agents.offline import OfflineChatModel

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
    model = OfflineChatModel().bind_tools(tools)
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


def test_one_thing_with_answers_is_no_branch_of_its_own():
    rows = {"wikisparql": "1 row: ?thing | ?value\nwd:Q1 | wd:Q8 (Ann Lee)"}
    spoken = converse("Who directed Aurora?", [wikidata_search, wikisparql], rows)
    assert answers(spoken) == {"default": ["Ann Lee"]}


def test_a_graph_that_knows_nothing_ends_in_no_answer():
    nothing = {"wikidata_search": "nothing is called 'Aurora' here; try another spelling"}
    spoken = converse("Who directed Aurora?", [wikidata_search, wikisparql], nothing)
    assert len(spoken) == 2
    assert answers(spoken) == {}


def test_errors_of_the_tools_end_in_no_answer():
    broken = {"wikisparql": "Error: The query was stopped after 10 s."}
    spoken = converse("Who directed Aurora?", [wikidata_search, wikisparql], broken)
    assert answers(spoken) == {}


def test_passages_are_searched_beside_the_graph():
    @tool
    def local_retriever(query: str) -> str:
        """Search the corpus for passages on a query."""
        return "[p1] Aurora (1990 film)\nAurora was directed by Eve Moss."

    spoken = converse("Who directed Aurora?", [local_retriever, wikidata_search, wikisparql])
    names = {made["name"] for message in spoken for made in message.tool_calls}
    assert names == {"local_retriever", "wikidata_search", "wikisparql"}
    queries = [
        made["args"]["query"]
        for message in spoken
        for made in message.tool_calls
        if made["name"] == "local_retriever"
    ]
    assert queries[0] == "Who directed Aurora?"
    assert not any("SELECT" in query for query in queries)
    assert answers(spoken)["Aurora (1990 film)"] == ["Ann Lee"]
