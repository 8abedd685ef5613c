"""The scripted searchers do what their manners say, and see only messages and schemas."""

import asyncio

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from manners.conversation import Conversation, shown_passages
from manners.model import ScriptedSearcher
from manners.offer import Offer
from manners.searching import MANNERS, reads_everything

from branchwise.agents.journal import MemoryJournal
from branchwise.corpora.open import open_retriever
from branchwise.corpora.questions import Question
from branchwise.eval.tasks import get_task
from branchwise.graphs.agent import Agent
from branchwise.graphs.budget import Budget
from branchwise.graphs.system import System
from support.corpora.small import FILMS, bm25_corpus

QUESTION = "Who directed King Kong?"


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    return open_retriever(bm25_corpus(tmp_path_factory.mktemp("films"), FILMS), "bm25")


def answered(retriever, manner, **system):
    """The outcome of QUESTION, and its trace."""
    model = ScriptedSearcher(manner=MANNERS[manner])
    told = {"prompt_set": "paper", "budget_shown": "off", "repeat_passages": True}
    agent = Agent(System(k=2, **told, **system), model=model, retriever=retriever)
    task, journal = get_task("branches"), MemoryJournal()
    brief = task.brief(Question(id="q", question=QUESTION), has_tools=True)
    return asyncio.run(agent.answer(brief, journal)), journal.events


def queries_of(events):
    return [data["call"]["args"]["query"] for kind, data in events if kind == "tool"]


def test_who_stops_early_searches_the_question_and_its_names(films):
    outcome, events = answered(films, "stops_early")
    assert queries_of(events) == [QUESTION, "King Kong"]
    assert "budget" not in dict(events)
    assert outcome.prediction.answers == {
        "King Kong (1933 film)": ("Merian C. Cooper",),
        "King Kong (1976 film)": ("John Guillermin",),
    }


def test_who_repeats_itself_rewords_one_name_until_it_is_stopped(films):
    outcome, events = answered(films, "repeats_itself", budget=Budget(calls=8))
    queries = queries_of(events)
    assert outcome.spent.calls == 8
    assert all("King Kong" in query for query in queries)
    assert len(set(queries)) == len(queries) == 9  # the last of nine is refused
    assert dict(events)["budget"]["reason"] == "8 tool calls"
    assert set(outcome.evidence) == {"kong-1933", "kong-1976"}


def test_who_reads_everything_follows_titles_and_names(films):
    _, events = answered(films, "reads_everything", budget=Budget(calls=9))
    assert queries_of(events)[:4] == [
        QUESTION,
        "King Kong",
        "King Kong (1933 film) directed",
        "King Kong (1976 film) directed",
    ]
    assert {"Merian C. Cooper", "John Guillermin"} <= set(queries_of(events))


@pytest.mark.parametrize("manner", MANNERS)
def test_the_same_question_is_searched_in_the_same_way(films, manner):
    first, second = (answered(films, manner)[1] for _ in range(2))
    assert queries_of(first) == queries_of(second)


def conversation(*results, calls=None):
    """A conversation in which the calls of one turn brought these results."""
    made = calls or [{"query": f"query {n}"} for n in range(len(results))]
    asked = [
        {"name": "local_retriever", "args": args, "id": str(n), "type": "tool_call"}
        for n, args in enumerate(made)
    ]
    answers = [ToolMessage(text, tool_call_id=str(n)) for n, text in enumerate(results)]
    return Conversation.of([HumanMessage(QUESTION), AIMessage("", tool_calls=asked), *answers])


def test_passages_are_read_with_what_stands_behind_their_titles():
    result = "[a] Heat (film) — 1 of 3\nHeat is a film.\n\n[b] Heat (shown above)\n[c] Ox\nAn ox."
    assert [tuple(passage) for passage in shown_passages(result)] == [
        ("a", "Heat (film)", "Heat is a film.", 3),
        ("b", "Heat", "", 1),
        ("c", "Ox", "An ox.", 1),
    ]


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("[7 of 24 calls left]", 7),
        ("17 tool calls left, 9 turns left", 17),
        ("1 call is left.", 1),
        ("3 more searches remain", 3),
        ("Calls left: 12", 12),
        ("No budget line, left over from 1990.", None),
    ],
)
def test_the_budget_line_is_understood(line, left):
    assert conversation(f"[a] Ox\nAn ox.\n\n{line}").left == left


def test_it_uses_what_the_tools_offer():
    properties = {
        "query": {"type": "string"},
        "more_queries": {"type": "array", "maxItems": 3},
        "page": {"type": "integer"},
    }
    search = {"name": "local_retriever", "parameters": {"properties": properties}}
    opens = {"name": "open_passages", "parameters": {"properties": {"title": {"type": "string"}}}}
    offer = Offer.of([{"function": search}, {"function": opens}])
    found = conversation(
        "[k] King Kong (film)\nKing Kong is by Ann Bell.\n\n[o] Ox (1 of 2)\nAn ox.",
        calls=[{"query": "King Kong"}],
    )
    assert reads_everything(found, offer) == [
        ("open_passages", {"title": "King Kong (film)"}),
        ("open_passages", {"title": "Ox"}),
        ("local_retriever", {"query": "King Kong (film) directed", "more_queries": []}),
        ("local_retriever", {"query": "King Kong", "page": 2}),
    ]
