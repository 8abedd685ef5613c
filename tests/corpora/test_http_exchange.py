"""What a deadline, a proxy and a loop of the caller's own mean to one exchange."""

import asyncio
import socket
import threading
import time
from urllib.request import Request

import pytest

from branchwise.corpora.http_exchange import ExchangeError, exchange
from support.retrieval_server import RetrievalServer

LONG = f"http://{'x' * 70}.invalid/"
ASKED = b'{"queries": ["q"], "topk": 1, "return_scores": true}'


@pytest.fixture
def server():
    with RetrievalServer() as running:
        yield running


def status(url, seconds=20.0):
    request = Request(url, ASKED, {"Content-Type": "application/json"}, method="POST")
    return exchange(request, time.monotonic() + seconds, 10_000).status


def fault(url, seconds=20.0):
    with pytest.raises(ExchangeError) as raised:
        status(url, seconds)
    return raised.value.fault, raised.value.reason


def test_a_look_up_of_a_name_that_hangs_is_left_behind(server, monkeypatch):
    """The system gives no time-out for it; its thread outlives the exchange."""
    assert status(server.url) == 200  # the client's library is loaded
    release, asked = threading.Event(), []

    def hangs(host, *_, **__):
        asked.append(host)
        release.wait(20)
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", hangs)
    try:
        assert fault("http://slow.example/retrieve", seconds=0.1) == ("late", "")
        assert asked == [b"slow.example"]
    finally:
        release.set()


def test_the_systems_own_word_is_the_reason(monkeypatch):
    def unknown(*_, **__):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    assert fault("http://host.example/") == ("unreachable", "Name or service not known")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    assert fault(f"http://127.0.0.1:{port}/") == ("unreachable", "Connection refused")


def test_of_several_addresses_the_last_ones_failure_is_told(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    two = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (f"127.0.0.{n}", port)) for n in (1, 2)]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: two)
    assert fault(f"http://host.example:{port}/") == ("unreachable", "Connection refused")


def test_time_that_is_up_asks_nothing(server):
    assert fault(server.url, seconds=-1.0)[0] == "late"
    assert server.requests == []


async def test_a_thread_with_a_loop_of_its_own_may_ask(server):
    asyncio.get_running_loop()
    assert status(server.url) == 200


def test_the_environments_proxy_is_used_as_before(server, monkeypatch):
    """A name that does not exist is reached through the proxy for its scheme and no other."""
    proxy = server.url.removesuffix("/retrieve")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv("http_proxy", proxy)
    monkeypatch.setenv("all_proxy", "socks5://127.0.0.1:9")
    assert status("http://host.invalid/retrieve") == 200
    monkeypatch.setenv("http_proxy", proxy.removeprefix("http://"))
    assert status("http://host.invalid/retrieve") == 200
    monkeypatch.setenv("no_proxy", "host.invalid")
    assert fault("http://host.invalid/retrieve")[0] == "unreachable"
    assert len(server.requests) == 2


@pytest.mark.parametrize("url", [LONG, "http://a b/"])
def test_what_is_no_address_cannot_be_reached(url):
    assert fault(url)[0] == "unreachable"
