"""A whole run over a knowledge graph: the tools teach, the trace keeps rows, resuming is safe."""

import json

import pytest

from branchwise import System, resume, run, score
from branchwise.agents.decoding import Decoding
from branchwise.base.errors import InputError
from branchwise.graphs.agent import Agent
from branchwise.kg.build import build_kg
from support.chat_server import call, say
from support.stores import edited

pytestmark = pytest.mark.usefixtures("process")

WD = "http://www.wikidata.org/entity/"
WDT = "http://www.wikidata.org/prop/direct/"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
ANSWERS = {"Aurora (1990 film)": ["Ann Lee"], "Aurora (2004 film)": ["Bo Dahl"]}
RIGHT = "SELECT ?film ?whoLabel WHERE { VALUES ?film { wd:Q1 wd:Q2 } ?film wdt:P57 ?who }"


def lines(second_director="Bo Dahl"):
    labels = {
        "Q1": "Aurora", "Q2": "Aurora", "Q3": "Ann Lee", "Q4": second_director, "P57": "director",
    }  # fmt: skip
    yield from (f'<{WD}{id}> <{LABEL}> "{label}"@en .' for id, label in labels.items())
    yield f"<{WD}Q1> <{WDT}P57> <{WD}Q3> ."
    yield f"<{WD}Q2> <{WDT}P57> <{WD}Q4> ."


@pytest.fixture
def make_kg(tmp_path):
    def make(name, **changes):
        (tmp_path / f"{name}.nt").write_text("\n".join(lines(**changes)))
        build_kg([tmp_path / f"{name}.nt"], tmp_path / name)
        return tmp_path / name

    return make


@pytest.fixture
def questions(tmp_path):
    path = tmp_path / "questions.jsonl"
    question = {"id": "q1", "question": "Who directed Aurora?", "answers": ANSWERS}
    path.write_text(json.dumps(question))
    return str(path)


@pytest.fixture
def make_system(chat_server):
    def make(kg):
        return System(
            model=f"openai:scripted@{chat_server.url}", kg=str(kg), decoding=Decoding(attempts=1)
        )

    return make


def script(body):
    """A model that searches, slips twice, reads what was wrong, and answers."""
    results = [m["content"] for m in body["messages"] if m["role"] == "tool"]
    steps = [
        call("wikidata_search", text="Aurora"),
        call("wikisparql", query="SELECT ?film WHERE { ?film wdt:P57 ?who "),
        call("wikisparql", query="SELECT ?film WHERE { ?film wdt:P5777 ?director }"),
        call("wikisparql", query=RIGHT),
    ]
    if len(results) < len(steps):
        return steps[len(results)]
    return say(json.dumps({"answers": ANSWERS}))


def test_a_run_over_a_graph(chat_server, make_system, make_kg, questions, tmp_path):
    chat_server.play(script)
    made = run(questions, make_system(make_kg("G")), out=tmp_path / "run")
    [item] = score(made).items
    assert item.metrics["strict_em"] == 1.0
    tools = [event.data for event in made.open().events(1) if event.kind == "tool"]
    assert {match["id"] for match in tools[0]["artifact"]["matches"]} == {"Q1", "Q2"}
    assert tools[1]["content"].startswith("Error: syntax error at line 1, column ")
    assert "^" in tools[1]["content"].splitlines()[-1]
    assert "P5777" in tools[2]["content"]
    assert "P57" in tools[2]["content"].replace("P5777", "")  # what was meant
    rows = tools[3]["artifact"]["rows"]
    assert rows["variables"] == ["film", "whoLabel"]
    assert sorted(row[1]["value"] for row in rows["rows"]) == ["Ann Lee", "Bo Dahl"]
    told = chat_server.requests[0]
    assert "wikidata_search, never from memory" in told["messages"][0]["content"]
    names = [tool["function"]["name"] for tool in told["tools"]]
    assert names == ["wikidata_search", "wikisparql"]


def test_a_run_is_resumed_with_the_same_graph_only(
    chat_server, make_system, make_kg, questions, tmp_path
):
    chat_server.play(script)
    made = run(questions, make_system(make_kg("G")), out=tmp_path / "run")
    asked = len(chat_server.requests)
    with pytest.raises(InputError, match=r"changed: kg"):
        resume(made.path, kg=str(make_kg("other", second_director="Cy Ek")))
    with edited(made.path) as connection:  # as after a kill
        connection.execute("UPDATE items SET status = 'running', outcome = NULL")
    (tmp_path / "G").rename(tmp_path / "moved")
    assert resume(made.path, kg=str(tmp_path / "moved")).state.here == 1
    assert len(chat_server.requests) == asked


@pytest.mark.parametrize(
    ("kg", "says"),
    [
        ("nowhere", "no such folder; name a graph or world folder"),
        (
            "https://user:secret@example.org/sparql",
            "the endpoint's address contains a user or a key",
        ),
    ],
)
def test_a_graph_that_cannot_be_had_is_refused_before_any_work(kg, says):
    with pytest.raises(InputError) as refused:
        Agent(System(kg=kg))
    assert says in str(refused.value).replace("nowhere: ", "", 1)
    assert "secret" not in str(refused.value)
