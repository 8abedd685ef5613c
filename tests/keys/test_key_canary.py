"""Keys that servers and plug-ins repeat are in nothing that a command says or writes.

Every role has a server and a key of its own. Servers repeat what they were sent (`echo_servers`),
well and in each kind of failure; then all output and every byte of every file is searched.
"""

import base64
import html
import json
import re
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import unquote

import pytest

from branchwise.agents import restraints
from branchwise.tools import mcp_tools as tools
from support import TESTS
from support.keys.echo_servers import KINDS, Body, EchoServer, echo, escaped, quoted

pytestmark = pytest.mark.usefixtures("process")

PLUGINS = TESTS / "support" / "keys" / "echoing.py"
ROLES = ("agent", "helper", "retriever", "endpoint", "mcp")
CANARIES = {role: f"sk-{role}-c4nary.{n}7/aB+9_{'xyz'[n % 3] * 9}" for n, role in enumerate(ROLES)}
CANARIES["openai"] = "sk-proj-openai-c4nary-0123456789"
PASSWORD = "pr0xy-c4nary-password"
QUESTION = {
    "id": "q1",
    "question": "Who directed Heat?",
    "ambiguous": True,
    "answers": {"Heat (1995 film)": ["Michael Mann"], "Heat (1986 film)": ["Dick Richards"]},
}


def leaks(said: bytes) -> set[str]:
    """Whose keys are in it, as they are or escaped."""
    text = said.decode("latin-1")
    plain = re.sub(r"\\+u00([0-9a-fA-F]{2})", lambda found: chr(int(found[1], 16)), text)
    forms = {
        text,
        plain,
        unquote(plain, "latin-1"),
        html.unescape(plain),
        plain.replace("\\/", "/"),
    }
    secrets = {**CANARIES, "password": PASSWORD}
    lower = " ".join(forms).lower()
    standard = " ".join(forms).translate(str.maketrans("-_", "+/"))
    runs = set(re.findall(r"[\w+/]{16,}", standard, re.ASCII))
    tails = {run[start:] for run in runs for start in range(4)}
    whole = (tail[:-1] if len(tail) % 4 == 1 else tail for tail in tails)
    unpacked = b" ".join(base64.b64decode(run + "===").lower() for run in whole)
    # The tail, too: of a key that was cut or wrapped its end may be left over.
    return {
        role
        for role, key in secrets.items()
        for part in (key, key[6:])
        if part.lower() in lower
        or part.encode().hex() in lower
        or part.lower().encode() in unpacked
    }


def files(*folders: Path) -> list[Path]:
    return [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]


def of_user(key: str) -> str:
    return base64.b64encode(f"user:{key}".encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    "form",
    [
        *(str, escaped, quoted, lambda key: json.dumps(key)[1:-1]),
        *(str.upper, lambda key: key.encode().hex(), of_user),
    ],
)
def test_the_search_finds_what_it_is_to_find(form):
    for role, key in CANARIES.items():
        assert leaks(f"x {form(key)} y".encode()) == {role}
    assert leaks(b"sk-*** and ***") == set()


@pytest.fixture
def servers(monkeypatch):
    """By role a server, and the key that is named for it; OpenAI's own goes to nobody here."""
    monkeypatch.setattr(restraints, "FIRST_WAIT", 0.0)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("HTTPS_PROXY", f"http://me:{PASSWORD}@127.0.0.1:9")
    monkeypatch.setenv("OPENAI_API_KEY", CANARIES["openai"])
    monkeypatch.setenv("OPENAI_ORG_ID", "org-c4nary")
    for role, key in CANARIES.items():
        monkeypatch.setenv(f"CANARY_{role.upper()}", key)
    with ExitStack() as stack:
        found = {role: stack.enter_context(EchoServer()) for role in (*ROLES, "elsewhere")}
        for server in found.values():
            server.elsewhere = f"http://{found['elsewhere'].host}"
        found["agent"].chat, found["helper"].chat = agent, helper
        yield found


@pytest.fixture
def keys(servers):
    """The options that name each server's key."""
    named = [f"{servers[role].host}=CANARY_{role.upper()}" for role in ROLES]
    return [word for one in named for word in ("--key", one)]


@pytest.fixture
def tell(type_in, tmp_path, monkeypatch):
    """Run a command; nothing that it says may hold a key. Gives exit code and output."""
    monkeypatch.chdir(tmp_path)

    def run(*words, code=None):
        ended, out, error = type_in(*words)
        assert leaks((out + error).encode()) == set(), f"{words}: {out}{error}"
        assert "Traceback" not in error
        assert code is None or ended == code, out + error
        return ended, out + error

    return run


def agent(body: Body, key: str) -> Body:
    """Calls each of its tools with its key, then answers with it."""
    said = echo(key)
    tools = [one["function"]["name"] for one in body.get("tools", ())]
    if not tools or any(message["role"] == "tool" for message in body["messages"]):
        answers = {f"Heat {key}": [key, said], escaped(key): [quoted(key)]}
        text = json.dumps({"reasoning": said, "answers": answers}).replace(r"\\u", r"\u")
        return {"content": text, "reasoning_content": said}
    arguments = {
        "local_retriever": {"query": said, "k": 1},
        "wikisparql": {"query": f'SELECT ?x WHERE {{ ?x ?y "{key}" }}'},
        "echoes": {"text": said},
        "refuses": {"text": said},
        "told": {"text": said},
    }
    calls = [
        {
            "id": f"{key}-{name}",
            "function": {"name": name, "arguments": json.dumps(arguments[name])},
        }
        for name in tools
    ]
    calls.append({"id": "none", "function": {"name": f"no_{key}", "arguments": f'{{"a": "{said}'}})
    return {"content": said, "reasoning": said, "tool_calls": calls}


def helper(body: Body, key: str) -> Body:
    """In whatever role, something that can be used and has the key in it."""
    user = body["messages"][-1]["content"]
    if names := re.findall(r"^(n\d+):", user, re.MULTILINE):
        return {"content": json.dumps(dict.fromkeys(names, "r1")), "reasoning": echo(key)}
    if names := re.findall(r"^(a\d+):", user, re.MULTILINE):
        return {"content": json.dumps(dict.fromkeys(names, "g1")), "reasoning": echo(key)}
    if "Copy out" in body["messages"][0]["content"]:
        return {"content": f"{user.splitlines()[-1]}\n{echo(key)}", "reasoning": key}
    readings = f"Who directed Heat {key}?\nWho directed Heat (1986 film) {escaped(key)}?"
    return {"content": readings, "reasoning_content": echo(key)}


def system_words(servers, tmp_path) -> list[object]:
    helper_model = f"openai:h@{servers['helper'].at('/v1')}"
    return [
        *("--model", f"openai:a@{servers['agent'].at('/v1')}"),
        *("--expand", "--expander", helper_model, "--extract", "--extractor", helper_model),
        *("--retriever", f"http:{servers['retriever'].at('/retrieve')}"),
        *("--kg", servers["endpoint"].at("/sparql")),
        *("--tool", "local_retriever", "--tool", "wikisparql"),
        *("--tool", f"mcp:{servers['mcp'].at('/mcp')}"),
        *("--tool", f"{PLUGINS}:echoes", "--tool", f"{PLUGINS}:refuses"),
        *("--node", f"{PLUGINS}:reads"),
    ]


def run_words(servers, tmp_path) -> list[object]:
    (tmp_path / "q.jsonl").write_text(json.dumps(QUESTION))
    helper_model = f"openai:h@{servers['helper'].at('/v1')}"
    return [
        *("run", "--questions", tmp_path / "q.jsonl", "--out", tmp_path / "R"),
        *system_words(servers, tmp_path),
        *("--metric", f"{PLUGINS}:counts"),
        *("--matcher", f"both:{helper_model}", "--judge", helper_model),
    ]


def wait_in_vain_for_mcp(kind: str, monkeypatch) -> None:
    """Not for long: a result that is cut or no JSON is none to the SDK, which goes on waiting."""
    if kind in ("cut", "nonsense"):
        monkeypatch.setattr(tools, "CALL_SECONDS", 1.0)


def assert_each_its_own(servers) -> None:
    """No server was sent another's key, and none where redirects led."""
    for role in ROLES:
        sent = {header for headers in servers[role].sent.values() for header in headers}
        assert sent <= {f"Bearer {CANARIES[role]}"}, role
    assert not servers["elsewhere"].sent


@pytest.mark.long
def test_a_run_with_all_roles_and_everything_that_is_made_of_it(servers, keys, tell, tmp_path):
    endpoint = servers["endpoint"].at("/sparql")
    tell("kg", "query", endpoint, "SELECT ?x WHERE { ?x ?y 1 }", "--seconds", 600, *keys, code=0)
    _, said = tell(*run_words(servers, tmp_path), *keys, code=0)
    assert_each_its_own(servers)
    for role in ROLES:
        assert servers[role].sent, f"{role} was not asked: {said}"
    run = tmp_path / "R"
    made = tmp_path / "made"
    made.mkdir()
    tell("report", run, "--html", made / "r.html", "--markdown", made / "r.md", code=0)
    tell("report", run, "--latex", made / "r.tex", "--csv", made / "csv", "--json", code=0)
    tell("export", run, "--events", "--out", made / "events.jsonl", code=0)
    _, shown = tell("trace", run, "--print", "--question", "q1", code=0)
    assert "***" in shown
    for step in re.findall(r"^ *(\d+)  ", shown, re.MULTILINE)[:30]:
        tell("trace", run, "--print", "--question", "q1", "--step", step)
    tell("errors", run, code=0)
    tell("score", run, "--json", code=0)
    tell("fork", run, "--question", "q1", "--step", 3, "--out", tmp_path / "F", "--print")
    tell("resume", run, "--retry-failed", code=0)
    assert_each_its_own(servers)
    for file in files(run, made, tmp_path / "F"):
        assert leaks(file.read_bytes()) == set(), file
    kept = (run / "run.sqlite").read_bytes()
    assert b"***" in kept
    assert f"{servers['agent'].host}".encode() in kept
    assert b"CANARY_AGENT" in kept
    assert b"CANARY_AGENT" in (tmp_path / "F" / "run.sqlite").read_bytes()


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_failures_of_all_that_an_agent_asks(kind, servers, keys, tell, tmp_path, monkeypatch):
    """The agent's own model answers; each of the others fails once, as servers do."""
    if kind not in ("401", "404"):  # these stop a run before anything else is asked
        servers["helper"].answers["/v1/chat/completions"] = kind
    servers["retriever"].answers["/retrieve"] = kind
    servers["endpoint"].answers["/sparql"] = kind
    servers["mcp"].answers["/mcp"] = kind
    monkeypatch.setenv("ECHOING_FAILS", "yes")
    wait_in_vain_for_mcp(kind, monkeypatch)
    # The retriever is asked once before anything runs, and must answer then.
    servers["retriever"].spared = servers["retriever"].failing = 1
    tell(*run_words(servers, tmp_path), *keys)
    assert_each_its_own(servers)
    tell("trace", tmp_path / "R", "--print", "--question", "q1")
    tell("export", tmp_path / "R", "--events", "--out", tmp_path / "R" / "events.jsonl")
    for file in files(tmp_path / "R"):
        assert leaks(file.read_bytes()) == set(), file


@pytest.mark.long
@pytest.mark.parametrize("kind", ["success", *KINDS])
def test_failures_where_a_command_asks_one_server(kind, servers, keys, tell, tmp_path, monkeypatch):
    wait_in_vain_for_mcp(kind, monkeypatch)
    for server in servers.values():
        server.answers = dict.fromkeys(
            ("/v1/chat/completions", "/retrieve", "/sparql", "/mcp"), kind
        )
        if kind == "success":
            server.answers = {}
    model = f"openai:a@{servers['agent'].at('/v1')}"
    (tmp_path / "q.jsonl").write_text(json.dumps(QUESTION))
    tell("ask", "Who?", "--model", model, *keys)
    tell("run", "--questions", "q.jsonl", "--model", model, "--stream", "--out", "R", *keys)
    (tmp_path / "C").mkdir()
    retriever = f"http:{servers['retriever'].at('/retrieve')}"
    tell("corpus", "search", "C", "Heat", "--retriever", retriever, *keys)
    endpoint = servers["endpoint"].at("/sparql")
    tell("kg", "query", endpoint, "SELECT ?x WHERE { ?x ?y 1 }", "--seconds", 600, *keys)
    tell("kg", "search", endpoint, "Heat", *keys)
    mcp = f"mcp:{servers['mcp'].at('/mcp')}#told"
    tell("tools", "try", mcp, *keys)
    tell("tools", "show", mcp, *keys)
    assert_each_its_own(servers)
    for file in files(tmp_path / "R"):
        assert leaks(file.read_bytes()) == set(), file


def judge(body: Body, key: str) -> Body:
    """A grade; the tokens beside it hold the key, and spell it out where an answer is graded."""

    def place(text: str) -> Body:
        others = [{"token": one, "logprob": -1.0} for one in (text, key, escaped(key))]
        return {"token": text, "logprob": -1.0, "top_logprobs": others}

    spelt = [key[at : at + 6] for at in range(0, len(key), 6)]
    tokens = [*(spelt if "Given answer" in body["messages"][-1]["content"] else []), "7"]
    logprobs = {"content": list(map(place, tokens))}
    return {"content": "7", "reasoning": echo(key), "logprobs": logprobs}


@pytest.mark.parametrize("kind", ["success", *KINDS])
def test_a_judge_of_free_text_and_another_beside_it(kind, servers, keys, tell, tmp_path):
    (tmp_path / "q.jsonl").write_text(json.dumps(QUESTION))
    servers["agent"].chat = lambda body, key: (
        judge(body, key) if "Reference" in body["messages"][-1]["content"] else agent(body, key)
    )
    servers["helper"].chat = judge
    models = {role: f"openai:m@{servers[role].at('/v1')}" for role in ("agent", "helper")}
    begin = ("run", "--questions", "q.jsonl", "--task", "condambigqa", "--out", "R")
    tell(*begin, "--model", models["agent"], "--at-most", 3, *keys, code=0)
    if kind != "success":
        servers["helper"].answers["/v1/chat/completions"] = kind
    check = ("--judge-check", 1, "--judge-beside", models["agent"])
    tell("score", "R", "--judge", models["helper"], *check, *keys, "--attempts", 2)
    assert servers["helper"].sent
    assert_each_its_own(servers)
    if kind == "success":
        tell("report", "R", "--judge", models["helper"], "--json", code=0)
        tell("score", "R", "--judge", models["helper"], "--json", code=0)
        assert b'"tokens"' in (tmp_path / "R" / "run.sqlite").read_bytes()
    for file in files(tmp_path / "R"):
        said = file.read_bytes()
        assert leaks(said) == set(), file
        assert CANARIES["helper"][6:12].encode() not in said


STUDY = """
name: two
questions: q.jsonl
base: {{model: "openai:a@{agent}", tools: []}}
factors:
  model: ["openai:a@{agent}", "openai:h@{helper}"]
matcher: llm:openai:h@{helper}
judge: openai:h@{helper}
keys:
  {agent_host}: CANARY_AGENT
  {helper_host}: CANARY_HELPER
"""


@pytest.mark.long
def test_a_study_with_two_servers_sends_each_its_own_key(servers, tell, tmp_path):
    (tmp_path / "q.jsonl").write_text(json.dumps(QUESTION))
    servers["helper"].chat = lambda body, key: (helper if asks_helper(body) else agent)(body, key)
    places = {role: servers[role].at("/v1") for role in ("agent", "helper")}
    hosts = {f"{role}_host": servers[role].host for role in places}
    (tmp_path / "study.yaml").write_text(STUDY.format(**places, **hosts))
    tell("ablate", "study.yaml", "--out", "S", code=0)
    for role in places:
        assert servers[role].sent.keys() == {"/v1/models", "/v1/chat/completions"}
        sent = {one for headers in servers[role].sent.values() for one in headers}
        assert sent == {f"Bearer {CANARIES[role]}"}
    made = tmp_path / "made"
    made.mkdir()
    tell("report", "S", "--html", made / "r.html", "--csv", made, "--figures", made, code=0)
    for file in files(tmp_path / "S", made):
        assert leaks(file.read_bytes()) == set(), file
    kept = json.loads((tmp_path / "S" / "study.json").read_text())
    named = {servers[role].host: f"CANARY_{role.upper()}" for role in places}
    assert kept["study"]["keys"] == named
    assert [one["system"]["keys"] for one in kept["systems"]] == [named, named]


def asks_helper(body: Body) -> bool:
    return bool(re.search(r"^[na]\d+:", body["messages"][-1]["content"], re.MULTILINE))


@pytest.mark.parametrize("kind", ["success", "401", "500", "nonsense"])
def test_models_that_word_questions(kind, servers, keys, tell, tmp_path):
    if kind != "success":
        servers["helper"].answers["/v1/chat/completions"] = kind
    model = f"openai:h@{servers['helper'].at('/v1')}"
    servers["helper"].chat = lambda _, key: {"content": f"Which films are {echo(key)}?"}
    slice_ = TESTS / "synthesis" / "real_slice"
    tell(
        *("questions", "generate", "--kg", slice_ / "films.nt", "--schema", slice_ / "films.yaml"),
        *("--names", slice_ / "names.jsonl", "--n", 2, "--out", "made.jsonl"),
        *("--writer", model, "--reviewer", model, *keys),
    )
    assert servers["helper"].sent
    assert_each_its_own(servers)
    assert all(leaks(file.read_bytes()) == set() for file in files(tmp_path))


@pytest.mark.parametrize("fails", ["", "yes"])
def test_plug_ins_that_repeat_a_key(fails, servers, tell, tmp_path, monkeypatch):
    monkeypatch.setenv("ECHOING_FAILS", fails)
    (tmp_path / "C").mkdir()
    words = ("corpus", "search", "C", "Heat", "--retriever", f"{PLUGINS}:finds", "--json")
    assert tell(*words)[0] == (2 if fails else 0)
    for name in ("echoes", "refuses"):
        tell("tools", "try", f"{PLUGINS}:{name}", "--args", '{"text": "x"}', "--json")


@pytest.mark.parametrize(
    "proxy", ["http://me:{}@127.0.0.1:9", "me:{}@127.0.0.1:9", "ftp://me:{}@h"]
)
def test_the_password_of_a_proxy_is_not_told(proxy, servers, tell, tmp_path, monkeypatch):
    for name in ("HTTPS_PROXY", "https_proxy", "OPENAI_PROXY"):
        monkeypatch.setenv(name, proxy.format(PASSWORD))
    (tmp_path / "C").mkdir()
    place = "https://models.invalid"
    asked = ("ask", "Who?", "--model", f"openai:m@{place}/v1", "--patience", "1s")
    assert tell(*asked)[0] != 0
    assert tell("corpus", "search", "C", "Heat", "--retriever", f"http:{place}/retrieve")[0] != 0
    assert tell("kg", "query", f"{place}/sparql", "SELECT ?x WHERE { ?x ?y 1 }")[0] != 0
    assert tell("tools", "try", f"mcp:{place}/mcp")[0] != 0


@pytest.mark.parametrize("user", [f"me:{PASSWORD}@", f"{PASSWORD}@"])
def test_addresses_with_a_password_are_refused_without_it(user, servers, tell, monkeypatch):
    Path("C").mkdir()
    place = f"http://{user}127.0.0.1:9"
    tell("ask", "Who?", "--model", f"openai:m@{place}/v1", code=2)
    tell("corpus", "search", "C", "Heat", "--retriever", f"http:{place}/retrieve", code=2)
    tell("kg", "query", f"{place}/sparql", "SELECT ?x WHERE { ?x ?y 1 }", code=2)
    tell("tools", "try", f"mcp:{place}/mcp", code=2)
    tell("tools", "try", f"mcp:http://127.0.0.1:9/mcp?api_key={PASSWORD}", code=2)
    monkeypatch.setenv("OPENAI_BASE_URL", f"{place}/v1")
    tell("ask", "Who?", "--model", "openai:m", code=2)
