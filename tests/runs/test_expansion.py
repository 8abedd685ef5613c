"""The expander on a scripted server: whatever it says, the question is asked."""

import json

import pytest

from branchwise import run
from branchwise.agents.journal import MemoryJournal
from branchwise.agents.prompt_files import Prompts
from branchwise.eval.tasks.condambigqa.task import CONDITIONS
from branchwise.graphs.agent import Agent
from branchwise.graphs.flows import Brief
from support.by_role import by_role, counts, role_of, user_of
from support.chat_server import cut, fail, hang, refuse, say, too_long

QUESTION = "Question number 0000: who directed Heat?"
READINGS = ["Who directed Heat (1995 film)?", "Who directed Heat (1986 film)?"]
FROM_MEMORY = {"expand": True, "readings_from": "memory"}
GOOD = say(json.dumps({"reasoning": "r", "answers": {"default": ["Question number 0000"]}}))


@pytest.fixture
def expand_one(chat_server, make_system, question_file, tmp_path):
    """Run one question with expansion; returns its row, the expansion, and the first prompt."""

    def play(expander, budget=None, **decoding):
        chat_server.play(by_role(expander=expander, agent=GOOD))
        system = make_system(budget, **decoding).model_copy(update=FROM_MEMORY)
        made = run(str(question_file(1)), system, out=tmp_path / "run")
        reader = made.open()
        (row,) = reader.items()
        events = list(reader.events(row.item))
        reader.close()
        assert [e.kind for e in events if e.kind not in ("retry", "budget", "remark")] == [
            *("start", "expansion", "model", "answer")
        ]
        (expansion,) = (e.data for e in events if e.kind == "expansion")
        assert row.status == "done"
        assert expansion["question"] == QUESTION
        prompts = [user_of(body) for body in chat_server.requests if role_of(body) == "agent"]
        return row, expansion, prompts[0]

    return play


def test_readings_stand_at_the_end_of_the_one_user_message(expand_one, chat_server):
    _, expansion, prompt = expand_one(say("\n".join(READINGS), reasoning_content="Two films."))
    assert expansion["how"] == "readings"
    assert expansion["readings"] == READINGS
    assert expansion["text"] == "\n".join(READINGS)
    assert expansion["reasoning"] == "Two films."
    assert expansion["error"] is None
    listed = "\n".join(f"- {reading}" for reading in READINGS)
    shown = Prompts.load().render("readings", readings=listed)
    assert prompt == f"{QUESTION}\n\n{shown}"
    expander, agent = chat_server.requests
    assert [m["role"] for m in agent["messages"]] == ["system", "user"]
    assert expander["messages"] == [
        {"role": "system", "content": Prompts.load().texts["expander"]},
        {"role": "user", "content": QUESTION},
    ]
    assert "tools" not in expander
    assert "response_format" not in expander


@pytest.mark.slow
def test_a_megabyte_and_terminal_escapes_do_no_harm(expand_one):
    hostile = f"\x1b]0;owned\x07{'x' * 900_000}\n\x1b[2J{READINGS[0]}\n$readings {READINGS[1]}"
    _, expansion, prompt = expand_one(say(hostile))
    assert expansion["readings"] == [READINGS[0], f"$readings {READINGS[1]}"]
    assert [(len(one["text"]), one["why"]) for one in expansion["dropped"]] == [
        (500, "not a reading")
    ]
    assert "\x1b" not in prompt
    assert len(prompt) < 2000


@pytest.mark.parametrize(
    ("expander", "error"),
    [
        (fail(500, "internal error"), "server: "),
        (fail(400, "no"), "bad_request: "),
        (cut("middle"), "cut: "),
        (refuse("I cannot."), "the model refused to answer"),
        (too_long(""), "the reply was cut"),
        (fail(429, "slow down", retry_after="0"), "rate_limit: "),
    ],
    ids=["500", "400", "cut", "refusal", "thought to the limit", "429"],
)
def test_an_expander_that_fails_leaves_the_question_as_it_stands(expand_one, expander, error):
    row, expansion, prompt = expand_one(expander)
    assert expansion["how"] == "failed"
    assert expansion["error"].startswith(error)
    assert expansion["readings"] == []
    assert prompt == QUESTION
    assert row.outcome["error"] is None


@pytest.mark.slow
def test_an_expander_that_hangs_leaves_the_question_as_it_stands(expand_one):
    row, expansion, prompt = expand_one(hang(), budget={"seconds": 1.0})
    assert expansion["error"].startswith("timeout: ")
    assert prompt.startswith(QUESTION)
    assert row.outcome["how"] == "strict"


@pytest.mark.parametrize(
    "refusal",
    [fail(401, "bad key"), fail(404, "no model"), fail(429, "quota", code="insufficient_quota")],
    ids=["401", "404", "quota"],
)
def test_what_every_call_would_meet_stops_the_run(chat_server, refusal, run_some):
    chat_server.play(by_role(expander=refusal, agent=GOOD))
    made = run_some(4, concurrency=1, expand=True)
    assert made.state.stopped
    assert made.open().progress()["pending"] == 4
    assert counts(chat_server.requests) == {"expander": 1}


async def test_conditions_are_presented_as_conditions(chat_server, make_system):
    chat_server.play(
        by_role(
            expander=say("\n".join(READINGS)),
            agent=say(json.dumps({"conditions": [{"condition": "c", "answer": "a"}]})),
        )
    )
    agent = Agent(make_system().model_copy(update={"expand": True, "tools": ()}), CONDITIONS)
    brief = Brief("conditions_directly", f"{QUESTION}\n\nFragment 1: T\ntext", QUESTION)
    await agent.answer(brief, MemoryJournal())
    await agent.aclose()
    listed = "\n".join(f"- {reading}" for reading in READINGS)
    shown = Prompts.load().render("conditions_readings", readings=listed)
    assert user_of(chat_server.requests[0]) == QUESTION
    assert user_of(chat_server.requests[1]) == f"{brief.message}\n\n{shown}"
