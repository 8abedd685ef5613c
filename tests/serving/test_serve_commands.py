"""`branchwise serve`: what is refused at the start, and how it ends."""

import asyncio
import importlib.util
import signal
import socket
import subprocess

import aiohttp
import pytest

from branchwise.base.errors import InputError
from branchwise.tools.web_server import LOOPBACK, listen, parse_address
from support.serving.serving_peers import command


async def test_a_signal_ends_it_with_requests_in_flight(serve, stuck):
    server = serve("retrieve", "--retriever", f"http:{stuck.url}", "--port", 0)

    async def client(session, query):
        async with session.post(server.url, json={"queries": [query]}) as response:
            return response.status, await response.json()

    async with aiohttp.ClientSession() as session:
        clients = [asyncio.create_task(client(session, query)) for query in ("a", "b")]
        assert await asyncio.to_thread(stuck.wait_for, 2)
        server.process.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(server.process.wait, 300) == 0
        answers = await asyncio.gather(*clients)
    assert answers == [(503, {"error": "the server is stopping"})] * 2
    assert server.process.stderr.read() == ""


async def test_other_hosts_are_warned_of_and_answered_under_any_name(serve, corpus_dir):
    where = ("--port", 0, "--host", "0.0.0.0")
    server = serve("retrieve", "--corpus", corpus_dir, "--retriever", "bm25", *where)
    assert f"(bm25 of {corpus_dir})" in server.line
    port = server.base.rpartition(":")[2]
    async with (
        aiohttp.ClientSession(headers={"Host": "gpu7.example"}) as session,
        session.get(f"http://127.0.0.1:{port}/health") as response,
    ):
        assert (await response.json())["retriever"] == "bm25"
    server.process.terminate()
    warning = server.process.communicate()[1]
    assert (warning.count("\n"), "no authentication" in warning) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("retrieve", "--port", "0"), "--corpus DIR"),
        (("retrieve", "--port", "0", "--corpus", "nowhere"), "nowhere"),
        (("retrieve", "--port", "TAKEN"), "Address already in use (127.0.0.1, port "),
        (("retrieve", "--port", "0", "--host", "no such host"), "(no such host, port 0)"),
        (("retrieve", "--port", "0", "--host", "192.0.2.1"), "Cannot assign requested address"),
        (("mcp", "--http", "0"), "--corpus DIR or --kg SRC"),
        (("mcp", "--http", "0", "--tool", "wikisparql"), "--kg"),
        (("mcp", "--http", "TAKEN"), "Address already in use (127.0.0.1, port "),
    ],
)
def test_bad_options_are_one_line(type_in, arguments, said):
    with socket.create_server((LOOPBACK, 0)) as taken:
        port = str(taken.getsockname()[1])
        code, out, err = type_in("serve", *(word.replace("TAKEN", port) for word in arguments))
    assert (code, out, err.count("\n"), said in err) == (2, "", 1, True)


@pytest.mark.parametrize(
    ("command", "missing", "extra"), [("retrieve", "uvicorn", "serve"), ("mcp", "mcp", "mcp")]
)
def test_a_missing_extra_names_the_command_that_installs_it(
    type_in, monkeypatch, command, missing, extra
):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == missing else find(name)
    )
    code, _, err = type_in("serve", command)
    assert (code, err.count("\n")) == (2, 1)
    assert f"needs {missing}, which is not installed; pip install 'branchwise[{extra}]'" in err


@pytest.mark.slow
def test_standard_input_that_is_bad_is_told_on_standard_error_alone():
    ended = subprocess.run(command("mcp"), capture_output=True, text=True)
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (2, "", 1)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("8001", (LOOPBACK, 8001)),
        (":8001", (LOOPBACK, 8001)),
        ("localhost:65535", ("localhost", 65535)),
        ("[::1]:80", ("::1", 80)),
        *((text, None) for text in ("", "65536", "-1", "::1", "a:b", "host:", "٣")),
    ],
)
def test_addresses_are_read_or_refused(text, address):
    if address:
        assert parse_address(text, "--http") == address
    else:
        with pytest.raises(InputError, match=r"--http: .* is not an address to listen on"):
            parse_address(text, "--http")


def test_a_free_port_is_found_and_no_response_in_two_writes_is_held_back():
    listener = listen("localhost", 0, "--port")
    listener.socket.setblocking(True)
    address = listener.socket.getsockname()
    assert (listener.url, listener.is_local) == (f"http://localhost:{address[1]}", True)
    with listener.socket, socket.create_connection(address):
        taken, _ = listener.socket.accept()
        with taken:
            assert taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0


def test_a_host_with_ipv6_addresses_alone_is_listened_on(monkeypatch):
    only = (socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("::1", 0, 0, 0))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [only])
    listener = listen("six.example", 0, "--host")
    with listener.socket:
        assert listener.is_local
        assert listener.url == f"http://six.example:{listener.socket.getsockname()[1]}"
