"""The pipeline of questions back as a graph from Python: streamed, drawn, and continued."""

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from branchwise.agents.journal import MemoryJournal
from branchwise.agents.reply import ModelError
from branchwise.base.errors import InputError
from branchwise.graphs import build
from branchwise.graphs.state import ConversationJournal, Lanes
from branchwise.graphs.system import System
from support.chat_server import Body, fail
from support.corpora.small import FILMS, bm25_corpus
from support.runs.clarifying import option_of, searching, stage_of

HEAT = "Who made Heat?"


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


def test_what_was_answered_is_not_asked_again_behind_a_failure(
    system: System, chat_server: Any
) -> None:
    broken = [True]

    def failing(body: Body) -> Any:
        is_it = stage_of(body) == "option" and option_of(body) == "the 1986 film"
        if broken[0] and is_it and len(body["messages"]) > 2:
            return fail(400, "no")
        return searching(body)

    chat_server.play(failing)
    graph = build(system, "clarify", checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}
    with pytest.raises(ModelError):
        graph.invoke({"question": HEAT}, thread)
    before, broken[0] = Counter(chat_server.counts), False
    end = graph.invoke(None, thread)
    assert list(end["answers"]) == ["the 1995 film", "the 1986 film"]
    again = Counter(chat_server.counts) - before
    # The failed request, and that of the other option if it was on its way.
    assert sum(again.values()) <= 2
    assert not {stage_of(b) for b in chat_server.requests[sum(before.values()) :]} - {"option"}


def test_events_of_lanes_come_in_the_order_of_the_lanes() -> None:
    journal = MemoryJournal()
    lanes = Lanes(journal)

    def written() -> str:
        return "".join(kind for kind, _ in journal.events)

    lanes.event(1, "b", {})
    lanes.event(0, "a", {})
    lanes.event(2, "d", {})
    assert written() == "a"
    lanes.end(2)
    lanes.end(0)
    assert written() == "ab"
    lanes.event(1, "c", {})
    lanes.end(1)
    assert written() == "abcd"
    lanes.event(4, "f", {})
    lanes.event(3, "e", {})
    lanes.event(5, "g", {})
    lanes.close()
    assert written() == "abcdefg"
    lanes.event(9, "h", {})
    assert written() == "abcdefgh"


def test_a_conversation_finds_its_own_tool_results_and_everyones_replies() -> None:
    from branchwise.agents.journal import CallKey

    journal = MemoryJournal()
    one, other = (ConversationJournal(journal, name) for name in ("one", "other"))
    tool, model = CallKey("tool", "search", "d"), CallKey("model", "agent", "d")
    assert one.recall(tool).occurrence == other.recall(tool).occurrence == 0
    assert one.recall(tool).occurrence == 1
    assert one.recall(model).key == other.recall(model).key == model
    assert one.recall(model).occurrence == 2
    assert asyncio.run(one.keep(one.recall(tool), {})) is None
