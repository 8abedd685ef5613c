"""Several tries of a question: how their answers are merged, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise import System
from branchwise.agents.decoding import Decoding
from branchwise.agents.prediction import Prediction
from branchwise.base.errors import InputError
from branchwise.base.normalise import normalise
from branchwise.eval.tasks.registry import TASKS
from branchwise.graphs import build
from branchwise.graphs.agent import Agent
from branchwise.graphs.tries import left_out, merged
from branchwise.runs.studies.schema import load_study
from support.chat_server import Answer, Body, say
from support.corpora.small import FILMS, bm25_corpus

QUESTION = {"question": "Who made Heat?"}


def predicted(answers: dict[str, list[str]], **citations: list[str]) -> Prediction:
    return Prediction.model_validate({"answers": answers, "citations": citations})


def test_names_of_one_key_are_one_in_the_first_spelling():
    tried = [
        predicted({"Heat (1995 film)": ["Michael Mann"], "Heat (1986 film)": ["Richards"]}),
        predicted({"heat 1995 film": ["michael mann.", "Al Pacino"]}),
        predicted({"The Heat": [], "Heat (1995 film)": ["Al Pacino", "Michael Mann"]}),
    ]
    assert merged(tried).answers == {
        "Heat (1995 film)": ("Michael Mann", "Al Pacino"),
        "Heat (1986 film)": ("Richards",),
        "The Heat": (),
    }
    by_majority = merged(tried, votes=2)
    assert by_majority.answers == {"Heat (1995 film)": ("Michael Mann", "Al Pacino")}
    assert left_out(tried, by_majority) == ("Richards",)


def test_an_answer_counts_under_its_branch_and_once_a_try():
    tried = [
        predicted({"a": ["x", "X"], "A!": ["x"]}),
        predicted({"b": ["x"]}),
        predicted({"a": ["y"], "b": ["y", "x"]}),
    ]
    assert merged(tried, votes=2).answers == {"a": (), "b": ("x",)}


def test_citations_of_a_branch_are_joined():
    tried = [predicted({"a": ["x"]}, a=["p1"]), predicted({"A": ["x"], "b": ["y"]}, A=["p2", "p1"])]
    assert merged(tried).citations == {"a": ("p1", "p2")}


NAMES = st.sampled_from(["Heat", "heat", "The Heat", "Kong", "kong!", "default"])
TEXTS = st.lists(st.sampled_from(["Mann", "mann", "Bay", "BAY.", "Lee"]), max_size=4)
TRIED = st.lists(st.dictionaries(NAMES, TEXTS, max_size=4).map(predicted), min_size=1, max_size=6)


def keys(prediction: Prediction) -> dict[str, set[str]]:
    return {normalise(n): set(map(normalise, texts)) for n, texts in prediction.answers.items()}


@given(TRIED, st.randoms())
def test_the_order_of_tries_changes_no_set(tried, random):
    shuffled = random.sample(tried, len(tried))
    for votes in range(1, len(tried) + 1):
        assert keys(merged(tried, votes=votes)) == keys(merged(shuffled, votes=votes))


@given(TRIED)
def test_more_votes_leave_less_and_nothing_is_left_out_of_all(tried):
    wider = keys(merged(tried))
    for votes in range(2, len(tried) + 1):
        narrower = keys(merged(tried, votes=votes))
        assert narrower.keys() <= wider.keys()
        assert all(narrower[name] <= wider[name] for name in narrower)
        wider = narrower
    assert left_out(tried, merged(tried)) == ()


@given(TRIED, st.integers(1, 5))
def test_equal_tries_are_their_own_merge(tried, count):
    once = merged(tried[:1])
    for votes in (1, count // 2 + 1, count):
        assert merged([once] * count, votes=votes) == once


def answers(**by_branch: list[str]) -> str:
    return json.dumps({"reasoning": "", "answers": by_branch})


BY_TRY = {
    11: answers(film=["Mann"], play=["Lee"]),
    12: answers(Film=["mann", "Bay"]),
    13: answers(film=["Bay"], novel=["Mann"]),
}


@pytest.fixture
def system(chat_server: Any) -> System:
    chat_server.play(by_seed)
    decoding = Decoding(seed=10, attempts=1)
    return System(model=f"openai:scripted@{chat_server.url}", decoding=decoding)


def by_seed(body: Body) -> Answer:
    if "several times" in body["messages"][1]["content"]:
        return say(answers(film=["Mann"]))
    return say(BY_TRY[body["seed"]])


@pytest.mark.parametrize(
    ("merge", "wanted"),
    [
        ("union", {"film": ["Mann", "Bay"], "play": ["Lee"], "novel": ["Mann"]}),
        ("majority", {"film": ["Mann", "Bay"]}),
        ("list", {"film": ["Mann"]}),
    ],
)
def test_each_try_has_a_seed_of_its_own(system, chat_server, merge, wanted):
    end = build(system.with_(tries=3, merge=merge)).invoke(QUESTION)
    assert (end["how"], end["problem"], end["answers"]) == ("strict", None, wanted)
    calls = 4 if merge == "list" else 3
    assert end["usage"]["agent"]["calls"] == len(chat_server.requests) == calls
    assert sorted(body["seed"] for body in chat_server.requests)[-3:] == [11, 12, 13]


def test_the_list_is_made_of_what_the_tries_answered(system, chat_server):
    build(system.with_(tries=3, merge="list")).invoke(QUESTION)
    told = chat_server.requests[-1]["messages"]
    assert told[1]["content"].startswith("Who made Heat?\n\nThe question was answered several")
    assert (
        "Try 1:\n- film: Mann\n- play: Lee\n"
        "Try 2:\n- Film: mann; Bay\n"
        "Try 3:\n- film: Bay\n- novel: Mann\n"
    ) in told[1]["content"]
    assert told[0] == chat_server.requests[0]["messages"][0]
    assert "tools" not in chat_server.requests[-1]


def test_a_try_that_cannot_be_read_has_no_vote(system, chat_server):
    """Of two that can be read, a majority are both."""
    chat_server.play(lambda body: say("hm") if body["seed"] == 12 else by_seed(body))
    end = build(system.with_(tries=3, merge="majority")).invoke(QUESTION)
    assert (end["how"], end["answers"]) == ("strict", {"film": []})
    assert end["problem"].startswith("try 2: ")


@pytest.mark.parametrize("merge", ["union", "majority", "list"])
def test_without_a_try_that_can_be_read_the_question_fails(system, chat_server, merge):
    chat_server.play(lambda body: say("hm"))
    end = build(system.with_(tries=2, merge=merge)).invoke(QUESTION)
    assert (end["how"], end["answers"]) == ("failed", {})
    assert end["problem"].startswith("try ")
    assert len(chat_server.requests) == 4  # and the repair of each


def test_a_list_that_cannot_be_read_is_no_answer(system, chat_server):
    def script(body: Body) -> Answer:
        answer = by_seed(body)
        return say("hm") if "several times" in body["messages"][1]["content"] else answer

    chat_server.play(script)
    end = build(system.with_(tries=3, merge="list")).invoke(QUESTION)
    assert (end["how"], end["answers"]) == ("failed", {})
    assert end["problem"].startswith("merge: ")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--tries", "3"], "--tries: has no effect without --merge; add --merge union"),
        (["--merge", "union"], "--merge: has no effect without --tries; add --tries 2"),
    ],
)
def test_one_without_the_other_is_refused(type_in, options, said):
    code, _, error = type_in("ask", "Who made Heat?", *options)
    assert code == 2
    assert said in " ".join(error.split())


def test_tries_without_a_merge_are_refused_in_python():
    with pytest.raises(InputError, match=r"^--tries: has no effect without --merge; add --merge"):
        Agent(System(tries=3))


def test_a_study_varies_how_many_tries_there_are(tmp_path: Path) -> None:
    """A factor alone: the merge counts where there are several."""
    (tmp_path / "study.yaml").write_text(
        "name: tries\nquestions: q.jsonl\nbase: {merge: union}\nfactors: {tries: [null, 2, 3]}\n"
    )
    (tmp_path / "q.jsonl").write_text('{"question": "Who made Heat?", "answers": ["Mann"]}\n')
    systems = load_study(tmp_path / "study.yaml").systems()
    made = {(one.system.tries, one.system.merge) for one in systems}
    assert made == {(2, "union"), (3, "union"), (None, None)}


@pytest.mark.parametrize("name", ["ambiguity", "clarification", "clarify", "mdcr"])
def test_what_one_conversation_does_not_answer_by_branch_is_refused(name):
    system = System(tries=2, merge="union")
    with pytest.raises(InputError, match=rf"^--tries: {name} is not answered in one conversation"):
        Agent(system, TASKS[name].flow)


def test_tries_are_in_the_identity_where_they_are_merged():
    plain, several = Agent(System()), Agent(System(tries=2, merge="union"))
    assert not {"tries", "merge"} & plain.identity.keys()
    assert several.identity["tries"] == 2
    assert several.identity["merge"] == "union"
    by_list = Agent(System(tries=2, merge="list"))
    assert by_list.identity["prompts"] != several.identity["prompts"] == plain.identity["prompts"]


def test_modules_work_within_each_try(tmp_path):
    corpus = bm25_corpus(tmp_path, FILMS)
    system = System(corpus=str(corpus), k=2, expand=True, extract=True, readings_from="memory")
    one = build(system).invoke(QUESTION)
    two = build(system.with_(tries=2, merge="majority")).invoke(QUESTION)
    calls = {role: used["calls"] for role, used in one["usage"].items()}
    assert calls["expander"] == 1
    assert {role: used["calls"] for role, used in two["usage"].items()} == {
        role: 2 * count for role, count in calls.items()
    }
    # The offline model has no chance: both tries are the single conversation.
    assert (two["answers"], two["evidence"]) == (one["answers"], one["evidence"])
