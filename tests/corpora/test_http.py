"""What a deadline, a proxy and a loop of the caller's own mean to one exchange."""

import asyncio
import os
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.request import Request

import pytest
from aiohttp import web

from branchwise.base.http import HTTP, ExchangeError
from support.ports import unused_port
from support.retrieval_server import RetrievalServer, drops

LONG = f"http://{'x' * 70}.invalid/"
ASKED = b'{"queries": ["q"], "topk": 1, "return_scores": true}'


@pytest.fixture
def server():
    with RetrievalServer() as running:
        yield running


def status(url, seconds=20.0):
    request = Request(url, ASKED, {"Content-Type": "application/json"}, method="POST")
    return HTTP.send(request, time.monotonic() + seconds, 10_000).status


def fault(url, seconds=20.0):
    with pytest.raises(ExchangeError) as raised:
        status(url, seconds)
    return raised.value.fault, raised.value.reason


def test_a_look_up_of_a_name_that_hangs_is_left_behind(server, monkeypatch):
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
    port = unused_port()
    assert fault(f"http://127.0.0.1:{port}/") == ("unreachable", "Connection refused")


def test_of_several_addresses_the_last_ones_failure_is_told(monkeypatch):
    port = unused_port()
    two = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (f"127.0.0.{n}", port)) for n in (1, 2)]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: two)
    assert fault(f"http://host.example:{port}/") == ("unreachable", "Connection refused")


def test_time_that_is_up_asks_nothing(server):
    assert fault(server.url, seconds=-1.0)[0] == "late"
    assert server.requests == []
    assert status(server.url) == 200
    # On the connection that is kept now, too.
    assert fault(server.url, seconds=-1.0)[0] == "late"
    assert len(server.requests) == 1


def test_a_connection_is_used_again_and_no_cookie_sent_back(server):
    seen = []

    async def tells(request, _):
        seen.append((request.transport, request.headers.get("Cookie")))
        response = web.json_response({})
        response.set_cookie("seat", "7")
        return response

    server.play(tells, tells, tells)
    assert [status(server.url) for _ in range(3)] == [200] * 3
    assert len({connection for connection, _ in seen}) == 1
    assert {cookie for _, cookie in seen} == {None}


def test_a_request_on_a_kept_connection_that_is_closed_goes_out_on_another(server):
    assert status(server.url) == 200
    server.play(drops(), None)
    assert status(server.url) == 200
    server.play(drops(), drops(), None)
    assert fault(server.url)[0] == "closed"


def test_threads_ask_side_by_side(server):
    everyone = threading.Barrier(4)

    async def waits(*_):
        await asyncio.to_thread(everyone.wait, 20)
        return web.json_response({})

    server.play(*[waits] * 4)
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(status, [server.url] * 4)) == [200] * 4


@pytest.mark.usefixtures("process")
def test_a_process_that_was_forked_asks_by_itself(server):
    assert status(server.url) == 200
    child = os.fork()
    if not child:
        try:
            os._exit(0 if status(server.url) == 200 else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert status(server.url) == 200


async def test_a_thread_with_a_loop_of_its_own_may_ask(server):
    asyncio.get_running_loop()
    assert status(server.url) == 200


def test_the_environments_proxy_is_used_as_before(server, monkeypatch):
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
