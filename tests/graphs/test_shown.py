"""What results say of the budget, and passages that the agent has before it."""

import asyncio
import json

import pytest

from branchwise.agents.decoding import Decoding
from branchwise.agents.journal import MemoryJournal
from branchwise.corpora.questions import Question
from branchwise.eval.tasks import get_task
from branchwise.graphs.agent import Agent
from branchwise.graphs.budget import Budget
from branchwise.graphs.system import System
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
    assert "Shown before, not repeated: 1 passage (Heat (novel))" in second


def test_repeats_are_whole_where_that_is_asked_for(results):
    first, second = results(search(), search(), repeat_passages=True)
    assert first == second
    assert "Shown before" not in second


def test_of_one_turn_the_second_call_names_what_the_first_shows(results):
    first, second = results(calls(SEARCH, SEARCH))
    assert set(ids(first)).isdisjoint(ids(second))
    assert "Shown before, not repeated: 1 passage (Heat (novel))" in second


@pytest.mark.slow
def test_calls_of_one_turn_find_as_many_passages_as_they_ask_for(results, tmp_path):
    many = bm25_corpus(tmp_path, {f"p{n}": f"Heat {n}\nHeat is a novel." for n in range(24)})
    found = [ids(text) for text in results(calls(SEARCH, SEARCH, SEARCH), k=8, corpus=str(many))]
    assert [len(set(one)) for one in found] == [8, 8, 8]
    assert len({id for one in found for id in one}) == 24


def test_several_queries_are_one_call_and_show_nothing_twice(results):
    [both] = results(search(more_queries=["heat song"]), k=2)
    assert both.startswith("Query 1: 2 of 4 that match; more on page 2\n\n[")
    assert "\n\nQuery 2: 2 of 4 that match; more on page 2\n\n[" in both
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
    opening = call("open_passages", titles=["heat (NOVEL)"])
    first, second = results(search("dust wind"), opening, tools=tools)
    assert (ids(first), ids(second)) == (["dust"], ["two"])
    assert "Shown before, not repeated: 1 passage (Heat (novel))" in second


def test_several_titles_are_one_call_and_those_that_are_missing_are_said(results):
    opening = call("open_passages", titles=["Heat (film)", "Cold", "Heat (song)", "Heat (film)"])
    [text] = results(opening)
    assert ids(text) == ["heat", "song"]
    assert text.endswith("the title 'Cold'; search for it: titles must be written in full.")


def test_an_opened_title_ends_at_a_passage_and_the_next_call_goes_on(results, tmp_path):
    parts = {f"p{n}": f"Heat\nPart {n} of many." for n in range(23)}
    opening = call("open_passages", titles=["Heat"])
    first, second = results(opening, opening, corpus=str(bm25_corpus(tmp_path, parts)))
    assert (len(ids(first)), len(ids(second))) == (20, 3)
    assert first.endswith("3 more passages of these titles: call it again for them.")
    assert "Shown before, not repeated: 20 passages (Heat)" in second


def test_of_many_repeats_a_call_names_three_titles_and_counts_them_once(results, tmp_path):
    many = {f"p{n}": f"Title {n}\nheat heat novel" for n in range(8)}
    both = search(more_queries=["novel heat"])
    _, text = results(search(), both, k=8, corpus=str(bm25_corpus(tmp_path, many)))
    assert text.count("Shown before") == 1
    last = text.rsplit("\n\n", 1)[-1]
    assert last == "Shown before, not repeated: 8 passages (Title 0; Title 1; Title 2; …)"


def test_only_passages_with_a_name_of_the_query_take_the_places_of_those_shown(results, tmp_path):
    texts = {f"p{n}": f"Novel {n}\nA novel about novels." for n in range(8)}
    texts |= {name: f"{name}\nHe wrote a novel of Ann Lee." for name in ("one", "two")}
    found = {"k": 4, "corpus": str(bm25_corpus(tmp_path, texts))}
    first, again = results(search("novel by Ann Lee"), search("a novel by Ann Lee"), **found)
    assert ids(first) == ["one", "two", "p0", "p1"], "nothing was shown before: the ranking's own"
    assert ids(again) == []
    assert "0 of 10 that match; more on page 2.\n\nNothing new on this page." in again
    first, again = results(search("novel by ann lee"), search("a novel by ann lee"), **found)
    assert (ids(first), ids(again)) == (["one", "two", "p0", "p1"], ["p2", "p3", "p4", "p5"])
    asked = [search("novel by Ann Lee"), search("novel by Anne Lee")]
    known = [results(search("one"), each, **found)[1] for each in asked]
    assert [ids(text) for text in known] == [["two"], ["two", "p0", "p1"]], (
        "no passage has Anne Lee"
    )
    first, page = results(search("novel by Ann Lee"), search("novel by Ann Lee", page=2), **found)
    assert ids(page) == ["p2", "p3", "p4", "p5"], "a page without repeats is the ranking's own"


def test_a_title_that_is_not_there_is_said(results):
    opening = call("open_passages", titles=["Cold"])
    [text] = results(opening, tools=("open_passages",), k=None)
    assert text == (
        "No passage has the title 'Cold'; search for it: titles must be written in full."
    )


EXPANDS = {"expand": True, "readings_from": "memory", "budget_shown": "on"}


@pytest.mark.parametrize(("each", "ends"), [
    (1, ["[1 of 2 tool calls", "[0 of 2 tool calls", "not run: the tool-call budget is spent"]),
    (2, ["[2 of 3 tool calls", "[1 of 3 tool calls", "[0 of 3 tool calls"]),
])  # fmt: skip
def test_calls_follow_the_readings_up_to_the_most(results, each, ends):
    budget = Budget(calls=3, calls_per_reading=each)
    turns = say("Heat (film)?\nHeat (novel)?\nnot: Heat (song)"), calls(SEARCH, SEARCH, SEARCH)
    texts = results(*turns, budget=budget, **EXPANDS)
    assert all(end in text for end, text in zip(ends, texts, strict=True))


def test_without_readings_the_agent_is_told_the_calls_for_each_that_it_finds(results, chat_server):
    [text] = results(search(), budget=Budget(calls=20, calls_per_reading=4), budget_shown="on")
    assert "[19 of 20 tool calls" in text
    system = chat_server.requests[0]["messages"][0]["content"]
    assert "4 tool calls for each reading of the question" in system
    assert "but 20 at most" in system


def test_what_an_expander_rules_out_is_told_to_the_agent(results, chat_server):
    results(say("Heat (film)?\nHeat (novel)?\nnot: Heat (song)"), search(), **EXPANDS)
    told = chat_server.requests[1]["messages"][1]["content"]
    assert "- Heat (film)?\n- Heat (novel)?\n" in told
    assert told.endswith(
        "It cannot mean these, which share a name with what it asks about: Heat (song)"
    )


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
