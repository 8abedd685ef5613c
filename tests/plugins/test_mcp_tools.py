"""Tools of MCP servers beside the reference SDK's own server, over stdio and streamable HTTP."""

import asyncio
import contextlib
import gc
import importlib.util
import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from langchain_core.utils.function_calling import convert_to_openai_tool

from branchwise import System, run
from branchwise.agents.decoding import Decoding
from branchwise.corpora.errors import InputError
from branchwise.corpora.plugins.mcp_specs import parse_mcp
from branchwise.corpora.plugins.specs import absolute_spec
from branchwise.graphs.agent import Agent
from branchwise.tools.mcp import client
from branchwise.tools.mcp.opening import close_mcp_tools, close_now, open_mcp_tools
from branchwise.tools.registry import ToolContext, make_tools
from support import TESTS
from support.chat_server import call, hang, say
from support.plugins.node_cases import turns, write_questions

pytestmark = pytest.mark.slow

FILMS = TESTS / "support" / "plugins" / "mcp_films.py"
STDIO = f"mcp:python {shlex.quote(str(FILMS))}"
NAMES = [
    "film_year", "fails", "facts", "found", "misshapen", "poster", "long", "odd",
    "surroundings", "waits", "blocks", "dies",
]  # fmt: skip


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def started(port):
    """The server over HTTP, ready."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([sys.executable, FILMS, str(port)], **quiet)
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return process
    raise AssertionError("the server does not listen")


@pytest.fixture(scope="module")
def http_spec(process: None):
    port = free_port()
    process = started(port)
    yield f"mcp:http://127.0.0.1:{port}/mcp"
    process.kill()
    process.wait()


@pytest.fixture(scope="module")
def opened(http_spec):
    """By transport, the tools of one server for tests that leave it as it is."""
    specs = {"stdio": STDIO, "http": http_spec}
    found = open_mcp_tools(list(specs.values()))
    by_name = {way: {tool.name: tool for tool in found[spec]} for way, spec in specs.items()}
    yield by_name
    close_now(tool for tools in by_name.values() for tool in tools.values())


@pytest.fixture(params=["stdio", "http"])
def tools(request, opened):
    return opened[request.param]


@pytest.fixture
def fresh():
    """Opens a server for one test: `fresh(spec)`; nothing of it is left behind."""
    made = []

    def opening(spec=STDIO):
        found = {tool.name: tool for tool in open_mcp_tools([spec])[spec]}
        made.extend(found.values())
        return found

    yield opening
    close_now(made)


def ask(tool, seconds=300.0, **arguments):
    return asyncio.run(tool.call(arguments, seconds))


def is_there(pid):
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return "Z" not in status.rpartition(")")[2].split()[0]


def pid_of(tools):
    return int(ask(tools["surroundings"]).artifact["pid"])


def eventually(is_so, seconds=300):
    deadline = time.monotonic() + seconds
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.02)
    return is_so()


def gone(pid):
    return eventually(lambda: not is_there(pid))


def test_a_servers_tools_are_tools_as_it_describes_them(tools):
    assert list(tools) == NAMES
    shown = convert_to_openai_tool(tools["film_year"])["function"]
    assert shown["description"] == "Year a film was released."
    properties = shown["parameters"]["properties"]
    assert {name: p["type"] for name, p in properties.items()} == {
        "title": "string",
        "exact": "boolean",
    }
    assert shown["parameters"]["required"] == ["title"]
    assert tools["film_year"].section == "Ask film_year for years."


def test_a_call_brings_the_servers_text(tools):
    result = ask(tools["film_year"], title="Heat")
    assert (result.content, result.artifact, result.error) == ("1995", {}, None)


def test_structured_content_becomes_the_artifact(tools):
    result = ask(tools["facts"])
    assert result.artifact == {"title": "Heat", "years": [1986, 1995]}
    assert json.loads(result.content) == result.artifact


def test_passages_of_the_documented_shape_are_evidence_and_others_are_not(tools):
    assert [p["id"] for p in ask(tools["found"]).artifact["passages"]] == ["p1"]
    kept = ask(tools["misshapen"]).artifact
    assert kept == {"structured": {"passages": ["p1", {"id": 3}]}}


def test_pictures_and_resources_are_said_in_words(tools):
    lines = ask(tools["poster"]).content.splitlines()
    assert lines == [
        "before",
        "[left out: image, image/png, 300 bytes]",
        "[resource file:///a.txt, text/plain]",
        "inside",
        "[resource file:///b.txt, b]",
    ]


def test_an_error_result_is_a_tool_error(tools):
    result = ask(tools["fails"], why="no such film")
    assert result.failure == "failed"
    assert result.error == "fails: Error executing tool fails: no such film"
    assert result.content == "Error: Error executing tool fails: no such film"


def test_wrong_arguments_are_a_tool_error_that_names_them(tools):
    result = ask(tools["film_year"])
    assert result.failure == "failed"
    assert "title" in result.content
    assert "required" in result.content


def test_a_long_result_is_cut(tools):
    content = ask(tools["long"], characters=300_000).content
    assert content.startswith("x" * 200_000 + "\n[cut: 300000 characters]")


def test_arguments_may_be_called_anything(tools):
    assert ask(tools["odd"], config="a", runtime="b", callbacks=3).content == "a b 3"


def test_half_characters_in_arguments_end_no_conversation(tools):
    assert ask(tools["film_year"], title="\ud800 \ud83d\ude00").content == "unknown"
    assert (
        ask(tools["odd"], config="\ud83d\ude00", runtime="", callbacks=0).content == "\U0001f600  0"
    )


def test_a_hanging_call_is_cancelled_at_its_limit_and_the_server_is_told(tools, tmp_path):
    mark = tmp_path / "cancelled"
    # Where every core is busy, a call may end before the server has begun it.
    for seconds in (0.3, 3, 30):
        result = ask(tools["waits"], seconds=seconds, mark=str(mark))
        assert result.error == f"waits: no result within {seconds} seconds (cancelled)"
        if (tmp_path / "cancelled-begun").exists():
            break
    # The same server answers the next call, and stops its work.
    assert ask(tools["film_year"], title="Heat").content == "1995"
    assert eventually(mark.exists)


@pytest.mark.usefixtures("process")
def test_no_key_reaches_a_server(fresh, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("HF_TOKEN", "hf-secret")
    seen = ask(fresh()["surroundings"]).artifact
    assert "secret" not in json.dumps(seen)
    passed_on = {"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LC_CTYPE", "pid"}
    assert set(seen) <= passed_on | {"PWD", "OLDPWD", "SHLVL", "_"}  # the shell's own


@pytest.mark.usefixtures("process")
def test_a_server_that_dies_fails_its_call_alone(fresh):
    tools = fresh()
    first = pid_of(tools)
    result = ask(tools["dies"])
    assert result.error == (
        "dies: the MCP server is gone: it has ended; its last words: the film burnt; ask again"
    )
    assert ask(tools["film_year"], title="Heat").content == "1995"
    assert pid_of(tools) != first
    second = pid_of(tools)
    os.kill(second, signal.SIGKILL)
    assert gone(second)
    # Whether the next call still meets the dead server is a race; the one behind it does not.
    ask(tools["film_year"], title="Heat")
    assert ask(tools["film_year"], title="Heat").content == "1995"


def test_ten_megabytes_are_cut(opened):
    content = ask(opened["stdio"]["long"], characters=10_000_000).content
    assert content.endswith("[cut: 10000000 characters]")


@pytest.mark.usefixtures("process")
def test_all_calls_of_a_server_that_dies_say_so(fresh, tmp_path):
    tools = fresh()

    async def at_once():
        waiting = [tools["waits"].call({"mark": str(tmp_path / f"{n}")}, 300) for n in range(4)]
        calls = [asyncio.ensure_future(call) for call in waiting]
        while not all((tmp_path / f"{n}-begun").exists() for n in range(4)):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        return await asyncio.gather(*calls, tools["dies"].call({}, 300))

    assert all("the MCP server is gone: it has ended" in r.error for r in asyncio.run(at_once()))
    assert ask(tools["film_year"], title="Heat").content == "1995"


@pytest.mark.usefixtures("process")
def test_what_a_server_started_ends_with_it(fresh, tmp_path):
    mark = tmp_path / "pid"
    script = f"sleep 1000 & echo $! > {mark}; exec {sys.executable} {FILMS}"
    tools = fresh(f"mcp:sh -c {shlex.quote(script)}")
    child = int(mark.read_text())
    assert is_there(child)
    close_now(tools.values())
    assert gone(child)


@pytest.mark.usefixtures("process")
def test_a_server_that_is_stuck_is_replaced(fresh, monkeypatch):
    monkeypatch.setattr(client, "PING_SECONDS", 0.3)
    tools = fresh()
    first = pid_of(tools)
    assert "no result within 0.3 seconds" in ask(tools["blocks"], seconds=0.3).error
    assert ask(tools["film_year"], title="Heat").content == "1995"
    assert gone(first)


@pytest.mark.usefixtures("process")
def test_a_server_over_http_may_end_and_come_back(fresh):
    port = free_port()
    process = started(port)
    tools = fresh(f"mcp:http://127.0.0.1:{port}/mcp")
    assert "the MCP server is gone" in ask(tools["dies"]).error
    process.wait()
    assert "the MCP server is gone" in ask(tools["film_year"], title="Heat").error
    process = started(port)
    assert ask(tools["film_year"], title="Heat").content == "1995"
    process.kill()
    process.wait()
    process = started(port)
    assert ask(tools["film_year"], title="Heat").content == "1995"
    process.kill()
    process.wait()


@pytest.mark.usefixtures("process")
def test_closing_ends_the_process_and_a_later_call_begins_another(fresh):
    tools = fresh()
    first = pid_of(tools)
    asyncio.run(close_mcp_tools(tools.values()))
    assert gone(first)
    assert ask(tools["film_year"], title="Heat").content == "1995"


@pytest.mark.usefixtures("process")
def test_a_process_that_will_not_end_is_killed(fresh):
    tools = fresh(f"{STDIO} --stubborn")
    pid = pid_of(tools)
    close_now(tools.values())
    assert gone(pid)


@pytest.mark.usefixtures("process")
def test_tools_that_nobody_has_any_more_take_their_process_with_them():
    tools = {tool.name: tool for tool in open_mcp_tools([STDIO])[STDIO]}
    pid = pid_of(tools)
    del tools
    gc.collect()
    assert gone(pid)


@pytest.mark.usefixtures("process")
def test_specs_of_one_server_share_its_conversation():
    one, two = f"{STDIO}#surroundings", f"{STDIO}#film_year"
    found = open_mcp_tools([one, two, STDIO])
    assert [tool.name for tool in found[one] + found[two]] == ["surroundings", "film_year"]
    assert found[one][0].server is found[STDIO][0].server
    made = make_tools([two, STDIO, "mcp:" + STDIO.removeprefix("mcp:")], ToolContext())
    assert [tool.name for tool in made] == NAMES
    close_now([*found[STDIO], *made])


def test_identity_is_name_version_and_schema_and_no_address(opened):
    def identities(way):
        agent_tools = opened[way].values()
        return [{**convert_to_openai_tool(t), **t.plugin_identity} for t in agent_tools]

    assert identities("stdio") == identities("http")
    assert opened["stdio"]["facts"].plugin_identity["distribution"] == "films==1.2.3"
    said = json.dumps(identities("stdio")) + json.dumps(identities("http"))
    assert "127.0.0.1" not in said
    assert "mcp_films" not in said


FAULTS = {
    "ends at once": (
        "python -c 'raise ValueError(\"no key\")'",
        "it has ended; its last words: ValueError: no key",
    ),
    "does not listen": (
        "python -c 'import os, time; os.close(0); time.sleep(100)'",
        "not ready within 1 seconds",
    ),
    "says nothing": ("python -c 'import time; time.sleep(100)'", "not ready within 1 seconds"),
    "nonsense": (
        "python -c 'print(\"hello \\x1b[31m\", flush=True); import time; time.sleep(100)'",
        "does not speak MCP: 'hello",
    ),
    "nonsense, then ends": ("echo hello", "does not speak MCP: 'hello'"),
    "is not there": ("no-such-command --x", "its last words: sh: "),
    "is no program": (shlex.quote(str(FILMS)), "Permission denied"),
    "is not listening": ("http://127.0.0.1:9/mcp", "ConnectError"),
    "is not read": ("python 'x", "No closing quotation"),
    "is nothing": ("", "names no MCP server"),
    "has a password": ("http://me:secret@127.0.0.1/mcp", "contains a user or a password"),
}


@pytest.mark.usefixtures("process")
@pytest.mark.parametrize(("named", "said"), FAULTS.values(), ids=FAULTS)
def test_a_server_that_cannot_be_used_is_one_line_and_exit_2(
    named, said, type_in, tmp_path, monkeypatch
):
    monkeypatch.setattr(client, "START_SECONDS", 1 if "sleep(100)'" in named[:60] else 300)
    monkeypatch.setattr(client, "AFTER_NONSENSE_SECONDS", 0.05)
    questions = write_questions(tmp_path, "x")
    out = tmp_path / "run"
    code, printed, error = type_in(
        "run", "--questions", questions, "--tool", f"mcp:{named}", "--out", out
    )
    assert (code, printed) == (2, "")
    assert error.count("\n") == 1
    assert said in error
    assert "secret" not in error
    assert "\x1b" not in error
    assert not out.exists()


@pytest.mark.usefixtures("process")
def test_a_tool_that_is_not_there_names_those_that_are(type_in):
    code, _, error = type_in("ask", "Who?", "--tool", f"{STDIO}#film_yaer")
    assert code == 2
    assert "has no tool 'film_yaer'; it has film_year, fails" in error


def server_with(folder, *lines):
    path = folder / "small.py"
    head = "from mcp.server.fastmcp import FastMCP\napp = FastMCP('small')\n"
    path.write_text(head + "\n".join(lines) + "\napp.run()\n")
    return f"mcp:python {path}"


@pytest.mark.usefixtures("process")
def test_names_that_clash_or_that_no_model_takes_are_refused(tmp_path, opened):
    spec = server_with(
        tmp_path,
        "app.add_tool(lambda: '1', name='local_retriever', description='x')",
        "app.add_tool(lambda: '1', name='film_year', description='x')",
        "app.add_tool(lambda: '1', name='films.year', description='x')",
    )
    with pytest.raises(InputError, match=r"'films.year' of the MCP server cannot be given"):
        make_tools([spec], ToolContext())
    with pytest.raises(
        InputError, match="two tools are called local_retriever: a built-in tool and mcp"
    ):
        make_tools([f"{spec}#local_retriever"], ToolContext())
    with pytest.raises(InputError, match="two tools are called film_year: mcp"):
        make_tools([f"{spec}#film_year", f"{STDIO}#film_year"], ToolContext())


@pytest.fixture
def asks(chat_server):
    """A system on the scripted server with MCP tools, and the questions of a run."""

    def system(*specs):
        return System(
            model=f"openai:scripted@{chat_server.url}",
            tools=specs,
            budget_shown="off",
            decoding=Decoding(attempts=1),
        )

    return system


@pytest.mark.usefixtures("process")
@pytest.mark.parametrize("way", ["stdio", "http"])
def test_a_run_calls_a_servers_tools_and_leaves_no_process(
    way, asks, chat_server, http_spec, tmp_path
):
    """One item ends the server in the middle; the others are unharmed."""
    spec = STDIO if way == "stdio" else f"{http_spec}#film_year"
    risky = way == "stdio"
    pids = []

    def script(body):
        said = [m for m in body["messages"] if m["role"] == "tool"]
        if not said:
            return call("surroundings") if risky else call("film_year", title="Heat")
        if risky and len(said) == 1:
            pids.append(int(json.loads(said[0]["content"])["pid"]))
            first = "q0" in body["messages"][1]["content"]
            return call("dies") if first else call("film_year", title="Heat")
        return say(json.dumps({"reasoning": "", "answers": {"default": [said[-1]["content"]]}}))

    chat_server.play(script)
    questions = tmp_path / "questions.jsonl"
    lines = [
        {"id": f"q{n}", "question": f"When is q{n}?", "answers": {"default": ["1995"]}}
        for n in range(4)
    ]
    questions.write_text("\n".join(map(json.dumps, lines)))
    made = run(str(questions), asks(spec), out=tmp_path / "run", concurrency=1)
    with contextlib.closing(made.open()) as reader:
        rows = list(reader.items())
    found = [row.outcome["prediction"]["answers"]["default"][0] for row in rows]
    answers = sorted(found)
    assert answers[:3] == ["1995"] * 3
    assert ("the MCP server is gone" in answers[3]) == risky
    system_prompt = chat_server.requests[0]["messages"][0]["content"]
    assert system_prompt.endswith("Ask film_year for years.")
    assert len(set(pids)) == (2 if risky else 0)
    assert all(gone(pid) for pid in pids)


@pytest.mark.usefixtures("process")
def test_a_study_names_servers_beside_it_and_is_resumed_from_anywhere(
    chat_server, tmp_path, type_in, monkeypatch
):
    chat_server.play(
        turns(
            call("film_year", title="Heat"),
            say('{"reasoning": "", "answers": {"default": ["1995"]}}'),
        )
    )
    write_questions(tmp_path, "1995")
    shutil.copyfile(FILMS, tmp_path / "server.py")
    (tmp_path / "study.yaml").write_text(
        f"""
name: years
questions: questions.jsonl
base: {{model: "openai:scripted@{chat_server.url}"}}
factors:
  tools: [[], ["mcp:python server.py#film_year"]]
"""
    )
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    code, _, error = type_in("ablate", tmp_path / "study.yaml", "--out", tmp_path / "out")
    assert code == 0, error
    used = [body for body in chat_server.requests if body.get("tools")]
    assert [t["function"]["name"] for t in used[0]["tools"]] == ["film_year"]
    for path in (tmp_path / "out").rglob("run.sqlite"):
        code, _, error = type_in("resume", path.parent)
        assert code == 0, error


@pytest.mark.usefixtures("process")
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL])
def test_no_process_is_left_when_a_run_is_ended(ending, chat_server, tmp_path):
    mark = tmp_path / "pid"
    server = tmp_path / "server.py"
    server.write_text(
        f"import os, pathlib\npathlib.Path({str(mark)!r}).write_text(str(os.getpid()))\n"
        f"exec(open({str(FILMS)!r}).read())\n"
    )
    chat_server.play(lambda _: hang())
    words = ["run", "--questions", write_questions(tmp_path, "x"), "--tool", f"mcp:python {server}"]
    words += ["--model", f"openai:scripted@{chat_server.url}", "--out", tmp_path / "run"]
    process = subprocess.Popen(
        [sys.executable, "-m", "branchwise", *map(str, words)],
        env=os.environ | {"OPENAI_API_KEY": "sk-test"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while not chat_server.requests:
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(ending)
    process.wait(300)
    assert gone(int(mark.read_text()))


@pytest.mark.usefixtures("process")
def test_our_own_server_gives_evidence_to_our_own_client(five):
    """`branchwise serve mcp` on the other side: its passages count as retrieved."""
    spec = f"mcp:python -m branchwise serve mcp --corpus {shlex.quote(five)} --retriever bm25"
    [tool] = open_mcp_tools([spec])[spec]
    try:
        result = ask(tool, query="Heat", k=1)
        assert len(result.artifact["passages"]) == 1
        assert result.content.startswith(f"[{result.artifact['passages'][0]['id']}]")
    finally:
        close_now([tool])


@pytest.mark.usefixtures("process")
def test_an_agents_digest_is_that_of_its_servers_tools(asks, tmp_path, chat_server):
    def digest(text):
        lines = ("@app.tool()", "def year(title: str) -> str:", f"    '''{text}'''")
        spec = server_with(tmp_path, *lines, "    return ''")
        agent = Agent(asks(spec))
        try:
            return agent.digest
        finally:
            asyncio.run(agent.aclose())

    assert digest("Year.") != digest("Year of a film.")


def test_a_spec_is_read_and_made_absolute(tmp_path):
    (tmp_path / "my server.py").touch()
    text = "mcp:python 'my server.py' --flag data#film_year"
    assert parse_mcp(text).tool == "film_year"
    assert parse_mcp(text).server.command == (sys.executable, "my server.py", "--flag", "data")
    whole = f"mcp:python '{tmp_path}/my server.py' --flag data#film_year"
    assert absolute_spec(text, tmp_path) == whole
    assert absolute_spec(whole, Path("/")) == whole
    http = "mcp:https://h/mcp?profile=k#a"
    assert absolute_spec(http, tmp_path) == http
    assert parse_mcp(http).server.place == "mcp:https://h/mcp"
    assert parse_mcp("mcp:sh -c 'a; b && $(c)'").server.command == ("sh", "-c", "a; b && $(c)")


def test_without_the_extra_the_remedy_is_the_command(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'branchwise\[mcp\]'"):
        open_mcp_tools([STDIO])
