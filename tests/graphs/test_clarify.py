"""Questions back from Python: asked of a person by an interrupt, or answered for each option."""

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command

from branchwise.base.errors import InputError
from branchwise.graphs import build, build_clarify
from branchwise.graphs.system import System
from support.chat_server import Answer, Body, hang, say
from support.corpora.small import FILMS, bm25_corpus
from support.runs.clarifying import option_of, reply, searching, stage_of

HEAT, KONG, ETNA = "Who made Heat?", "Who made King Kong?", "Where is Etna?"
ASKED = {
    "question": HEAT,
    "clarification_question": "Which film: the 1995 film, or the 1986 film?",
    "options": ["the 1995 film", "the 1986 film"],
    "problem": "",
}
THREAD: Any = {"configurable": {"thread_id": "1"}}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bm25_corpus(tmp_path_factory.mktemp("corpus"), FILMS)


@pytest.fixture
def system(chat_server: Any, corpus: Path) -> System:
    chat_server.play(searching)
    spec = f"openai:scripted@{chat_server.url}"
    return System.model_validate(
        {"model": spec, "corpus": str(corpus), "k": 2, "decoding": {"attempts": 1}}
    )


def asked_in(end: Any) -> Any:
    (one,) = end["__interrupt__"]
    return one.value


def test_it_is_asked_and_the_choice_is_answered(system: System, chat_server: Any) -> None:
    graph = build_clarify(system, checkpointer=InMemorySaver())
    begun = graph.invoke({"question": f" {HEAT}\n"}, THREAD)
    assert asked_in(begun) == ASKED
    assert Counter(map(stage_of, chat_server.requests)) == {"detection": 2, "question": 2}
    end = graph.invoke(Command(resume="2"), THREAD)
    usage = end.pop("usage")
    assert end == {
        "ambiguous": True, "clarification_question": ASKED["clarification_question"],
        "options": ASKED["options"], "chosen": ["the 1986 film"],
        "answers": {"the 1986 film": ["Richards"]},
        "evidence": {"the 1986 film": ["heat-1986", "heat-1995"]}, "how": "strict", "problem": None,
    }  # fmt: skip
    assert usage["agent"]["calls"] == 2
    assert json.loads(json.dumps(end)) == end
    stages = Counter(map(stage_of, chat_server.requests))
    assert stages == {"detection": 2, "question": 2, "option": 2}
    assert chat_server.repeats == 0


def test_what_is_no_choice_is_asked_again_and_nothing_else(system, chat_server):
    graph = build_clarify(system, checkpointer=InMemorySaver())
    graph.invoke({"question": HEAT}, THREAD)
    before = len(chat_server.requests)
    possible = (
        'say a number from 1 to 2, several as "1,2", "all", or what you mean in your own words'
    )
    for said, problem in (("3", "unknown option 3"), ("", "nothing was said")):
        again = graph.invoke(Command(resume=said), THREAD)
        assert asked_in(again) == {**ASKED, "problem": f"{problem}; {possible}"}
    assert len(chat_server.requests) == before
    assert graph.invoke(Command(resume="THE 1995 FILM"), THREAD)["chosen"] == ["the 1995 film"]


def test_all_options_and_ones_own_words(system: System, chat_server: Any) -> None:
    graph = build_clarify(system, checkpointer=InMemorySaver())
    graph.invoke({"question": HEAT}, THREAD)
    end = graph.invoke(Command(resume="all"), THREAD)
    assert end["answers"] == {"the 1995 film": ["Michael Mann"], "the 1986 film": ["Richards"]}
    assert end["chosen"] == list(end["evidence"]) == ASKED["options"]
    other: Any = {"configurable": {"thread_id": "2"}}
    graph.invoke({"question": HEAT}, other)
    end = graph.invoke(Command(resume="the play\n of 1950"), other)
    assert (end["chosen"], end["answers"]) == (["the play of 1950"], {"the play of 1950": []})
    asked = [b["messages"][1]["content"] for b in chat_server.requests if stage_of(b) == "option"]
    assert asked[-1] == "Who made Heat, Which film: the play of 1950"


def test_a_question_with_one_reading_is_answered_as_it_is(system: System, chat_server: Any) -> None:
    end = build_clarify(system).invoke({"question": KONG})
    assert "__interrupt__" not in end
    assert (end["ambiguous"], end["answers"]) == (False, {"default": ["Cooper", "Guillermin"]})
    assert (end["clarification_question"], end["options"], end["chosen"]) == ("", [], [])
    assert end["evidence"]["default"][0] in FILMS
    assert Counter(map(stage_of, chat_server.requests)) == {"detection": 2, "answers": 2}


@pytest.mark.parametrize("asked", ["Do you mean Sicily?", "Which one: Sicily?", ""])
def test_what_offers_no_choice_is_not_asked(system: System, chat_server: Any, asked: str) -> None:
    def script(body: Body) -> Answer:
        question = json.dumps({"reasoning": "", "clarification_question": asked})
        return say(question) if stage_of(body) == "question" else reply(body)

    chat_server.play(script)
    end = build_clarify(system).invoke({"question": ETNA})
    assert (end["how"], end["answers"]) == ("strict", {"default": ["Sicily"]})
    assert end["options"] == []


def test_an_unreadable_verdict_does_not_cost_the_answer(system: System, chat_server: Any) -> None:
    chat_server.play(lambda b: say("hm") if stage_of(b) == "detection" else reply(b))
    end = build_clarify(system).invoke({"question": KONG})
    assert (end["ambiguous"], end["how"]) == (None, "strict")
    assert end["problem"].startswith("detection: ")
    assert end["answers"] == {"default": ["Cooper", "Guillermin"]}
    chat_server.play(lambda b: say("hm") if stage_of(b) == "answers" else reply(b))
    end = build_clarify(system).invoke({"question": KONG})
    assert (end["how"], end["answers"]) == ("failed", {})


def test_listed_answers_are_those_of_a_question_that_is_not_asked_back(system, chat_server):
    """They are not asked for a second time."""
    told = system.model_copy(update={"asking": {"protocol": "answers"}})
    end = build_clarify(told).invoke({"question": ETNA})
    assert (end["ambiguous"], end["answers"]) == (False, {"default": ["Sicily"]})
    assert Counter(map(stage_of, chat_server.requests)) == {"answers": 2}


def test_protocols_that_tell_gold_and_of_other_tasks_are_refused(system: System) -> None:
    for protocol in ("gold-question", "dialogue", "standard"):
        with pytest.raises(InputError, match=f"has no protocol '{protocol}'"):
            build_clarify(system.model_copy(update={"asking": {"protocol": protocol}}))
    with pytest.raises(InputError, match="no question"):
        build_clarify(system).invoke({"question": ""})


class Chat(TypedDict, total=False):
    question: str
    answers: dict[str, list[str]]
    text: str


def test_it_is_a_node_of_another_graph_whose_checkpointer_it_uses(system: System) -> None:
    outer = StateGraph(Chat)
    outer.add_node("ask", build_clarify(system))
    outer.add_node("tell", lambda state: {"text": "; ".join(state["answers"])})
    outer.add_edge(START, "ask")
    outer.add_edge("ask", "tell")
    outer.add_edge("tell", END)
    graph = outer.compile(checkpointer=InMemorySaver())
    assert asked_in(graph.invoke({"question": HEAT}, THREAD)) == ASKED
    assert graph.invoke(Command(resume="1"), THREAD)["text"] == "the 1995 film"


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    opened = sqlite3.connect(tmp_path / "c.sqlite", check_same_thread=False)
    yield opened
    opened.close()


@pytest.mark.slow
def test_a_checkpointer_without_asynchronous_methods_will_do(system, connection):
    graph = build_clarify(system, checkpointer=SqliteSaver(connection))
    assert asked_in(graph.invoke({"question": HEAT}, THREAD)) == ASKED
    state = graph.get_state(THREAD, subgraphs=True)
    assert [one.value for one in state.interrupts] == [ASKED]
    assert graph.invoke(Command(resume="1"), THREAD)["chosen"] == ["the 1995 film"]
    assert len(list(graph.get_state_history(THREAD))) == 3

    async def in_a_loop() -> Any:
        other: Any = {"configurable": {"thread_id": "2"}}
        assert asked_in(await graph.ainvoke({"question": HEAT}, other)) == ASKED
        history = [one async for one in graph.aget_state_history(other)]
        await graph.checkpointer.adelete_thread("2")
        return len(history), [one async for one in graph.aget_state_history(other)]

    assert asyncio.run(in_a_loop()) == (2, [])
    graph.checkpointer.delete_thread("1")
    assert list(graph.get_state_history(THREAD)) == []


def test_an_asynchronous_checkpointer(system: System, tmp_path: Path) -> None:
    async def ask() -> Any:
        async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "c.sqlite")) as saver:
            graph = build_clarify(system, checkpointer=saver)
            asked = asked_in(await graph.ainvoke({"question": HEAT}, THREAD))
            return asked, await graph.ainvoke(Command(resume=1), THREAD)

    asked, end = asyncio.run(ask())
    assert (asked, end["answers"]) == (ASKED, {"the 1995 film": ["Michael Mann"]})


PROGRAM = """
import sqlite3, sys, json
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command
from branchwise.graphs import build_clarify
from branchwise.graphs.system import System

model, corpus, kept, said = sys.argv[1:]
saver = SqliteSaver(sqlite3.connect(kept, check_same_thread=False))
graph = build_clarify(System(model=model, corpus=corpus, k=2), checkpointer=saver)
given = {"ask": {"question": "Who made Heat?"}, "go on": None}.get(said, Command(resume=said))
end = graph.invoke(given, {"configurable": {"thread_id": "1"}})
asked = [one.value for one in end.get("__interrupt__", ())]
print(json.dumps({"asked": asked, "answers": None if asked else end["answers"]}), flush=True)
if said in ("ask", "7"):
    sys.stdin.read()
"""


@pytest.fixture
def begin(process: None, system: System, tmp_path: Path) -> Iterator[Any]:
    """Starts the program; it ends when it is killed, where it was asked something."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    started = []

    def start(said: str) -> "subprocess.Popen[str]":
        kept, corpus = tmp_path / "kept.sqlite", str(system.corpus)
        command = [sys.executable, program, system.model, corpus, kept, said]
        environment = {**os.environ, "OPENAI_API_KEY": "sk-test"}
        begun = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        started.append(begun)
        return begun

    yield start
    for one in started:
        one.kill()
        one.communicate()


def told(process: "subprocess.Popen[str]") -> Any:
    return json.loads(process.stdout.readline())  # type: ignore[union-attr]


def kill(process: "subprocess.Popen[str]") -> None:
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL


@pytest.mark.long
def test_killed_while_it_waits_it_asks_nothing_twice(begin: Any, chat_server: Any) -> None:
    first = begin("ask")
    assert told(first)["asked"] == [ASKED]
    kill(first)
    second = begin("7")
    (again,) = told(second)["asked"]
    assert again["problem"].startswith("unknown option 7")
    kill(second)
    assert len(chat_server.requests) == 4
    end = told(begin("2"))
    assert end == {"asked": [], "answers": {"the 1986 film": ["Richards"]}}
    assert len(chat_server.requests) == 6
    assert chat_server.repeats == 0


@pytest.mark.long
def test_killed_while_it_answers_it_repeats_what_was_under_way(begin, chat_server):
    first = begin("ask")
    told(first)
    kill(first)

    aimed = threading.Event()

    def second_turn_hangs(body: Body) -> Answer:
        is_last = stage_of(body) == "option" and len(body["messages"]) > 2
        if is_last:
            assert aimed.wait(60)
            second.send_signal(signal.SIGKILL)
            return hang()
        return searching(body)

    chat_server.play(second_turn_hangs)
    second = begin("2")
    aimed.set()
    assert second.wait() == -signal.SIGKILL
    chat_server.play(searching)
    before = len(chat_server.requests)
    assert told(begin("go on"))["answers"] == {"the 1986 film": ["Richards"]}
    again = chat_server.requests[before:]
    # At most the turn before as well: its checkpoint is written while the next one begins.
    assert {stage_of(body) for body in again} == {"option"}
    assert {option_of(body) for body in again} == {"the 1986 film"}
    assert len(again) <= 2


@pytest.mark.slow
def test_it_answers_the_options_of_what_it_asks_back(system: System) -> None:
    end = build(system, "clarify").invoke({"question": HEAT})
    assert end["answers"] == {"the 1995 film": ["Michael Mann"], "the 1986 film": ["Richards"]}
    assert end["prediction"]["task_output"] == {
        "ambiguous": True,
        "clarification_question": "Which film: the 1995 film, or the 1986 film?",
        "answers": [["the 1995 film", ["Michael Mann"]], ["the 1986 film", ["Richards"]]],
    }
    assert json.loads(json.dumps(end)) == end
    told = build(system.model_copy(update={"asking": {"protocol": "answers"}}), "clarify")
    assert list(told.invoke({"question": HEAT})["answers"]) == ["the 1995 film"]


def test_what_needs_gold_is_refused(system: System) -> None:
    gold = system.model_copy(update={"asking": {"protocol": "gold-question"}})
    with pytest.raises(InputError, match="gold-question tells what a question set has"):
        build(gold, "clarified")
    with pytest.raises(InputError, match="clarify has no protocol 'gold-question'"):
        build(gold, "clarify")


def test_its_stages_stream_and_are_drawn(system: System) -> None:
    graph = build(system, "clarify")
    options: dict[str, Any] = {"stream_mode": "updates", "subgraphs": True}
    streamed = list(graph.stream({"question": HEAT}, **options))
    stages = [next(iter(update)) for place, update in streamed if len(place) == 1]
    assert stages == ["detect", "ask_back", "choose", "answer_option", "answer_option", "conclude"]
    within = Counter(next(iter(update)) for place, update in streamed if len(place) == 2)
    assert within == {"agent": 8, "tools": 4, "answer": 4}
    drawn = {name.removeprefix("branchwise:") for name in graph.get_graph(xray=True).nodes}
    assert {"detect:agent", "ask_back:agent", "answer_option:agent", "choose"} <= drawn
