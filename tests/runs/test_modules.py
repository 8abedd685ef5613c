"""What modules do to a run: its identity, its roles, its usage, and going on."""

import json

import pytest

from branchwise import resume
from branchwise.base.errors import InputError
from branchwise.graphs.agent import Agent
from branchwise.graphs.system import Roles
from support.by_role import by_role, counts
from support.chat_server import ChatServer, call, calls, fail, say, search_then_answer
from support.stores import forget_ends

READINGS = say("Who directed Heat (1995 film)?\nWho directed Heat (1986 film)?")
GOOD = say(json.dumps({"reasoning": "r", "answers": {"default": ["Question number 0000"]}}))
SEARCH = call("local_retriever", query="Heat")
SCRIPT = by_role(expander=READINGS, extractor=say("NONE"), agent=search_then_answer)


@pytest.fixture
def digest_of(make_system):
    """The digest of a system on the scripted server with some changes."""

    def digest(roles=None, **changes):
        system = make_system().model_copy(update={"roles": Roles(**(roles or {})), **changes})
        return Agent(system).digest

    return digest


@pytest.mark.parametrize(("module", "role"), [("expand", "expander"), ("extract", "extractor")])
def test_a_role_changes_the_system_only_with_its_module(chat_server, digest_of, module, role):
    other = f"openai:other@{chat_server.url}"
    plain, on = digest_of(), digest_of(**{module: True})
    assert digest_of({role: other}) == plain
    assert digest_of({role: "no such model"}) == plain
    assert digest_of({role: f"openai:scripted@{chat_server.url}"}, **{module: True}) == on
    assert len({plain, on, digest_of({role: other}, **{module: True})}) == 3


def test_an_address_a_matcher_and_a_judge_are_no_part_of_the_system(chat_server, digest_of):
    elsewhere = ChatServer().start()
    try:
        here = digest_of({"expander": f"openai:other@{chat_server.url}"}, expand=True)
        assert digest_of({"expander": f"openai:other@{elsewhere.url}"}, expand=True) == here
    finally:
        elsewhere.stop()
    assert digest_of({"matcher": "openai:a", "judge": "openai:b"}) == digest_of()


@pytest.mark.parametrize(
    ("prompt", "module"),
    [
        ("expander", "expand"),
        ("readings", "expand"),
        ("extractor", "extract"),
        ("extractor_several", "extract"),
    ],
)
def test_a_prompt_changes_the_system_only_with_its_module(digest_of, tmp_path, prompt, module):
    (tmp_path / f"{prompt}.md").write_text("Another prompt.")
    changed = {"prompts": str(tmp_path)}
    assert digest_of(**changed) == digest_of()
    assert digest_of(**changed, **{module: True}) != digest_of(**{module: True})


@pytest.mark.parametrize(("role", "module"), [("expander", "expand"), ("extractor", "extract")])
def test_a_role_that_cannot_be_asked_is_refused_by_its_option(make_system, role, module):
    for spec, what in (("gpt-9", "unknown model"), ("openai:m@http://127.0.0.1:1/v1", "nothing")):
        system = make_system().model_copy(update={module: True, "roles": Roles(**{role: spec})})
        with pytest.raises(InputError, match=f"^--{role}: {what}") as refused:
            Agent(system)
        assert "--model" not in str(refused.value)


def test_what_a_failed_item_had_cost_is_kept(chat_server, run_some):
    usage = {
        "prompt_tokens": 50,
        "completion_tokens": 20,
        "prompt_tokens_details": {"cached_tokens": 30},
        "completion_tokens_details": {"reasoning_tokens": 15},
    }
    search = type(SEARCH)(**{**vars(SEARCH), "usage": usage})
    turns = iter([search, fail(400, "no")])
    readings = type(READINGS)(**{**vars(READINGS), "usage": usage})
    chat_server.play(by_role(expander=readings, extractor=fail(500), agent=lambda _: next(turns)))
    changes = {"expand": True, "extract": True}
    made = run_some(**changes)
    (row,) = made.open().items()
    assert row.status == "failed"
    assert row.outcome["error"].startswith("bad_request: ")
    once = {"calls": 1, "input": 50, "output": 20, "cached": 30, "reasoning": 15}
    spent = row.outcome["usage"]
    assert {role: used | {"seconds": 0} for role, used in spent.items()} == {
        "expander": once | {"seconds": 0},
        "agent": once | {"seconds": 0},
    }
    assert all(used["seconds"] > 0 for used in spent.values())


@pytest.mark.slow
def test_modules_of_a_run_may_have_moved_and_others_are_refused(chat_server, run_some):
    here, moved = ChatServer(SCRIPT).start(), ChatServer(SCRIPT).start()
    replies = iter([fail(400, "no"), *[GOOD] * 9])
    chat_server.play(lambda _: next(replies))
    roles = Roles(expander=f"openai:small@{here.url}")
    made = run_some(expand=True, roles=roles)
    assert made.state.failed == 1
    here.stop()
    try:
        with pytest.raises(InputError, match="expander: nothing answers"):
            resume(made.path, retry_failed=True)
        with pytest.raises(InputError, match="changed: expander"):
            resume(made.path, expander=f"openai:large@{moved.url}")
        with pytest.raises(InputError, match="started without extract"):
            resume(made.path, extractor=f"openai:small@{moved.url}")
        again = resume(made.path, expander=f"openai:small@{moved.url}", retry_failed=True)
        assert again.state.done == 1
        assert moved.requests == []
    finally:
        moved.stop()


def test_the_same_search_twice_in_a_turn_is_replayed_as_it_was(chat_server, run_some):
    same = ("local_retriever", {"query": "Heat"})
    turns = iter([calls(same, same), GOOD])
    words = iter(["Heat is a crime film", "NONE", "film with Burt Reynolds", "Burt Reynolds"])
    chat_server.play(by_role(extractor=lambda _: say(next(words)), agent=lambda _: next(turns)))
    changes = {"extract": True, "extract_by": "passage"}
    made = run_some(**changes)
    assert counts(chat_server.requests) == {"agent": 2, "extractor": 4}
    assert chat_server.repeats == 2
    forget_ends(made.path)
    assert resume(made.path).state.here == 1
    assert len(chat_server.requests) == 6
