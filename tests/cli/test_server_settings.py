"""Settings of requests: by option and by study key the same, sent as written, refused in a line."""

import json

import pytest

from branchwise.agents.decoding import Decoding
from branchwise.base.errors import InputError
from branchwise.commands.declared_options import read_options
from branchwise.graphs.agent import Agent
from branchwise.graphs.system import System
from branchwise.runs.studies.schema import load_study
from support.chat_server import fail, say

ANSWER = say(json.dumps({"answers": {"Heat": ["Michael Mann"]}}))
STUDY = "name: s\nquestions: q.jsonl\n{more}base: {base}\nfactors: {factors}\n"


@pytest.fixture
def load(tmp_path):
    question = {"id": "q1", "question": "Who?", "answers": {"default": ["Mann"]}}
    (tmp_path / "q.jsonl").write_text(json.dumps(question))

    def load_study_of(base, factors=None, more=""):
        factors = factors or {"max_turns": [3, 4]}
        text = STUDY.format(base=json.dumps(base), factors=json.dumps(factors), more=more)
        (tmp_path / "s.yaml").write_text(text)
        return load_study(tmp_path / "s.yaml").systems()

    return load_study_of


def test_headers_are_written_beside_keys(load):
    system = load({"model": "offline"}, more="headers: {X-Title: films, HTTP-Referer: http://x}\n")[
        0
    ]
    made = read_options(
        System, {"header": ["X-Title=films", "HTTP-Referer=http://x"], "max_turns": 3}
    )
    assert made == system.system
    assert Agent(made).digest == Agent(System(budget=made.budget)).digest


def test_they_make_another_system():
    given = {
        "top_p": 1.0,
        "reasoning_effort": "low",
        "extra_body": {"k": 1},
        "reasoning_back": "on",
    }
    digest = Agent(System()).digest
    for name, value in given.items():
        assert Decoding(**{name: value}).identity[name] == value
        assert Agent(System(decoding=Decoding(**{name: value}))).digest != digest


def test_a_study_varies_fields_and_names_them(load):
    values = [None, {"top_k": 20}, {"provider": {"order": ["a"], "x": {}}}]
    found = load({"model": "offline"}, {"extra_body": values})
    assert [one.name for one in found] == [
        "base", "extra_body: top_k=20", 'extra_body: provider.order=["a"] provider.x={}',
    ]  # fmt: skip
    assert [one.system.decoding.extra_body for one in found] == [{}, *values[1:]]


def test_roles_are_a_factor_of_modules_and_who_scores_stays(load):
    base = {"model": "offline", "expansion": True, "roles": {"judge": {"temperature": 0}}}
    found = load(base, {"roles": [None, {"expander": {"temperature": 0.5}}]})
    judge = {"judge": {"temperature": 0.0}}
    assert [one.name for one in found] == ["base", "roles: expander.temperature=0.5"]
    assert [one.system.role_decoding for one in found] == [
        judge, {"expander": {"temperature": 0.5}} | judge,
    ]  # fmt: skip
    factors = {"expansion": [False, True]}
    found = load({"model": "offline", "roles": {"expander": {"seed": 1}}}, factors)
    assert [one.system.role_decoding for one in found] == [{}, {"expander": {"seed": 1}}]


@pytest.mark.parametrize(
    ("base", "factors", "said"),
    [
        ({"top_p": 0}, None, r":3: top_p is 0; write more than 0"),
        ({"reasoning_effort": "so high"}, None, r":3: reasoning_effort is not a short word"),
        ({"extra_body": {"model": "x"}}, None, r":3: model is not for extra_body; it is"),
        ({"extra_body": {"a": {"api_key": "x"}}}, None, r":3: api_key looks like a credential"),
        ({"extra_body": [1]}, None, r":3: extra_body is not a JSON object"),
        ({"roles": {"expander": {"temperature": 3}}}, None, r":3: temperature is 3; input should"),
        ({"roles": {"expander": {"seed": 1}}}, None, r":3: no expander is used: expansion is off"),
        ({}, {"roles": [None, {"judge": {"seed": 1}}]}, r":4: judge is not a factor; all systems"),
        ({"tools": "none"}, None, r":3: tools is 'none'; write \[\] for no tools$"),
        ({"headers": {"a": "b"}}, None, r"unknown key 'headers'; write it at the top of the file"),
    ],
)  # fmt: skip
def test_a_study_says_what_is_wrong_and_where(load, base, factors, said):
    with pytest.raises(InputError, match=said):
        load({"model": "offline", **base}, factors)


BODY = {"top_k": 20, "chat_template_kwargs": {"enable_thinking": False}}


def test_the_server_gets_what_is_written(type_in, chat_server):
    chat_server.play(lambda _: ANSWER)
    options = ("--top-p", "0.05", "--reasoning-effort", "high", "--extra-body", json.dumps(BODY))
    asked = ("ask", "Who?", "--model", f"openai:scripted@{chat_server.url}")
    assert type_in(*asked, *options)[0] == type_in(*asked)[0] == 0
    first, second = chat_server.requests
    new = {"top_p": 0.05, "reasoning_effort": "high", **BODY}
    assert {name: first[name] for name in new} == new
    assert first.keys() - second.keys() == new.keys()


def test_a_field_of_the_users_own_is_not_left_out(type_in, chat_server):
    chat_server.play(
        lambda body: fail(422, f"Unexpected fields: {sorted(body.keys() & {'top_k'})}")
    )
    model = f"openai:scripted@{chat_server.url}"
    code, _, err = type_in(
        "ask", "Who?", "--model", model, "--extra-body", '{"top_k": 1, "parallel_tool_calls": true}'
    )
    assert code == 1
    assert "(extra_body sets top_k)" in err
    assert len(chat_server.requests) == 1
    # Also where its name is one of those that are left out otherwise.
    chat_server.play(lambda _: fail(400, "parallel_tool_calls is not supported"))
    extra = '{"parallel_tool_calls": true}'
    _, _, err = type_in("ask", "Who?", "--model", model, "--extra-body", extra)
    assert "(extra_body sets parallel_tool_calls)" in err
    assert len(chat_server.requests) == 2


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        ("{", "--extra-body: is not JSON: "),
        ("[" * 100_000, "--extra-body: is not JSON: "),
        ("[]", "--extra-body: is not a JSON object; write "),
        ('{"messages": []}', "--extra-body messages: is not for extra_body; leave it out"),
        ('{"max_completion_tokens": 1}', "it is the setting max_tokens"),
        ('{"a": [{"Authorization": "x"}]}', "--extra-body a.0.Authorization: looks like a cred"),
        ('{"a": "sk-abcdefghijkl"}', "--extra-body a: looks like a credential"),
        ('{"a": NaN}', "--extra-body a: is not a finite number"),
        ('{"a": 99999999999999999999}', "--extra-body a: is too large a number"),
        ('{"a": "\\ud800"}', "--extra-body a: contains half a character"),
        (json.dumps({"a": "x" * 5000}), "--extra-body: has 5,009 bytes; at most 4,096"),
    ],
)
def test_what_no_body_may_hold_is_refused(extra, said):
    with pytest.raises(InputError) as raised:
        read_options(System, {"extra_body": extra})
    assert said in str(raised.value)
    assert "abcdefgh" not in str(raised.value)


def test_fields_that_only_sound_like_credentials_are_taken():
    extra = {"prompt_cache_key": "films", "skip_special_tokens": True, "stop_token_ids": [2]}
    assert Decoding(extra_body=extra).extra_body == extra


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("X-Title", "what is given is not a header"),
        ("X Title=a", "what is given is not a header"),
        ("Authorization=Bearer abcdef", "Authorization: looks like a key's header"),
        ("Cookie=a", "Cookie: looks like a key's header"),
        ("X-Api-Key=a", "X-Api-Key: looks like a key's header"),
        ("x-goog-iam-authority-token=a", "looks like a key's header"),
        ("X-Title=sk-or-v1-canary000000", "X-Title: has a value that looks like a key"),
        ("X-Title=Bearer canary000000", "X-Title: has a value that looks like a key"),
        ("sk-canary0000000=a", "has a name that looks like a key"),
        ("X-Title=a\r\nAuthorization: b", "not printable ASCII"),
        ("X-Title=naïve", "not printable ASCII"),
        ("X-Title=", "is empty"),
        ("X-Title=" + "a" * 1001, "longer than 1,000 characters"),
        ("Host=example.org", "Host: is not for --header"),
        ("Content-Length=1", "Content-Length: is not for --header"),
        ("OpenAI-Organization=o", "is not for --header"),
    ],
)
def test_headers_that_may_be_keys_or_break_requests_are_refused(header, said):
    with pytest.raises(InputError) as raised:
        read_options(System, {"header": [header]})
    assert str(raised.value).startswith("--header")
    assert said in str(raised.value)
    assert "canary" not in str(raised.value)


def test_a_header_given_twice_is_refused():
    for other in ("X-A=2", "x-a=2"):
        with pytest.raises(InputError, match=r"--header.* is there twice"):
            read_options(System, {"header": ["X-A=1", other]})


@pytest.mark.parametrize(
    "text", ["Basic research", "task-12345678", "hf-inference", "Bearer of it"]
)
def test_words_that_only_begin_like_keys_are_taken(text):
    assert read_options(System, {"header": [f"X-Title={text}"]}).headers == {"X-Title": text}
    assert Decoding(extra_body={"provider": text}).extra_body == {"provider": text}


def test_no_tools_stand_alone(corpus_like):
    with pytest.raises(InputError, match=r"^--tool: none is given beside other tools"):
        read_options(System, {"tool": ["none", "local_retriever"], "corpus": corpus_like})
    with pytest.raises(InputError, match=r"^--extract: no tool .*; name a tool, or leave out"):
        read_options(System, {"tool": ["none"], "extract": True, "corpus": corpus_like})
    assert read_options(System, {"tool": ["none"], "corpus": corpus_like}).tools == ()


@pytest.fixture
def corpus_like(tmp_path):
    return tmp_path
