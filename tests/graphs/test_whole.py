"""The whole graph from Python: alone, streamed, composed, at once, with a checkpointer."""

import asyncio
import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from branchwise.agents import restraints
from branchwise.agents.decoding import Decoding
from branchwise.agents.journal import MemoryJournal
from branchwise.agents.reply import ModelError
from branchwise.base.errors import InputError
from branchwise.corpora.questions import Question
from branchwise.eval.tasks import get_task
from branchwise.graphs import build
from branchwise.graphs.agent import Agent
from branchwise.graphs.budget import Budget
from branchwise.graphs.system import System
from support.by_role import by_role, turn_of, user_of
from support.chat_server import call, fail, say
from support.corpora.small import bm25_corpus

ROOT = Path(__file__).parents[2]
HEAT = "Who directed Heat?"
STEPS = ["expand", "agent", "tools", "extract", "agent", "answer"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    texts = {"heat": "Heat\nMichael Mann directed Heat.", "kong": "King Kong\nA film of an ape."}
    return str(bm25_corpus(tmp_path_factory.mktemp("corpus"), texts))


@pytest.fixture
def system(chat_server, corpus, monkeypatch):
    monkeypatch.setattr(restraints, "FIRST_WAIT", 0.0)
    return System(
        model=f"openai:scripted@{chat_server.url}", corpus=corpus, k=1, expand=True, extract=True,
        decoding=Decoding(attempts=1),
    )  # fmt: skip


def agent_turn(body):
    """Searches for the question, then answers with its last word."""
    asked = user_of(body).splitlines()[0]
    if turn_of(body) == 0:
        return call("local_retriever", query=asked)
    return say(json.dumps({"reasoning": "", "answers": {"default": [asked.split()[-1]]}}))


SCRIPT = by_role(expander=say("1. no\n"), extractor=say("NONE"), agent=agent_turn)


@pytest.mark.slow
def test_a_question_comes_back_with_answers_how_and_evidence(chat_server, system):
    chat_server.play(SCRIPT)
    end = asyncio.run(build(system).ainvoke({"question": f" {HEAT}\n"}))
    assert end["answers"] == {"default": ["Heat?"]}
    assert end["prediction"]["answers"] == end["answers"]
    assert (end["how"], end["problem"], end["evidence"]) == ("strict", None, ["heat"])
    assert {role: used["calls"] for role, used in end["usage"].items()} == {
        "expander": 1,
        "agent": 2,
        "extractor": 1,
    }
    assert json.loads(json.dumps(end)) == end
    assert set(end) == {"answers", "prediction", "how", "problem", "evidence", "usage"}


@pytest.mark.slow
def test_it_asks_what_a_run_asks(chat_server, system):
    chat_server.play(SCRIPT)
    asyncio.run(build(system).ainvoke({"question": HEAT}))
    whole = [body["messages"] for body in chat_server.requests]

    async def as_a_run_does():
        agent = Agent(system)
        question = Question(id="q", question=HEAT)
        brief = get_task("branches").brief(question, has_tools=True)
        await agent.answer(brief, MemoryJournal())
        await agent.aclose()

    asyncio.run(as_a_run_does())
    assert [body["messages"] for body in chat_server.requests[len(whole) :]] == whole


@pytest.mark.slow
def test_it_is_invoked_without_an_event_loop_and_with_several(chat_server, system):
    chat_server.play(SCRIPT)
    graph = build(system)
    ends = [
        graph.invoke({"question": HEAT}),
        asyncio.run(graph.ainvoke({"question": HEAT})),
        asyncio.run(graph.ainvoke({"question": HEAT})),
        graph.invoke({"question": HEAT}),
    ]
    assert [end["answers"] for end in ends] == [{"default": ["Heat?"]}] * 4

    async def within_a_loop():
        return graph.invoke({"question": HEAT})

    assert asyncio.run(within_a_loop())["how"] == "strict"


@pytest.mark.slow
def test_streams_the_steps_within(chat_server, system):
    chat_server.play(SCRIPT)
    graph, options = build(system), {"stream_mode": "updates", "subgraphs": True}

    async def steps():
        return [s async for s in graph.astream({"question": HEAT}, **options)]

    for streamed in (asyncio.run(steps()), list(graph.stream({"question": HEAT}, **options))):
        within = [next(iter(update)) for place, update in streamed if place]
        assert within == STEPS
        assert [next(iter(update)) for place, update in streamed if not place] == ["branchwise"]


def test_is_drawn_with_the_steps_within(system):
    drawn = build(system).get_graph(xray=True)
    inner = {name.removeprefix("branchwise:") for name in drawn.nodes}
    assert inner == {"__start__", "__end__", *STEPS}
    bare = build(system.model_copy(update={"expand": False, "extract": False}))
    names = {name.removeprefix("branchwise:") for name in bare.get_graph(xray=True).nodes}
    assert names == {"__start__", "__end__", "agent", "tools", "answer"}


class Conversation(TypedDict, total=False):
    question: str
    answers: dict[str, list[str]]
    said: Annotated[list[str], lambda before, new: before + new]


def conversation(system, **compiled):
    outer: StateGraph[Any, Any, Any, Any] = StateGraph(Conversation)
    outer.add_node("ask", build(system))
    outer.add_node("tell", lambda state: {"said": state["answers"]["default"]})
    outer.add_edge(START, "ask")
    outer.add_edge("ask", "tell")
    outer.add_edge("tell", END)
    return outer.compile(**compiled)


@pytest.mark.slow
def test_is_a_node_of_another_graph(chat_server, system):
    chat_server.play(SCRIPT)
    outer = conversation(system)
    assert asyncio.run(outer.ainvoke({"question": HEAT}))["said"] == ["Heat?"]
    assert outer.invoke({"question": HEAT}, context={"of": "the outer graph"})["said"] == ["Heat?"]
    assert {"ask:branchwise:agent", "tell"} <= set(outer.get_graph(xray=2).nodes)


@pytest.mark.slow
def test_many_at_once_do_not_mix(chat_server, system):
    chat_server.play(SCRIPT)
    graph = build(system)

    async def ask(n):
        return (await graph.ainvoke({"question": f"Who directed film{n}"}))["answers"]

    async def all_of_them():
        return await asyncio.gather(*map(ask, range(24)))

    assert asyncio.run(all_of_them()) == [{"default": [f"film{n}"]} for n in range(24)]


@pytest.mark.slow
def test_a_checkpointer_keeps_threads_apart_and_questions_too(chat_server, system):
    chat_server.play(SCRIPT)
    outer = conversation(system, checkpointer=InMemorySaver())

    def ask(thread, question):
        return outer.invoke({"question": question}, {"configurable": {"thread_id": thread}})

    assert ask("one", "Who directed A")["said"] == ["A"]
    assert ask("one", "Who directed B")["said"] == ["A", "B"]
    assert ask("two", "Who directed C")["said"] == ["C"]
    # The second question began anew: its first request has no reply in it.
    turns = [turn_of(b) for b in chat_server.requests if b["messages"][-1]["role"] != "user"]
    assert turns == [1, 1, 1]


def test_a_question_whose_model_failed_goes_on_at_the_step(chat_server, system):
    broken = [True]

    def agent(body):
        return fail(500) if turn_of(body) == 1 and broken[0] else agent_turn(body)

    chat_server.play(by_role(expander=say("no"), extractor=say("NONE"), agent=agent))
    graph = build(system, checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "1"}}
    with pytest.raises(ModelError):
        graph.invoke({"question": HEAT}, thread)
    before = len(chat_server.requests)
    broken[0] = False
    end = graph.invoke(None, thread)
    assert end["answers"] == {"default": ["Heat?"]}
    assert end["evidence"] == ["heat"]
    assert len(chat_server.requests) == before + 1


@pytest.mark.parametrize("state", [{}, {"question": " \n"}, {"question": 3}, {"question": ["a"]}])
def test_what_is_no_question_is_refused(system, state):
    with pytest.raises(InputError, match="no question"):
        build(system).invoke(state)


def test_a_question_too_long_is_refused_and_half_characters_are_not(chat_server, system):
    chat_server.play(SCRIPT)
    graph = build(system)
    with pytest.raises(InputError, match="100001 characters"):
        graph.invoke({"question": "a" * 100_001})
    assert graph.invoke({"question": "Who is \ud800"})["how"] == "strict"


def test_what_cannot_be_had_is_refused_before_anything_is_asked(system, tmp_path):
    with pytest.raises(InputError, match="no corpus here"):
        build(system.model_copy(update={"corpus": str(tmp_path)}))
    with pytest.raises(InputError, match="unknown answer format 'poems'"):
        build(system, "poems")


@pytest.mark.slow
def test_the_budget_holds_here_too(chat_server, system):
    system = system.model_copy(
        update={"budget": Budget(turns=40, calls=100), "expand": False, "extract": False}
    )
    chat_server.play(
        lambda body: call("local_retriever", query="Heat") if body.get("tools") else say("{}")
    )
    end = build(system).invoke({"question": HEAT}, {"recursion_limit": 5})
    assert end["usage"]["agent"]["calls"] in (40, 41)


@pytest.mark.usefixtures("process")
def test_the_package_is_imported_without_langgraph():
    code = "import sys, branchwise.graphs; sys.exit('langgraph' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.slow
def test_what_langgraph_json_names_is_opened_and_answers(tmp_path, monkeypatch):
    import importlib.util

    from langgraph.graph.state import CompiledStateGraph

    named = json.loads((ROOT / "langgraph.json").read_text())["graphs"]["branchwise"]
    path, _, name = named.partition(":")
    spec = importlib.util.spec_from_file_location("opened", ROOT / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "CORPUS", tmp_path / "C")
    monkeypatch.delenv("BRANCHWISE_MODEL", raising=False)

    async def opened():
        first, second = await asyncio.gather(getattr(module, name)(), getattr(module, name)())
        assert first is second
        return first, await first.ainvoke({"question": "Who directed King Kong?"})

    graph, end = asyncio.run(opened())
    assert isinstance(graph, CompiledStateGraph)
    assert "John Guillermin" in end["answers"]["Who directed King Kong (1976 film)?"]
    # Its server asks for all schemas, those of the graphs within included.
    for part in (graph, *(inner for _, inner in graph.get_subgraphs(recurse=True))):
        assert part.get_input_jsonschema()["properties"]
        assert part.get_output_jsonschema()
        part.get_context_jsonschema()


@pytest.mark.slow
def test_the_page_about_it_says_what_works(corpus, tmp_path, monkeypatch, capsys):
    (tmp_path / "C").symlink_to(corpus)
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "graph-from-python.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL))
    program = tmp_path / "page.py"
    program.write_text(code.replace("King Kong", "Heat"))
    runpy.run_path(str(program))
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "{'default': ['Michael Mann']}"
    assert said[-1] == "default: Michael Mann"


@pytest.mark.long
@pytest.mark.usefixtures("process")
def test_goes_on_where_checkpoints_may_hold_declared_types_only(corpus, tmp_path):
    program = tmp_path / "strict.py"
    program.write_text(STRICT)
    environment = os.environ | {"LANGGRAPH_STRICT_MSGPACK": "true"}
    done = subprocess.run(
        [sys.executable, program, corpus], env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("server\n['Michael Mann'] True True\n", "")


STRICT = """
import sys
from langgraph.checkpoint.memory import InMemorySaver
from branchwise.agents.reply import ModelError
from branchwise.agents.offline.model import OfflineChatModel
from branchwise.graphs import build
from branchwise.graphs.system import System

asked = []

class Breaks(OfflineChatModel):
    def _generate(self, messages, *rest, **more):
        asked.append(len(messages))
        if len(asked) == 2:
            raise ValueError("broken")
        return super()._generate(messages, *rest, **more)

graph = build(System(corpus=sys.argv[1]), model=Breaks(), checkpointer=InMemorySaver())
thread = {"configurable": {"thread_id": "1"}}
try:
    graph.invoke({"question": "Who directed Heat?"}, thread)
except ModelError as error:
    print(error.kind)
answers = graph.invoke(None, thread)["answers"]
print(*answers.values(), asked[2] == asked[1], asked[1] > asked[0])
"""
