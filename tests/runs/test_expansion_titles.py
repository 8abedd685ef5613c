"""Expansion that looks first, on a scripted server: messages, traces, resuming, forks, digests."""

import json

import pytest

from branchwise import resume, run
from branchwise.agents.journal import MemoryJournal
from branchwise.agents.prompt_files import Prompts
from branchwise.graphs.agent import Agent
from branchwise.graphs.flows import Brief
from branchwise.runs.forks import Changes, make_fork, run_fork
from branchwise.runs.scoring.score import score_answers
from branchwise.runs.store import open_run
from support.by_role import by_role, counts, role_of, user_of
from support.chat_server import fail, say, search_then_answer

QUESTION = "Question number 0000: who directed Heat?"
TITLES = ["Heat (1986 film)", "Heat (1995 film)"]
LISTED = f"""Question: {QUESTION}

Found for 'Heat':
- Heat (1986 film) — Heat is a film with Burt Reynolds as a bodyguard.
- Heat (1995 film) — Heat is a crime film that Michael Mann wrote and directed."""
READINGS = [f"Who directed {title}?" for title in TITLES]
GOOD = say(json.dumps({"reasoning": "r", "answers": {"default": ["Question number 0000"]}}))
SCRIPT = by_role(expander=say("\n".join(READINGS)), agent=search_then_answer)
EXPANDS = {"expand": True}


@pytest.fixture
def made(chat_server, make_system, question_file, tmp_path):
    """Run questions with expansion that looks first; returns the run's folder."""

    def play(count=1, script=SCRIPT, **changes):
        chat_server.play(script)
        system = make_system(attempts=1).model_copy(update=EXPANDS | changes)
        return run(str(question_file(count)), system, out=tmp_path / "run", concurrency=1).path

    return play


def events_of(path, item=1):
    events = list(open_run(path).events(item))
    return events


def expansion_of(path, item=1):
    (expansion,) = (e.data for e in events_of(path, item) if e.kind == "expansion")
    return expansion


def test_the_expander_is_shown_the_namesakes_and_the_agent_the_readings(made, chat_server):
    expansion = expansion_of(made())
    expander, agent, *_ = chat_server.requests
    assert expander["messages"] == [
        {"role": "system", "content": Prompts.load().texts["expander_with_titles"]},
        {"role": "user", "content": LISTED},
    ]
    listed = "\n".join(f"- {reading}" for reading in READINGS)
    shown = Prompts.load().render("readings", readings=listed)
    assert user_of(agent) == f"{QUESTION}\n\n{shown}"
    assert expansion["question"] == QUESTION
    assert expansion["readings"] == READINGS
    assert [search["args"]["query"] for search in expansion["looked"]] == ["Question", "Heat"]
    assert [one["title"] for one in expansion["looked"][1]["found"]] == TITLES
    assert expansion["looked"][1]["found"][0]["name"] == "Heat"


def test_searches_for_names_are_no_tool_calls_and_are_counted_in_the_report(made):
    path = made(2)
    assert [row.outcome["calls"] for row in open_run(path).items()] == [2, 2]
    work = score_answers(path).to_json()["modules"]["expansion"]
    assert (work["items"], work["searches"], work["failed_searches"]) == (2, 4, 0)


async def test_where_nothing_bears_the_name_the_expander_goes_by_memory(chat_server, make_system):
    chat_server.play(by_role(expander=say("\n".join(READINGS)), agent=GOOD))
    agent = Agent(make_system().model_copy(update=EXPANDS))
    journal = MemoryJournal()
    await agent.answer(Brief("answer_with_tools", "Who is Ada?", "Who is Ada?"), journal)
    await agent.aclose()
    assert user_of(chat_server.requests[0]) == "Who is Ada?"
    (expansion,) = (data for kind, data in journal.events if kind == "expansion")
    assert [one["found"] for one in expansion["looked"]] == [[]]


@pytest.mark.slow
def test_a_fork_goes_on_behind_the_expansion_and_searches_again_before_it(
    made, chat_server, tmp_path
):
    path = made()
    events = events_of(path)
    steps = {event.kind: event.seq for event in reversed(events)}
    for kind, roles in (("model", {"agent": 3}), ("expansion", {"expander": 1, "agent": 3})):
        sent = len(chat_server.requests)
        fork = make_fork(path, "q0", steps[kind], out=tmp_path / kind)
        run_fork(fork)
        assert counts(chat_server.requests[sent:]) == roles
        assert user_of(chat_server.requests[-1]) == user_of(chat_server.requests[1])
        looked = expansion_of(fork)["looked"]
        assert [one["replayed"] for one in looked] == [kind == "model"] * 2
        assert [one["found"] for one in looked] == [
            one["found"] for one in expansion_of(path)["looked"]
        ]


@pytest.mark.slow
def test_an_edited_expansion_keeps_what_was_found(made, tmp_path):
    path = made()
    steps = {event.kind: event.seq for event in events_of(path)}
    change = Changes(edit="Only the one of 1995?")
    fork = make_fork(path, "q0", steps["expansion"], change, out=tmp_path / "fork")
    run_fork(fork)
    assert expansion_of(fork)["readings"] == ["Only the one of 1995?"]
    assert len(expansion_of(fork)["looked"]) == 2


@pytest.mark.slow
def test_a_failed_expander_is_asked_again_without_another_search(made, chat_server, monkeypatch):
    expander = iter([fail(400, "no"), say("\n".join(READINGS))])
    agent = iter([fail(400, "no"), GOOD])
    path = made(1, by_role(expander=lambda _: next(expander), agent=lambda _: next(agent)))
    monkeypatch.setattr("branchwise.tools.batcher.Batcher._submit", None)
    assert resume(path, retry_failed=True).state.here == 1
    assert expansion_of(path)["readings"] == READINGS
    asked = [user_of(body) for body in chat_server.requests if role_of(body) == "expander"]
    assert asked == [LISTED, LISTED]


def digest(system, **changes):
    return Agent(system.model_copy(update=changes)).digest
