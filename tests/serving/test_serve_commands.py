"""`branchwise serve`: what is refused at the start, and how it ends."""

import asyncio
import importlib.util
import json
import signal
import socket
import subprocess

import aiohttp
import pytest

from branchwise.corpora.errors import InputError
from branchwise.tools.serving.web import LOOPBACK, listen, parse_address
from support.retrieval_server import RetrievalServer, hangs
from support.serving.serving_peers import command


@pytest.fixture
def stuck():
    """A retrieval server elsewhere that answers the probe and nothing else, ever."""
    with RetrievalServer() as running:
        running.play(None, *[hangs()] * 10)
        yield running


async def asked(stuck, count):
    """Until so many requests have reached the retriever, the probe among them."""
    while len(stuck.requests) < count:  # noqa: ASYNC110 - it is another thread's list
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_ends_it_with_requests_in_flight(serve, stuck, number):
    server = serve("retrieve", "--retriever", f"http:{stuck.url}", "--port", 0)

    async def client(session, query):
        async with session.post(server.url, json={"queries": [query]}) as response:
            return response.status, await response.json()

    async with aiohttp.ClientSession() as session:
        clients = [asyncio.create_task(client(session, query)) for query in ("a", "b")]
        await asked(stuck, 2)
        server.process.send_signal(number)
        assert await asyncio.to_thread(server.process.wait, 300) == 0
        answers = await asyncio.gather(*clients)
    assert answers == [(503, {"error": "the server is stopping"})] * 2
    assert server.process.stderr.read() == ""


def test_a_signal_ends_an_idle_server(serve, corpus_dir):
    server = serve("retrieve", "--corpus", corpus_dir, "--retriever", "bm25", "--port", 0)
    assert f"(bm25 of {corpus_dir})" in server.line
    with socket.create_connection(("127.0.0.1", int(server.base.rpartition(":")[2]))):
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(300) == 0
    assert server.process.communicate() == ("", "")


async def test_other_hosts_are_warned_of_and_answered_under_any_name(serve, corpus_dir):
    server = serve(
        "retrieve", "--corpus", corpus_dir, "--retriever", "bm25", "--port", 0, "--host", "0.0.0.0"
    )
    port = server.base.rpartition(":")[2]
    async with (
        aiohttp.ClientSession(headers={"Host": "gpu7.example"}) as session,
        session.get(f"http://127.0.0.1:{port}/health") as response,
    ):
        assert (await response.json())["retriever"] == "bm25"
    server.process.terminate()
    warning = server.process.communicate()[1]
    assert warning.count("\n") == 1
    assert "no authentication" in warning


def test_a_port_that_is_taken_is_one_line(type_in, corpus_dir):
    with socket.create_server((LOOPBACK, 0)) as taken:
        port = taken.getsockname()[1]
        for arguments in (
            ("retrieve", "--corpus", corpus_dir, "--port", port),
            ("mcp", "--corpus", corpus_dir, "--http", port),
        ):
            code, out, err = type_in("serve", *arguments)
            assert (code, out, err.count("\n")) == (2, "", 1)
            assert f"the port is in use (127.0.0.1, port {port})" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("retrieve",), "--corpus DIR"),
        (("retrieve", "--corpus", "nowhere"), "nowhere"),
        (("retrieve", "--host", "no such host"), "there is no host"),
        (("retrieve", "--host", "192.0.2.1"), "this machine does not have that address"),
        (("retrieve", "--port", "70000"), "70000"),
        (("mcp", "--http", "0"), "--corpus DIR or --kg SRC"),
        (("mcp", "--http", "0", "--k", "5"), "--corpus DIR"),
        (("mcp", "--http", "0", "--tool", "wikisparql"), "--kg"),
        (("mcp", "--http", "0", "--tool", "wikisparkle"), "wikisparql"),
        (("mcp", "--http", "::1"), "HOST:PORT"),
    ],
)
def test_bad_options_are_one_line(type_in, arguments, said):
    port = ("--port", "0") if arguments[0] == "retrieve" and "--port" not in arguments else ()
    code, out, err = type_in("serve", *arguments, *port)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err


@pytest.mark.parametrize(
    ("command", "missing", "pip"),
    [
        ("retrieve", "uvicorn", "pip install 'branchwise[serve]'"),
        ("mcp", "mcp", "pip install 'branchwise[mcp]'"),
    ],
)
def test_a_missing_extra_names_the_command_that_installs_it(
    type_in, monkeypatch, command, missing, pip
):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == missing else find(name)
    )
    code, _, err = type_in("serve", command)
    assert (code, err.count("\n")) == (2, 1)
    assert f"needs {missing}, which is not installed; {pip}" in err


def test_a_response_in_two_writes_is_not_held_back():
    listener = listen(LOOPBACK, 0, "--port")
    listener.socket.setblocking(True)
    with listener.socket, socket.create_connection(listener.socket.getsockname()):
        taken, _ = listener.socket.accept()
        with taken:
            assert taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0


@pytest.mark.slow
def test_standard_input_that_is_bad_is_told_on_standard_error_alone():
    ended = subprocess.run(command("mcp"), capture_output=True, text=True)
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (2, "", 1)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("8001", (LOOPBACK, 8001)),
        (":8001", (LOOPBACK, 8001)),
        ("0.0.0.0:0", ("0.0.0.0", 0)),
        ("localhost:65535", ("localhost", 65535)),
        ("[::1]:80", ("::1", 80)),
    ],
)
def test_addresses_are_read(text, address):
    assert parse_address(text, "--http") == address


@pytest.mark.parametrize("text", ["", "x", "65536", "-1", "1.5", "::1", "a:b", "host:", "٣"])
def test_what_is_no_address_is_refused(text):
    with pytest.raises(InputError, match=r"--http: .* is not an address to listen on"):
        parse_address(text, "--http")


def test_a_free_port_is_found_and_told():
    listener = listen("localhost", 0, "--port")
    assert listener.url == f"http://localhost:{listener.socket.getsockname()[1]}"
    assert listener.is_local
    listener.socket.close()


def test_health_is_plain_json(flat_server):
    import urllib.request

    with urllib.request.urlopen(f"{flat_server.base}/health") as response:
        assert json.load(response)["identity"]["passages"] == 40
