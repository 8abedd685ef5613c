"""`serve mcp` beside the SDK's own client, over standard input and output and over HTTP."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import asynccontextmanager
from datetime import datetime

import aiohttp
import pytest
from langchain_core.tools import StructuredTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from branchwise.corpora.open import open_retriever
from branchwise.kg.open import open_kg
from branchwise.tools.mcp_server import MAX_STRUCTURED_BYTES, call
from branchwise.tools.registry import ToolContext, make_tools
from branchwise.tools.tool_results import ToolError
from support.serving.serving_peers import command

pytestmark = pytest.mark.slow
NAMES = ["local_retriever", "wikidata_search", "wikisparql"]
ACCEPTS = {"Accept": "application/json, text/event-stream"}
ABOUT = {"name": "test", "version": "0"}
ABOUT = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": ABOUT}
HELLO = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": ABOUT}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def tool_call(id, name, **arguments):
    params = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}


@pytest.mark.parametrize(
    ("answer", "artifact", "sent"),
    [
        ("text", {"on": datetime(2026, 1, 2)}, (False, "text", {"on": "2026-01-02T00:00:00"})),
        ("text", {"x": object()}, (False, "text", None)),
        ("text", {"x": "y" * MAX_STRUCTURED_BYTES}, (False, "text", None)),
        ("x" * 200_001, None, (False, "x" * 200_000 + "\n[cut: 200001 characters]", None)),
        ("a \ud800 b", None, (False, "a ? b", None)),
        (ToolError("line 1\n  ^ \ud800"), None, (True, "line 1\n  ^ ?", None)),
        (RuntimeError("two\nlines"), None, (True, "RuntimeError: two lines", None)),
        (ValueError("x" * 1000), None, (True, ("ValueError: " + "x" * 1000)[:500], None)),
        (asyncio.Event(), None, (True, "no result within 0 seconds", None)),
    ],
)
async def test_what_a_tool_returns_or_raises_becomes_a_result_that_can_be_sent(
    answer, artifact, sent
):
    async def probe():
        """Probes."""
        if isinstance(answer, asyncio.Event):
            await answer.wait()
        if isinstance(answer, BaseException):
            raise answer
        return answer, artifact

    tool = StructuredTool.from_function(coroutine=probe, response_format="content_and_artifact")
    seconds = 0.01 if isinstance(answer, asyncio.Event) else 300
    result = await call({"probe": tool}, "probe", {}, seconds)
    result.model_dump_json()  # as it is sent
    [part] = result.content
    assert (result.isError, part.text, result.structuredContent) == sent


@pytest.fixture
def options(corpus_dir, kg_dir):
    return ("--corpus", corpus_dir, "--retriever", "bm25", "--kg", kg_dir)


@asynccontextmanager
async def over_stdio(*options):
    program, *arguments = command("mcp", *options)
    environment = os.environ | {"HF_HUB_OFFLINE": "1"}
    parameters = StdioServerParameters(command=program, args=arguments, env=environment)
    async with stdio_client(parameters) as streams, ClientSession(*streams) as session:
        await session.initialize()
        yield session


@asynccontextmanager
async def over_http(url):
    async with (
        streamable_http_client(url) as (reading, writing, _),
        ClientSession(reading, writing) as session,
    ):
        await session.initialize()
        yield session


@pytest.mark.long
@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_a_client_sees_and_calls_what_our_agents_do(
    transport, serve, options, corpus_dir, kg_dir
):
    kg = open_kg(str(kg_dir))
    ours = make_tools(NAMES, ToolContext(open_retriever(corpus_dir, "bm25"), None, kg, corpus_dir))
    calls = {
        "local_retriever": {"query": "the volcano Etna", "k": 2},
        "wikidata_search": {"text": "Aurora"},
        "wikisparql": {"query": "SELECT ?who WHERE { wd:Q1 wdt:P57 ?who }"},
    }
    wrong = [
        ("local_retriever", {}, "bad arguments: query: Field required"),
        ("wikisparql", {"query": "SELECT ?x WHERE { ?x"}, "syntax error at line 1"),
        ("wikisparql", {"query": "DROP ALL"}, "read-only"),
        ("local_retreiver", {"query": "a"}, f"the tools are: {', '.join(NAMES)}"),
    ]
    http = transport == "http"
    server = over_http(serve("mcp", *options, "--http", 0).url) if http else over_stdio(*options)
    async with server as session:
        theirs = (await session.list_tools()).tools
        for tool, seen in zip(ours, theirs, strict=True):
            shown = convert_to_openai_tool(tool)["function"]
            assert (seen.name, seen.description) == (tool.name, tool.description)
            assert seen.inputSchema == shown["parameters"]
        for name, arguments, said in wrong:
            result = await session.call_tool(name, arguments)
            assert (result.isError, said in result.content[0].text) == (True, True)
        for tool in ours:
            request = {"type": "tool_call", "id": "1", "name": tool.name, "args": calls[tool.name]}
            expected = await tool.ainvoke(request)
            result = await session.call_tool(tool.name, calls[tool.name])
            assert not result.isError
            assert [part.text for part in result.content] == [expected.content]
            assert result.structuredContent == expected.artifact
    kg.close()


async def test_what_is_offered_follows_from_the_options(serve, options):
    named = ("--tool", "local_retriever", "--tool", "wikisparql")
    server = serve("mcp", *options, "--k", 1, *named, "--http", 0)
    assert "(local_retriever, wikisparql)" in server.line
    async with over_http(server.url) as session:
        assert "wikisparql" in (await session.initialize()).instructions
        tool, _ = (await session.list_tools()).tools
        assert list(tool.inputSchema["properties"]) == ["query", "more_queries", "page"]
        found = await session.call_tool(tool.name, {"query": "volcano"})
        assert len(found.structuredContent["passages"]) == 1


@pytest.fixture
def spoken_to(process):
    """A process of `serve mcp` that is written to line by line, and has said hello."""
    started = []

    def start(*words):
        pipe = subprocess.PIPE
        process = subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe)
        started.append(process)
        say(process, HELLO, READY)
        hear(process, 0)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stderr.close()


def say(process, *messages):
    for message in messages:
        line = message if isinstance(message, bytes) else json.dumps(message).encode()
        process.stdin.write(line + b"\n")
    process.stdin.flush()


def hear(process, id):
    """The answer with this id."""
    while True:
        message = json.loads(process.stdout.readline())
        if message.get("id") == id:
            return message


def wait_for_call(stuck):
    while len(stuck.requests) < 2:
        time.sleep(0.01)


@pytest.mark.parametrize("leaving", ["closes its end", "SIGTERM", "does not read"])
def test_it_ends_with_its_client_in_the_middle_of_a_call(spoken_to, stuck, options, leaving):
    if leaving == "does not read":
        process = spoken_to(*command("mcp", *options))
        process.stdout.close()
        say(process, tool_call(1, "local_retriever", query="Etna"))
    else:
        process = spoken_to(*command("mcp", "--retriever", f"http:{stuck.url}"))
        say(process, tool_call(1, "local_retriever", query="a"))
        wait_for_call(stuck)
        if leaving == "SIGTERM":
            process.terminate()
        else:
            process.stdin.close()
    assert process.wait(300) == 0
    assert process.stderr.read() == b""


def test_nonsense_is_passed_over(spoken_to, options):
    process = spoken_to(*command("mcp", *options))
    say(process, b"nonsense", b"", b"[1, 2", b"\xff\xfe", b"{}", b"x" * 5_000_000, b'"\\ud800"')
    say(process, {"jsonrpc": "2.0", "id": 5, "method": "no/such"})
    assert "error" in hear(process, 5)
    say(process, tool_call(6, "local_retriever", query="Etna", k=1))
    assert hear(process, 6)["result"]["structuredContent"]["passages"][0]["title"] == "Etna"
    assert process.communicate(timeout=30)[1] == b""


async def test_calls_over_http_are_kept_apart_and_end_with_their_client_or_the_server(serve, stuck):
    server = serve("mcp", "--retriever", f"http:{stuck.url}", "--http", 0)

    async def client(session):
        called = tool_call(1, "local_retriever", query="a")
        async with session.post(server.url, json=called) as response:
            return response.status, await response.json()

    async with aiohttp.ClientSession(headers=ACCEPTS) as session:
        vanishes = asyncio.create_task(client(session))
        await asyncio.to_thread(wait_for_call, stuck)
        vanishes.cancel()
        stays = asyncio.create_task(client(session))
        too_large = {"data": b" " * 5_000_000, "headers": {"Content-Type": "application/json"}}
        async with session.post(server.url, **too_large) as response:
            assert response.status == 413
        async with over_http(server.url) as other:
            assert len((await other.list_tools()).tools) == 1
        server.process.send_signal(signal.SIGINT)
        assert await asyncio.to_thread(server.process.wait, 300) == 0
        assert await stays == (503, {"error": "the server is stopping"})
    assert server.process.stderr.read() == ""


PRINTS = """
import asyncio, os, subprocess, sys
from langchain_core.tools import tool
from branchwise.tools.mcp_server import mcp_server, serve_stdio, take_standard_streams

@tool
def noisy() -> str:
    "Prints in every way."
    print("printed")
    os.write(1, b"written\\n")
    subprocess.run(["echo", "from a process"])
    read = sys.stdin.read() + subprocess.run(["cat"], capture_output=True, text=True).stdout
    return f"read {read!r}"

streams = take_standard_streams()
print("at the start", flush=True)
asyncio.run(serve_stdio(mcp_server([noisy]), *streams))
"""


def test_what_tools_and_processes_print_does_not_reach_the_client(spoken_to):
    process = spoken_to(sys.executable, "-c", PRINTS)
    say(process, tool_call(1, "noisy"))
    assert hear(process, 1)["result"]["content"][0]["text"] == "read ''"
    out, err = process.communicate(timeout=60)
    assert out == b""
    for line in (b"at the start", b"printed", b"written", b"from a process"):
        assert line in err


async def test_a_plug_in_is_served_as_a_built_in_tool_is(tmp_path):
    file = tmp_path / "years.py"
    file.write_text(
        "from branchwise import ToolError, tool\n\n\n@tool\ndef year(title: str) -> str:\n"
        '    """The year of a film."""\n    if title != "Heat":\n'
        '        raise ToolError(f"no film {title}")\n    return "1995"\n'
    )
    (made,) = make_tools([f"{file}:year"], ToolContext())
    found = await call({"year": made}, "year", {"title": "Heat"})
    assert (found.isError, found.content[0].text) == (False, "1995")
    failed = await call({"year": made}, "year", {"title": "Reef"})
    assert (failed.isError, failed.content[0].text) == (True, "no film Reef")
