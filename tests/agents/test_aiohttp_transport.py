"""httpx's client over aiohttp: errors, cancelling, connections, event loops, proxies, names."""

import asyncio
import gc
import logging
import ssl
import sys
import threading

import httpx2
import pytest
import trustme
from aiohttp import web
from langchain_core.messages import HumanMessage

from branchwise.agents.caller import ModelCaller
from branchwise.agents.chat_completions import AiohttpTransport, make_client
from branchwise.agents.decoding import Decoding
from branchwise.agents.journal import MemoryJournal
from branchwise.agents.prompt_files import Prompts
from branchwise.agents.spec import ModelSpec
from support.chat_server import Answer, Body, cut, hang, say
from support.loopback import LoopbackServer

REQUEST = {"messages": [{"role": "user", "content": "?"}], "model": "m"}


class Mirror(LoopbackServer):
    """Says what came, by which connection, and sets a cookie. A proxy, too, for what names one."""

    def app(self) -> web.Application:
        self.connections: set[object] = set()
        app = web.Application()
        app.router.add_route("*", "/{rest:.*}", self._mirror)
        return app

    async def _mirror(self, request: web.Request) -> web.Response:
        self.connections.add(request.transport)
        said = {
            "path": request.raw_path,
            "headers": [list(pair) for pair in request.headers.items()],
        }
        response = web.json_response(said)
        response.set_cookie("seat", "7")
        return response


@pytest.fixture
async def client():
    transport = AiohttpTransport(httpx2.create_ssl_context())
    async with httpx2.AsyncClient(transport=transport, timeout=5) as made:
        yield made


async def test_failures_are_told_apart(client, chat_server):
    url = f"{chat_server.url}/chat/completions"
    chat_server.play([cut("before"), cut("middle"), hang()])
    with pytest.raises(httpx2.RemoteProtocolError, match="disconnected without sending"):
        await client.post(url, json=REQUEST)
    with pytest.raises(httpx2.RemoteProtocolError, match="complete message body"):
        await client.post(url, json=REQUEST)
    with pytest.raises(httpx2.ReadTimeout):
        await client.post(url, json=REQUEST, timeout=0.05)
    with pytest.raises(httpx2.ConnectError):
        await client.post("http://127.0.0.1:9/v1", json=REQUEST)
    with pytest.raises(httpx2.ConnectError):
        await client.post("http://name.invalid/v1", json=REQUEST)


@pytest.mark.parametrize("name", ["127.0.0.1", "other.example"])
@pytest.mark.parametrize("trusted", [True, False])
async def test_a_server_proves_its_name_by_a_certificate_that_is_trusted(name, trusted):
    authority, own = trustme.CA(), ssl.create_default_context()
    if trusted:
        authority.configure_trust(own)
    server = Mirror()
    server.tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert(name).configure_cert(server.tls)
    with server:
        async with httpx2.AsyncClient(transport=AiohttpTransport(own), timeout=5) as client:
            if trusted and name == "127.0.0.1":
                assert (await client.get(f"{server.url}/v1")).json()["path"] == "/v1"
            else:
                with pytest.raises(httpx2.ConnectError, match="certificate"):
                    await client.get(f"{server.url}/v1")


async def test_a_cancelled_request_ends_its_connection_alone(client, chat_server):
    arrived, loop = asyncio.Event(), asyncio.get_running_loop()
    answers = iter([hang(), say("next")])

    def script(_: Body) -> Answer:
        loop.call_soon_threadsafe(arrived.set)
        return next(answers)

    chat_server.play(script)
    url = f"{chat_server.url}/chat/completions"
    waiting = asyncio.ensure_future(client.post(url, json=REQUEST))
    await arrived.wait()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    answered = await client.post(url, json=REQUEST)
    assert answered.json()["choices"][0]["message"]["content"] == "next"


async def test_what_is_sent_is_what_httpx_was_given(client):
    with Mirror() as server:
        url = f"http://me:secret@{server.host}/a%2Fb/c%20d?x=%7B1%7D"
        first = (await client.get(url, headers={"X-Title": "Films"})).json()
        second = (await client.get(url)).json()
    assert first["path"] == "/a%2Fb/c%20d?x=%7B1%7D"
    names = [name for name, _ in first["headers"]]
    assert "X-Title" in names
    assert len(names) == len({name.lower() for name in names})
    assert dict(first["headers"])["Authorization"].startswith("Basic ")
    # Cookies are httpx's: kept once, sent once.
    assert [value for name, value in second["headers"] if name.lower() == "cookie"] == ["seat=7"]


@pytest.mark.slow
@pytest.mark.parametrize("closed", [True, False])
def test_callers_of_many_threads_and_loops_leave_nothing(chat_server, closed, caplog):
    chat_server.play(lambda _: say("here"))
    spec = ModelSpec.parse(f"openai:m@{chat_server.url}")
    texts: list[str] = []

    async def ask() -> None:
        caller = ModelCaller(spec, Decoding(), Prompts.load())
        replies = [caller.ask([HumanMessage(f"{n}")], journal=MemoryJournal()) for n in range(5)]
        texts.extend([reply.text for reply in await asyncio.gather(*replies)])
        if closed:
            await caller.aclose()

    with caplog.at_level(logging.WARNING):
        threads = [threading.Thread(target=asyncio.run, args=(ask(),)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        gc.collect()
    assert texts == ["here"] * 20
    assert caplog.records == []


_ENDING = """
import asyncio, atexit, sys, threading
import httpx2
from branchwise.agents.chat_completions import AiohttpTransport

async def ask():
    transport = AiohttpTransport(httpx2.create_ssl_context())
    async with httpx2.AsyncClient(transport=transport, timeout=30) as client:
        await client.post(sys.argv[1], json={"model": "m", "messages": []}, headers={"x-test": "1"})

def work():
    try:
        asyncio.run(ask())
    except Exception as error:
        print(f"failed: {error!r}", flush=True)

thread = threading.Thread(target=work, daemon=True)
atexit.register(lambda: thread.join(1))  # last of all: time for what would fail now
thread.start()
sys.stdin.readline()
"""


@pytest.mark.long
@pytest.mark.usefixtures("process")
async def test_the_end_of_a_process_fails_no_request_of_its_other_threads(chat_server):
    arrived = threading.Event()

    def answer(_: Body) -> Answer:
        arrived.set()
        return hang()

    chat_server.play(answer)
    program = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", _ENDING, f"{chat_server.url}/chat/completions"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    assert await asyncio.to_thread(arrived.wait, 60)
    said, _ = await program.communicate(b"\n")
    assert (program.returncode, said) == (0, b"")


async def test_a_proxy_of_the_environment_is_asked_and_its_exceptions_are_not(
    monkeypatch, chat_server
):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with Mirror() as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://{proxy.host}")
        for host, is_direct in (("127.0.0.1:1", True), ("model.invalid", False)):
            made = make_client(ModelSpec.parse(f"openai:m@http://{host}/v1"), Decoding())
            http = made.http_async_client
            failed = http.get(f"http://{host}/v1/models")
            if is_direct:
                with pytest.raises(httpx2.ConnectError):
                    await failed
            else:
                assert (await failed).json()["path"] == "http://model.invalid/v1/models"
            await http.aclose()
            assert isinstance(http._transport, AiohttpTransport) == is_direct
