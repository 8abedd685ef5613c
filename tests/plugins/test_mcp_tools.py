"""Tools of MCP servers beside the reference SDK's own server, over stdio and streamable HTTP."""

import asyncio
import contextlib
import gc
import importlib.util
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from langchain_core.utils.function_calling import convert_to_openai_tool

from branchwise.base.errors import InputError
from branchwise.base.plugins.specs import absolute_spec, parse_mcp
from branchwise.tools import mcp_client as client
from branchwise.tools.registry import ToolContext, close_now, make_tools, open_mcp_tools
from support import TESTS
from support.chat_server import call, hang, say
from support.plugins.node_cases import turns, write_questions
from support.ports import unused_port

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("process")]

FILMS = TESTS / "support" / "plugins" / "mcp_films.py"
STDIO = f"mcp:python {shlex.quote(str(FILMS))}"


def started(port):
    """The server over HTTP, ready."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([sys.executable, FILMS, str(port)], **quiet)
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return process
    raise AssertionError("the server does not listen")


@pytest.fixture(scope="module")
def http_spec(process: None):
    port = unused_port()
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
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return False


def pid_of(tools):
    return int(ask(tools["surroundings"]).artifact["pid"])


def eventually(is_so, seconds=300):
    deadline = time.monotonic() + seconds
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.02)
    return is_so()


def gone(pid):
    return eventually(lambda: not is_there(pid))


def test_a_servers_tools_are_tools_as_it_describes_them_wherever_it_is(opened):
    seen = []
    for tools in opened.values():
        tool = tools["film_year"]
        shown = convert_to_openai_tool(tool)["function"]
        assert shown["description"] == "Year a film was released."
        properties = shown["parameters"]["properties"].items()
        assert [(name, value["type"]) for name, value in properties] == [
            ("title", "string"), ("exact", "boolean")
        ]  # fmt: skip
        assert shown["parameters"]["required"] == ["title"]
        assert tool.section == "Ask film_year for years."
        assert tool.plugin_identity["distribution"] == "films==1.2.3"
        seen.append(json.dumps([shown, tool.plugin_identity]))
    assert seen[0] == seen[1]
    assert not re.search(r"127\.0\.0\.1|mcp_films", seen[0])


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        ("film_year", {"title": "Heat"}, "1995"),
        ("film_year", {"title": "\ud800"}, "unknown"),
        ("odd", {"config": "a", "runtime": "\ud83d\ude00", "callbacks": 3}, "a \U0001f600 3"),
        (
            "odd",
            {"config": "x" * 3_000_000, "runtime": "", "callbacks": 3},
            "x" * 200_000 + "\n[cut: 3000003 characters]",
        ),
    ],
    ids=["text", "half a character", "names that mean something to others", "megabytes"],
)
def test_a_call_brings_the_servers_text(tools, name, arguments, text):
    result = ask(tools[name], **arguments)
    assert (result.content, result.artifact, result.error) == (text, {}, None)


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


def test_no_key_reaches_a_server(fresh, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("HF_TOKEN", "hf-secret")
    assert "secret" not in json.dumps(ask(fresh()["surroundings"]).artifact)


@pytest.mark.long
def test_a_server_that_dies_fails_its_calls_and_is_opened_again(fresh, tmp_path):
    tools = fresh()
    first = pid_of(tools)
    assert ask(tools["dies"]).error == (
        "dies: the MCP server is gone: it has ended; its last words: the film burnt; ask again"
    )
    second = pid_of(tools)
    assert second != first

    marks = [tmp_path / f"{n}-begun" for n in range(4)]
    for mark in marks:
        os.mkfifo(mark)

    async def at_once():
        waiting = [tools["waits"].call({"mark": str(tmp_path / f"{n}")}, 300) for n in range(4)]
        calls = [asyncio.ensure_future(call) for call in waiting]
        # Opening a pipe for reading waits for the call that opens it for writing.
        await asyncio.gather(*(asyncio.to_thread(mark.read_bytes) for mark in marks))
        return await asyncio.gather(*calls, tools["dies"].call({}, 300))

    assert all("the MCP server is gone: it has ended" in r.error for r in asyncio.run(at_once()))
    third = pid_of(tools)
    os.kill(third, signal.SIGKILL)
    assert gone(third)
    # Whether the next call still meets the dead server is a race; the one behind it does not.
    ask(tools["film_year"], title="Heat")
    assert ask(tools["film_year"], title="Heat").content == "1995"


@pytest.mark.long
def test_a_server_that_is_stuck_is_replaced(fresh, monkeypatch):
    monkeypatch.setattr(client, "PING_SECONDS", 0.3)
    tools = fresh()
    first = pid_of(tools)
    assert "no result within 0.3 seconds" in ask(tools["blocks"], seconds=0.3).error
    assert ask(tools["film_year"], title="Heat").content == "1995"
    assert gone(first)


@pytest.mark.long
@pytest.mark.parametrize("word", ["", "--stubborn"], ids=["ends", "does not end"])
def test_closing_ends_a_server_and_what_it_started(word, fresh, tmp_path):
    mark = tmp_path / "pid"
    script = f"sleep 1000 & echo $! > {mark}; exec {sys.executable} {FILMS} {word}"
    tools = fresh(f"mcp:sh -c {shlex.quote(script)}")
    server, child = pid_of(tools), int(mark.read_text())
    assert is_there(child)
    close_now(tools.values())
    assert gone(child)
    assert gone(server)


def test_closed_tools_open_their_server_again_and_take_it_with_them_when_nobody_has_them():
    tools = {tool.name: tool for tool in open_mcp_tools([STDIO])[STDIO]}
    first = pid_of(tools)
    close_now(tools.values())
    assert gone(first)
    second = pid_of(tools)
    del tools
    gc.collect()
    assert gone(second)


@pytest.mark.long
@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("python -c 'raise ValueError(7)'", "it has ended; its last words: ValueError: 7"),
        ("python -c 'import time; time.sleep(100)'", "not ready within 1 seconds"),
        ("sh -c 'echo \x1b[31m; sleep 100'", "does not speak MCP: '"),
        ("http://127.0.0.1:9/mcp", "ConnectError"),
        ("python 'x", "No closing quotation"),
        ("", "names no MCP server"),
    ],
)
def test_a_server_that_cannot_be_used_is_one_line_and_exit_2(
    named, said, type_in, tmp_path, monkeypatch
):
    monkeypatch.setattr(client, "START_SECONDS", 1 if "'import time" in named else 300)
    monkeypatch.setattr(client, "AFTER_NONSENSE_SECONDS", 0.05)
    out = tmp_path / "run"
    words = ("--questions", write_questions(tmp_path, "x"), "--tool", f"mcp:{named}", "--out", out)
    code, printed, error = type_in("run", *words)
    assert (code, printed, error.count("\n"), said in error) == (2, "", 1, True)
    assert "\x1b" not in error
    assert not out.exists()


REPEATS = """
import json, sys
results = json.loads(sys.argv[1])
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        result = results.get(asked["method"], {})
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""


def says(tools, result=None):
    """The spec of a server that lists `tools`, and ends each call with `result`."""
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "small", "version": "1"},
    }
    results = {"initialize": hello, "tools/list": {"tools": tools}, "tools/call": result}
    return f"mcp:{shlex.join(['python', '-c', REPEATS, json.dumps(results)])}"


def described(name="year", schema=None, description="x"):
    return {"name": name, "description": description, "inputSchema": schema or {"type": "object"}}


@pytest.mark.parametrize(
    ("specs", "said"),
    [
        ([says([])], "has no tools"),
        ([says([described(f"t{n}") for n in range(129)])], "has more than 128 tools"),
        ([says([described(), described()])], "has the tool 'year' twice"),
        ([says([described("films.year")])], "letters, digits, _ and -"),
        ([says([described(schema={"type": "array"})])], "its schema is not that of an object"),
        ([says([described(schema={"maxProperties": 2**70})])], "that are not portable JSON"),
        ([says([described(description="x" * 70_000)])], "larger than 65536 bytes"),
        ([says([described(schema="object")])], "its answer is not MCP's"),
        ([says({"year": described()})], "its answer is not MCP's"),
        ([says([described("local_retriever")])], "called local_retriever: a built-in tool"),
        ([f"{says([described()])}#yaer"], "has no tool 'yaer'; it has year"),
        ([says([described()]), says([described()], {})], "two tools are called year: mcp"),
    ],
)
def test_a_server_whose_tools_cannot_be_used_is_refused_in_a_line(specs, said):
    with pytest.raises(InputError) as refused:
        make_tools(specs, ToolContext())
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def parts(*blocks, **more):
    return {"content": blocks, **more}


POSTER = parts(
    {"type": "image", "data": "a" * 400, "mimeType": "image/png"},
    {"type": "resource", "resource": {"uri": "file:///a", "mimeType": "text/plain", "text": "in"}},
    {"type": "resource_link", "uri": "file:///b", "name": "b"},
)
SHOWN = """[left out: image, image/png, 300 bytes]
[resource file:///a, text/plain]
in
[resource file:///b, b]"""
FACTS, MISSHAPEN = {"years": [1986, 1995]}, {"passages": ["p1", {"id": 3}]}
FOUND = {"passages": [{"id": "p1", "title": "Heat", "text": "By Mann.", "score": 1.0}]}
FAILED = parts({"type": "text", "text": "no\nfilm"}, isError=True)
NOT_MCP = "its answer is not MCP's"


@pytest.mark.parametrize(
    ("result", "content", "artifact", "error"),
    [
        (POSTER, SHOWN, {}, None),
        (parts(structuredContent=FACTS), "(nothing)", FACTS, None),
        (parts(structuredContent=FOUND), "(nothing)", FOUND, None),
        (parts(structuredContent=MISSHAPEN), "(nothing)", {"structured": MISSHAPEN}, None),
        (FAILED, "Error: no\nfilm", {}, "year: no film"),
        ({"content": "1995"}, f"Error: year: {NOT_MCP}", {}, NOT_MCP),
        (parts({"type": "film"}), f"Error: year: {NOT_MCP}", {}, NOT_MCP),
    ],
)
def test_a_result_is_what_the_server_sends(fresh, result, content, artifact, error):
    found = ask(fresh(says([described()], result))["year"])
    assert found.content.startswith(content)
    assert found.artifact == artifact
    assert error in found.error if error else found.error is None


@pytest.mark.long
@pytest.mark.parametrize("ending", [None, signal.SIGINT, signal.SIGKILL])
def test_a_run_uses_a_server_and_leaves_no_process_however_it_ends(ending, chat_server, tmp_path):
    mark = tmp_path / "pid"
    server = shlex.quote(f"echo $$ > {mark}; exec {sys.executable} {FILMS}")
    answer = say('{"reasoning": "", "answers": {"default": ["1995"]}}')
    calls = call("dies"), call("film_year", title="Heat")  # the second starts another process
    chat_server.play(turns(*calls, hang() if ending else answer))
    words = ["run", "--questions", write_questions(tmp_path, "1995"), "--out", tmp_path / "run"]
    words += ["--tool", f"mcp:sh -c {server}", "--model", f"openai:scripted@{chat_server.url}"]
    process = subprocess.Popen(
        [sys.executable, "-m", "branchwise", *map(str, words)],
        env=os.environ | {"OPENAI_API_KEY": "sk-test"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while len(chat_server.requests) < 3:
        assert process.poll() is None
        time.sleep(0.02)
    if ending:
        process.send_signal(ending)
    assert (process.wait(300) == 0) == (ending is None)
    system, *_, gone_call, _, answered = chat_server.requests[2]["messages"]
    assert "Ask film_year for years." in system["content"]
    assert "the MCP server is gone" in gone_call["content"]
    assert answered["content"].startswith("1995")
    assert gone(int(mark.read_text()))


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
