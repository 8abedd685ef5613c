"""What results say of the budget, and passages that the agent has before it."""

import asyncio
import json

import pytest

from branchwise.agents.decoding import Decoding
from branchwise.agents.journal import MemoryJournal
from branchwise.corpora.questions import Question
from branchwise.eval.tasks import get_task
from branchwise.graphs.agent import Agent
from branchwise.graphs.system import Budget, System
from support.chat_server import call, calls, say
from support.corpora.small import bm25_corpus

TEXTS = {
    "heat": "Heat (film)\nHeat is a film by Michael Mann.",
    "dust": "Heat (novel)\nHeat is a novel of dust and wind.",
    "two": "Heat (novel)\nThe novel Heat was set in Spain.",
    "song": "Heat (song)\nHeat is a song by the Dunes.",
}
ANSWER = say(json.dumps({"reasoning": "", "answers": {}}))


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return str(bm25_corpus(tmp_path_factory.mktemp("corpus"), TEXTS))


@pytest.fixture
def results(chat_server, corpus):
    """What the tool messages of a question say, as the last request to the server holds them."""

    def _results(*turns, **changes):
        chat_server.play([*turns, ANSWER])
        system = System(
            model=f"openai:scripted@{chat_server.url}",
            decoding=Decoding(attempts=1),
            **{"corpus": corpus, "k": 1, "budget_shown": "off", **changes},
        )
        task = get_task("branches")
        agent = Agent(system, task.flow)
        question = Question(id="q", question="What is Heat?")
        asyncio.run(agent.answer(task.brief(question, has_tools=True), MemoryJournal()))
        messages = chat_server.requests[-1]["messages"]
        return [message["content"] for message in messages if message["role"] == "tool"]

    return _results


def search(query="heat novel", **arguments):
    return call("local_retriever", query=query, **arguments)


SEARCH = ("local_retriever", {"query": "heat novel"})


def ids(text):
    """Ids of the passages that a result shows whole."""
    return [block[1:].split("]")[0] for block in text.split("\n\n") if block.startswith("[")]


@pytest.mark.slow
def test_the_next_passage_takes_the_place_of_one_that_was_shown(results):
    first, second = results(search(), search())
    assert len(ids(first)) == len(ids(second)) == 1
    assert ids(first) != ids(second)
    assert "Shown before, not repeated:\n" + first.split("\n")[0].split(" · ")[0] in second


def test_repeats_are_whole_where_that_is_asked_for(results):
    first, second = results(search(), search(), repeat_passages=True)
    assert first == second
    assert "Shown before" not in second


def test_of_one_turn_the_second_call_names_what_the_first_shows(results):
    first, second = results(calls(SEARCH, SEARCH))
    assert set(ids(first)).isdisjoint(ids(second))
    assert first.split("]")[0] in second


@pytest.mark.slow
def test_calls_of_one_turn_find_as_many_passages_as_they_ask_for(results, tmp_path):
    many = bm25_corpus(tmp_path, {f"p{n}": f"Heat {n}\nHeat is a novel." for n in range(24)})
    found = [ids(text) for text in results(calls(SEARCH, SEARCH, SEARCH), k=8, corpus=str(many))]
    assert [len(set(one)) for one in found] == [8, 8, 8]
    assert len({id for one in found for id in one}) == 24


def test_several_queries_are_one_call_and_show_nothing_twice(results):
    [both] = results(search(more_queries=["heat song"]), k=2)
    assert both.startswith("For 'heat novel':\n\n[")
    assert "For 'heat song':" in both
    shown = ids(both)
    assert len(shown) == len(set(shown)) == 4


def test_the_second_page_goes_on_behind_the_first(results):
    one, two = results(search(page=1), search(page=2), repeat_passages=True)
    [both] = results(search(), k=2)
    assert ids(one) + ids(two) == ids(both)


def test_a_title_of_several_passages_says_which_this_is(results):
    [text] = results(search("novel"), k=2)
    assert "[dust] Heat (novel) · 1 of 2\n" in text
    assert "[two] Heat (novel) · 2 of 2\n" in text


def test_all_passages_of_a_title_are_opened_but_those_that_are_there(results):
    tools = ("local_retriever", "open_passages")
    opening = call("open_passages", title="heat (NOVEL)")
    first, second = results(search("dust wind"), opening, tools=tools)
    assert (ids(first), ids(second)) == (["dust"], ["two"])
    assert "Shown before, not repeated:\n[dust] Heat (novel)" in second


def test_a_title_that_is_not_there_is_said(results):
    [text] = results(call("open_passages", title="Cold"), tools=("open_passages",), k=None)
    assert text == "No passage has this title; search for it: titles must be written in full."


def test_results_end_with_what_is_left_and_say_when_it_is_little(results, chat_server):
    budget = Budget(turns=6, calls=5)
    turns = calls(SEARCH, SEARCH), search("y"), search("z")
    texts = results(*turns, budget=budget, budget_shown="on")
    ends = [text.rsplit("\n\n", 1)[-1] for text in texts]
    assert ends == [
        "[4 of 5 tool calls and 5 of 6 turns left]",
        "[3 of 5 tool calls and 5 of 6 turns left]",
        "[2 of 5 tool calls and 4 of 6 turns left]",
        "[1 of 5 tool calls and 3 of 6 turns left: look up what matters most, then answer]",
    ]
    system = chat_server.requests[0]["messages"][0]["content"]
    assert "You have 6 turns, the one with your answer included, and 5 tool calls" in system
