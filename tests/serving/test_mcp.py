"""`serve mcp` beside the SDK's own client, over standard input and output and over HTTP."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import asynccontextmanager

import aiohttp
import pytest
from langchain_core.utils.function_calling import convert_to_openai_tool
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from branchwise.corpora.graph.open import open_graph
from branchwise.corpora.open import open_retriever
from branchwise.tools.registry import ToolContext, make_tools
from support.retrieval_server import RetrievalServer, hangs
from support.serving.serving_peers import command

pytestmark = pytest.mark.slow

NAMES = ["local_retriever", "wikidata_search", "wikisparql"]
HELLO = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "0"},
    },
}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def tool_call(id, name, **arguments):
    return {
        "jsonrpc": "2.0",
        "id": id,
        "method": "tools/call",
        "params": {"name": name, "arguments": arguments},
    }


@pytest.fixture
def options(corpus_dir, graph_dir):
    return ("--corpus", corpus_dir, "--retriever", "bm25", "--kg", graph_dir)


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


@asynccontextmanager
async def connected(transport, serve, *options):
    if transport == "stdio":
        async with over_stdio(*options) as session:
            yield session
    else:
        async with over_http(serve("mcp", *options, "--http", 0).url) as session:
            yield session


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_a_client_sees_and_calls_what_our_agents_do(
    transport, serve, options, corpus_dir, graph_dir
):
    graph = open_graph(str(graph_dir))
    ours = make_tools(
        NAMES, ToolContext(open_retriever(corpus_dir, "bm25"), None, graph, corpus_dir)
    )
    calls = {
        "local_retriever": {"query": "the volcano Etna", "k": 2},
        "wikidata_search": {"text": "Aurora"},
        "wikisparql": {"query": "SELECT ?who WHERE { wd:Q1 wdt:P57 ?who }"},
    }
    async with connected(transport, serve, *options) as session:
        theirs = (await session.list_tools()).tools
        for tool, seen in zip(ours, theirs, strict=True):
            shown = convert_to_openai_tool(tool)["function"]
            assert (seen.name, seen.description) == (tool.name, tool.description)
            assert seen.inputSchema == shown["parameters"]
        for tool in ours:
            call = {"type": "tool_call", "id": "1", "name": tool.name, "args": calls[tool.name]}
            expected = await tool.ainvoke(call)
            result = await session.call_tool(tool.name, calls[tool.name])
            assert not result.isError
            assert [part.text for part in result.content] == [expected.content]
            assert result.structuredContent == expected.artifact
    graph.close()


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_what_is_wrong_with_a_call_is_a_result_that_a_model_can_read(
    transport, serve, options
):
    wrong = [
        ("local_retriever", {}, "bad arguments: query: Field required"),
        ("local_retriever", {"query": "a", "k": 51}, "bad arguments: k: "),
        ("local_retriever", {"query": ["a"]}, "bad arguments: query: "),
        ("wikidata_search", {"text": "a", "kind": "film"}, "bad arguments: kind: "),
        ("wikisparql", {"query": "SELECT ?x WHERE { ?x"}, "syntax error at line 1"),
        ("wikisparql", {"query": "DROP ALL"}, "read-only"),
        ("local_retreiver", {"query": "a"}, f"the tools are: {', '.join(NAMES)}"),
    ]
    async with connected(transport, serve, *options) as session:
        for name, arguments, said in wrong:
            result = await session.call_tool(name, arguments)
            assert result.isError, name
            assert said in result.content[0].text
        assert not (await session.call_tool("local_retriever", {"query": "Etna"})).isError


async def test_what_is_offered_follows_from_the_options(serve, corpus_dir, graph_dir):
    only_corpus = ("--corpus", corpus_dir, "--retriever", "bm25", "--k", 1)
    async with over_stdio(*only_corpus) as session:
        [tool] = (await session.list_tools()).tools
        assert list(tool.inputSchema["properties"]) == ["query", "more_queries", "page"]
        found = await session.call_tool(tool.name, {"query": "volcano"})
        assert len(found.structuredContent["passages"]) == 1
    chosen = serve("mcp", "--kg", graph_dir, "--tool", "wikisparql", "--http", 0)
    assert "(wikisparql)" in chosen.line
    async with over_http(chosen.url) as session:
        assert [tool.name for tool in (await session.list_tools()).tools] == ["wikisparql"]


async def test_clients_at_once_get_their_own_results(serve, options):
    url = serve("mcp", *options, "--http", 0).url

    async def client(place):
        async with over_http(url) as session:
            several, one = await asyncio.gather(
                session.call_tool("local_retriever", {"query": place, "k": 5}),
                session.call_tool("local_retriever", {"query": f"{place} river", "k": 1}),
            )
            titles = {passage["title"] for passage in several.structuredContent["passages"]}
            return titles, one.structuredContent["passages"][0]["id"]

    places = ["Etna", "Rhine", "Mars", "Gouda"]
    found = await asyncio.gather(*map(client, places))
    assert found == [({place}, f"{place}-river") for place in places]


# --- clients that leave, break off, or talk nonsense ----------------------------------------


@pytest.fixture
def stuck():
    """A retrieval server elsewhere that answers the probe and nothing else, ever."""
    with RetrievalServer() as running:
        running.play(None, *[hangs()] * 10)
        yield running


@pytest.fixture
def spoken_to():
    """A process of `serve mcp` that is written to line by line."""
    started = []

    def start(*options):
        process = subprocess.Popen(
            command("mcp", *options),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        started.append(process)
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


@pytest.mark.parametrize("leaving", ["closes its end", "SIGTERM", "SIGINT"])
def test_it_ends_with_its_client_in_the_middle_of_a_call(spoken_to, stuck, leaving):
    process = spoken_to("--retriever", f"http:{stuck.url}")
    say(process, HELLO, READY, tool_call(1, "local_retriever", query="a"))
    hear(process, 0)
    wait_for_call(stuck)
    if leaving == "closes its end":
        process.stdin.close()
    else:
        process.send_signal(getattr(signal, leaving))
    assert process.wait(300) == 0
    assert process.stderr.read() == b""


def test_it_ends_where_nobody_reads_its_answers(spoken_to, options):
    process = spoken_to(*options)
    say(process, HELLO, READY)
    hear(process, 0)
    process.stdout.close()
    say(process, tool_call(1, "local_retriever", query="Etna"))
    assert process.wait(300) == 0
    assert process.stderr.read() == b""


def test_nonsense_is_passed_over(spoken_to, options):
    process = spoken_to(*options)
    say(process, HELLO, READY)
    hear(process, 0)
    say(process, b"nonsense", b"", b"[1, 2", b"\xff\xfe", b"{}", b"x" * 5_000_000, b'"\\ud800"')
    say(process, {"jsonrpc": "2.0", "id": 5, "method": "no/such"})
    assert "error" in hear(process, 5)
    say(process, tool_call(6, "local_retriever", query="Etna", k=1))
    assert hear(process, 6)["result"]["structuredContent"]["passages"][0]["title"] == "Etna"
    assert process.communicate(timeout=30)[1] == b""


async def test_a_client_that_vanishes_leaves_the_others_in_peace(serve, stuck):
    server = serve("mcp", "--retriever", f"http:{stuck.url}", "--http", 0)
    accepts = {"Accept": "application/json, text/event-stream"}
    async with aiohttp.ClientSession(headers=accepts) as session:
        call = tool_call(1, "local_retriever", query="a")
        vanishes = asyncio.create_task(session.post(server.url, json=call).__aenter__())
        await asyncio.to_thread(wait_for_call, stuck)
        vanishes.cancel()
    async with over_http(server.url) as session:
        assert len((await session.list_tools()).tools) == 1
    server.process.send_signal(signal.SIGTERM)
    assert await asyncio.to_thread(server.process.wait, 300) == 0
    assert server.process.stderr.read() == ""


async def test_a_signal_ends_it_with_calls_over_http_in_flight(serve, stuck):
    server = serve("mcp", "--retriever", f"http:{stuck.url}", "--http", 0)

    async def client(session):
        call = tool_call(1, "local_retriever", query="a")
        async with session.post(server.url, json=call) as response:
            return response.status, await response.json()

    accepts = {"Accept": "application/json, text/event-stream"}
    async with aiohttp.ClientSession(headers=accepts) as session:
        asked = asyncio.create_task(client(session))
        await asyncio.to_thread(wait_for_call, stuck)
        server.process.send_signal(signal.SIGINT)
        assert await asyncio.to_thread(server.process.wait, 300) == 0
        assert await asked == (503, {"error": "the server is stopping"})
    assert server.process.stderr.read() == ""


async def test_http_requests_that_are_no_mcp_are_refused(serve, options):
    server = serve("mcp", *options, "--http", 0)
    accepts = {"Accept": "application/json, text/event-stream"}
    async with aiohttp.ClientSession(headers=accepts) as session:

        async def status(method="POST", url=server.url, **request):
            async with session.request(method, url, **request) as response:
                assert response.content_type == "application/json" or response.status == 413
                return response.status

        json_type = {"Content-Type": "application/json"}
        assert await status(data="{", headers=json_type) == 400
        assert await status(json={"a": 1}) == 400
        assert await status("GET") == 405
        assert await status("DELETE") == 405
        assert await status("GET", server.base + "/sse") == 404
        assert await status(json=HELLO, headers={"Host": "attacker.example"}) == 403
        assert await status(json=HELLO, headers={"Origin": "https://attacker.example"}) == 403
        assert await status(data=b" " * 5_000_000, headers=json_type) == 413
        assert await status("GET", server.base + "/health") == 200
        assert await status(json=HELLO) == 200


PRINTS = """
import asyncio, os, subprocess, sys
from langchain_core.tools import tool
from branchwise.tools.serving.mcp_server import mcp_server, serve_stdio, take_standard_streams

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
asyncio.run(serve_stdio(mcp_server([noisy]), streams))
"""


def test_what_tools_and_processes_print_does_not_reach_the_client():
    process = subprocess.Popen(
        [sys.executable, "-c", PRINTS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    say(process, HELLO, READY, tool_call(1, "noisy"))
    assert [json.loads(process.stdout.readline())["id"] for _ in range(2)] == [0, 1]
    out, err = process.communicate(timeout=60)
    assert out == b""
    for line in (b"at the start", b"printed", b"written", b"from a process"):
        assert line in err
