"""Which key goes to which address: the rules, as requests and as messages."""

import base64
import json

import pytest

from branchwise.base.errors import InputError
from branchwise.base.keys import Keys
from branchwise.base.secrets import bytes_without_keys, without_keys, without_users
from branchwise.graphs.agent import Agent
from branchwise.graphs.system import System
from support.keys.echo_servers import EchoServer, escaped, in_base64, quoted

OPENAI = "sk-proj-0123456789"


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("OPENAI_API_KEY", OPENAI)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://gateway:8000/v1")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    monkeypatch.setenv("FIRST_KEY", "first-0123456789")
    monkeypatch.setenv("SECOND_KEY", "second-0123456789")


NAMED = {"First.example": "FIRST_KEY", "first.example:8001": "SECOND_KEY", "[::1]": "FIRST_KEY"}
NAMED["b\u00fccher.example"] = "SECOND_KEY"


@pytest.mark.parametrize(
    ("url", "of_model", "other"),
    [
        ("https://api.openai.com/v1", "OPENAI_API_KEY", None),
        ("https://eu.api.openai.com/v1", "OPENAI_API_KEY", None),
        ("http://api.openai.com/v1", None, None),
        ("https://api.openai.com:8443/v1", None, None),
        ("https://api.openai.com.evil.example/v1", None, None),
        ("https://notapi.openai.com/v1", None, None),
        ("https://us.openai.azure.com/openai/v1", None, None),
        ("http://gateway:8000/other", "OPENAI_API_KEY", None),
        ("https://gateway:8000/v1", None, None),
        ("http://gateway:8001/v1", None, None),
        ("http://gateway/v1", None, None),
        ("http://first.example/v1", "FIRST_KEY", "FIRST_KEY"),
        ("https://FIRST.example:9/v1", "FIRST_KEY", "FIRST_KEY"),
        ("http://first.example:8001/", "SECOND_KEY", "SECOND_KEY"),
        ("http://sub.first.example/", None, None),
        ("http://[::1]:8000/v1", "FIRST_KEY", "FIRST_KEY"),
        ("http://xn--bcher-kva.example/", "SECOND_KEY", "SECOND_KEY"),
        ("http://B\u00fccher.example./", "SECOND_KEY", "SECOND_KEY"),
    ],
)
def test_an_address_gets_its_own_key_alone(url, of_model, other):
    keys = Keys(NAMED)
    assert keys.variable(url, of_model=True) == of_model
    assert keys.variable(url) == other


def test_a_key_that_is_named_for_openai_goes_before_its_usual_one():
    keys = Keys.parse(["api.openai.com=FIRST_KEY"])
    assert keys.key("https://api.openai.com/v1", of_model=True) == "first-0123456789"


def test_keys_are_laid_over_others():
    over = Keys.parse(["a:1=FIRST_KEY"]).over({"A:1": "SECOND_KEY", "b": "SECOND_KEY"})
    assert dict(over.variables) == {"a:1": "FIRST_KEY", "b": "SECOND_KEY"}


REFUSED = {
    ("secret-0123",): "names a host or a variable alone",
    ("localhost=",): "names a host or a variable alone",
    ("localhost=sk-secret-0123",): "is not the name of an environment variable",
    ("http://localhost/v1=FIRST_KEY",): "'http://localhost/v1' is not a host",
    ("me:secret-0123@h=FIRST_KEY",): "it is not a host",
    ("localhost:0=FIRST_KEY",): "'localhost:0' is not a host",
    ("localhost:70000=FIRST_KEY",): "'localhost:70000' is not a host",
    ("=FIRST_KEY",): "'' is not a host",
    ("h=FIRST_KEY", "H=SECOND_KEY"): "two keys are named for h: FIRST_KEY and SECOND_KEY",
    ("h=THIRD_KEY",): "THIRD_KEY, named for h, is not set in the environment",
    ("h=gsk_secret0123",): "a variable, named for h, is not set in the environment",
}


@pytest.mark.parametrize("options", REFUSED)
def test_what_names_no_key_is_one_line_before_any_work(options, type_in, tmp_path):
    (tmp_path / "q.jsonl").write_text(json.dumps({"id": "q", "question": "?", "answers": {}}))
    words = [word for option in options for word in ("--key", option)]
    with EchoServer() as server:
        model = f"openai:m@{server.at('/v1')}"
        code, out, said = type_in(
            *("run", "--questions", tmp_path / "q.jsonl", "--model", model),
            *("--out", tmp_path / "R", *words),
        )
        assert not server.sent
    assert (code, out, said.count("\n")) == (2, "", 1)
    assert REFUSED[options] in said
    assert "--key" in said
    assert "secret" not in said
    assert not (tmp_path / "R").exists()


def test_every_command_that_asks_a_server_takes_keys(type_in, tmp_path):
    unset = ("--key", "h=THIRD_KEY")
    (tmp_path / "study.yaml").touch()
    for words in (
        ("ask", "x"), ("resume", tmp_path), ("score", tmp_path), ("trace", tmp_path),
        ("ablate", tmp_path / "study.yaml"), ("fork", tmp_path, "--question", "q", "--step", "1"),
        ("kg", "query", tmp_path, "x"), ("kg", "search", tmp_path, "x"),
        ("corpus", "search", tmp_path, "x"), ("tools", "try", "x"), ("tools", "show", "x"),
        ("serve", "retrieve"), ("serve", "mcp", "--kg", tmp_path, "--http", "0"),
        ("questions", "generate", "--kg", tmp_path, "--n", "1", "--out", tmp_path / "q"),
    ):  # fmt: skip
        code, _, said = type_in(*words, *unset)
        assert (code, "THIRD_KEY, named for h, is not set" in said) == (2, True), (words, said)


def test_a_model_without_an_address_is_asked_at_openai_base_url(type_in, tmp_path, monkeypatch):
    question = {"id": "q", "question": "Who?", "answers": {"default": ["A"]}}
    (tmp_path / "q.jsonl").write_text(json.dumps(question))
    with EchoServer(lambda *_: {"content": '{"answers": {"default": ["A"]}}'}) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.at("/v1/"))
        run = ("run", "--questions", tmp_path / "q.jsonl", "--model", "openai:m")
        code, _, said = type_in(*run, "--out", tmp_path / "R")
        assert code == 0, said
        assert set(server.sent["/v1/chat/completions"]) == {f"Bearer {OPENAI}"}
        assert f"openai:m@{server.at('/v1')}" in (tmp_path / "R/run.sqlite").read_bytes().decode(
            "latin-1"
        )
        server.answers["/v1/chat/completions"] = "400"
        _, _, said = type_in("ask", "Who?", "--model", "openai:m")
        assert f"openai:m@{server.at('/v1')}: 400" in said


def test_no_key_means_no_header_and_a_refusal_says_how_one_is_named(type_in, tmp_path):
    with EchoServer() as server:
        server.answers = {"/v1/chat/completions": "401", "/retrieve": "401"}
        _, _, said = type_in("ask", "Who?", "--model", f"openai:m@{server.at('/v1')}")
        assert f"no key goes to {server.host}; name its variable: --key {server.host}=" in said
        (tmp_path / "C").mkdir()
        retriever = f"http:{server.at('/retrieve')}"
        _, _, said = type_in("corpus", "search", tmp_path / "C", "x", "--retriever", retriever)
        assert f"--key {server.host}=VARIABLE" in said
        assert {one for sent in server.sent.values() for one in sent} == {""}


@pytest.mark.usefixtures("process")
def test_netrc_and_files_of_the_folder_send_nothing(type_in, tmp_path, monkeypatch):
    """Others' clients read them: a login there is not meant for whatever a study names."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".netrc").write_text("default login me password secret-0123456789\n")
    (tmp_path / ".netrc").chmod(0o600)
    (tmp_path / ".env").write_text("FOURTH_KEY=secret-0123456789\n")
    (tmp_path / "C").mkdir()
    with EchoServer() as server:
        type_in("ask", "Who?", "--model", f"openai:m@{server.at('/v1')}")
        type_in("corpus", "search", "C", "x", "--retriever", f"http:{server.at('/retrieve')}")
        type_in("kg", "query", server.at("/sparql"), "ASK { ?x ?y 1 }", "--seconds", 600)
        type_in("tools", "try", f"mcp:{server.at('/mcp')}")
        assert len(server.sent) == 5
        assert {one for sent in server.sent.values() for one in sent} == {""}
        code, _, said = type_in("ask", "x", "--key", "h=FOURTH_KEY")
        assert (code, "FOURTH_KEY, named for h, is not set" in said) == (2, True)


def test_keys_are_no_part_of_a_system(chat_server):
    model = f"openai:m@{chat_server.url}"
    digests = [Agent(System(model=model, keys=keys)).digest for keys in ({}, {"h": "FIRST_KEY"})]
    assert digests[0] == digests[1]
    with pytest.raises(InputError, match="is not set"):
        Agent(System(model=model, keys={"h": "THIRD_KEY"}))


@pytest.mark.parametrize(
    "form",
    [
        *(str, escaped, quoted, lambda key: f"&#x66;{key[1:]}"),
        *(str.upper, lambda key: key.encode().hex(), lambda key: key.encode().hex().upper()),
        *(lambda key, n=n: in_base64(key)[n] for n in range(6)),
    ],
)
def test_a_key_is_struck_out_however_it_is_escaped(form):
    Keys(NAMED)
    key = "first-0123456789"
    assert without_keys(f"a {form(key)} b%20c") == "a *** b%20c"
    assert bytes_without_keys(f'{{"é": "{form(key)}"}}'.encode()) == '{"é": "***"}'.encode()


@pytest.mark.parametrize("user", ["", "u", "us", "someone"])
@pytest.mark.parametrize("end", ["", "+", "//+", "é"])
def test_no_base64_tells_a_key(monkeypatch, user, end):
    key = f"sk-{end}Zz9{end}0123456789{end}"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        written = encode(f"{user}:{key}".encode()).decode()
        for text in (written, written.rstrip("="), written.replace("+", "%2B").replace("/", "\\/")):
            # What is left tells the user's name at most.
            assert len(without_keys(f"Basic {text}.")) <= len("Basic ***.") + 2 * len(user)


def test_what_holds_no_key_stays_what_it_is(monkeypatch):
    text = "50% of \\u0066irst and %66irst-01234567"
    assert without_keys(text) == text
    monkeypatch.setenv("OPENAI_API_KEY", "EMPTY")
    assert without_keys("an EMPTY set") == "an EMPTY set"
    said = "at http://me:pw@h:1/a and ftp://x@y: a@b"
    assert without_users(said) == "at http://***@h:1/a and ftp://***@y: a@b"


@pytest.mark.usefixtures("process")
def test_a_redirect_within_the_origin_keeps_the_key(type_in):
    with EchoServer(lambda *_: {"content": '{"answers": {"default": ["A"]}}'}) as server:
        server.elsewhere, keys = f"http://{server.host}", ("--key", f"{server.host}=FIRST_KEY")
        server.answers, server.failing = {"/v1/chat/completions": "redirect"}, 1
        code, _, said = type_in("ask", "Who?", "--model", f"openai:m@{server.at('/v1')}", *keys)
        assert code == 0, said
        server.answers, server.failing = {"/sparql": "redirect"}, 1
        query = ("kg", "query", server.at("/sparql"), "ASK { ?x ?y 1 }", "--seconds", 600)
        type_in(*query, *keys)
        assert all(len(server.sent[path]) >= 2 for path in ("/v1/chat/completions", "/sparql"))
        assert {one for sent in server.sent.values() for one in sent} == {"Bearer first-0123456789"}


@pytest.mark.usefixtures("process")
@pytest.mark.parametrize("api", ["chat", "responses"])
def test_a_redirect_to_another_server_is_not_followed_by_either_protocol(type_in, api):
    path = {"chat": "/v1/chat/completions", "responses": "/v1/responses"}[api]
    with EchoServer() as server, EchoServer() as other:
        server.elsewhere, server.answers = f"http://{other.host}", {path: "redirect"}
        key = ("--key", f"{server.host}=FIRST_KEY", "--api", api)
        code, _, said = type_in("ask", "Who?", "--model", f"openai:m@{server.at('/v1')}", *key)
        assert code == 1
        assert "redirects to another server, which is not followed" in said
        assert set(server.sent[path]) == {"Bearer first-0123456789"}
        assert not any(other.sent.values())


@pytest.mark.slow
@pytest.mark.parametrize("run", ["\\", "%", "&#x0", "\\u00", "\\\\/"])
def test_a_long_run_of_what_escapes_is_read_once(monkeypatch, run):
    """Read from each of its characters, a run of this length would take hours."""
    monkeypatch.setenv("OPENAI_API_KEY", "first-0123456789")
    text = run * 200_000
    assert without_keys(f"{text} first-0123456789") == f"{text} ***"
