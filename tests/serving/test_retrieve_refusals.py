"""Requests without an answer get one line of JSON; clients that stall or leave harm nobody."""

import asyncio
import json
import socket

import aiohttp
import pytest

from branchwise.tools.batcher import LARGEST_BATCH, Batcher
from branchwise.tools.serving import retrieve, web
from branchwise.tools.serving.retrieve import MAX_BODY_BYTES, retrieve_app
from support.serving.serving_peers import running, served

JSON = {"Content-Type": "application/json"}


@pytest.fixture
async def server(shelf):
    async with served(retrieve_app(Batcher(shelf), lambda _: None)) as base:
        yield base


@pytest.fixture
async def session():
    async with aiohttp.ClientSession() as made:
        yield made


async def post(session, base, data, headers=JSON, path="/retrieve", method="POST"):
    async with session.request(method, base + path, data=data, headers=headers) as response:
        raw = await response.read()
        assert raw.count(b"\n") == 0
        return response.status, json.loads(raw)


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ("", 400, "not valid JSON"),
        ("{", 400, "not valid JSON"),
        ("[" * 100_000, 400, "not valid JSON"),
        ("\x00\x01", 400, "not valid JSON"),
        ("<html>", 400, "not valid JSON"),
        ("[]", 422, '"queries"'),
        ("null", 422, '"queries"'),
        ("{}", 422, "queries: Field required"),
        ('{"queries": "a"}', 422, "queries: "),
        ('{"queries": null}', 422, "queries: "),
        ('{"queries": ["a", 1]}', 422, "queries[1]: "),
        ('{"queries": ["a"], "topk": 0}', 422, "topk: "),
        ('{"queries": ["a"], "topk": -3}', 422, "topk: "),
        ('{"queries": ["a"], "topk": 51}', 422, "50"),
        ('{"queries": ["a"], "topk": 1.5}', 422, "topk: "),
        ('{"queries": ["a"], "topk": 1e999}', 422, "topk: "),
        ('{"queries": ["a"], "return_scores": "maybe"}', 422, "return_scores: "),
        (json.dumps({"queries": ["a" * 16_001]}), 422, "queries[0]: "),
        (json.dumps({"queries": ["a"] * 8_193}), 422, "8192"),
        (json.dumps({"queries": ["a"] * 1_311, "topk": 50}), 422, "65536 passages"),
    ],
)
async def test_a_request_that_asks_nothing_is_told_why(server, session, shelf, body, status, said):
    got, answer = await post(session, server, body)
    assert got == status
    assert said in answer["error"]
    assert shelf.calls == []


@pytest.mark.slow
async def test_as_much_as_is_allowed_is_answered(server, session):
    queries = [f"q{n}" for n in range(8_192)]
    status, answer = await post(session, server, json.dumps({"queries": queries, "topk": 8}))
    assert status == 200
    assert [ranking[7]["id"] for ranking in answer["result"]] == [f"{q}-8" for q in queries]


@pytest.mark.parametrize("media", ["text/html", "text/plain", "application/x-www-form-urlencoded"])
async def test_what_is_not_called_json_is_not_read(server, session, media):
    body = '{"queries": ["a"]}'
    status, answer = await post(session, server, body, {"Content-Type": media})
    assert status == 415
    assert "Content-Type: application/json" in answer["error"]


@pytest.mark.parametrize(
    ("method", "path", "status", "said"),
    [
        ("GET", "/retrieve", 405, "POST"),
        ("PUT", "/retrieve", 405, "POST"),
        ("GET", "/nowhere", 404, "GET /"),
        ("GET", "/../../etc/passwd", 404, "GET /"),
    ],
)
async def test_other_addresses_say_what_to_ask(server, session, method, path, status, said):
    got, answer = await post(session, server, None, None, path, method)
    assert got == status
    assert said in answer["error"]


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ({"Host": "attacker.example"}, 403),
        ({"Host": "127.0.0.1.attacker.example:80"}, 403),
        ({"Host": "[::1"}, 403),
        ({"Origin": "https://attacker.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Host": "localhost:8000"}, 200),
        ({"Host": "[::1]:8000"}, 200),
        ({"Origin": "http://127.0.0.1:3000"}, 200),
    ],
)
async def test_web_pages_and_other_names_are_kept_out(server, session, header, status):
    assert (await post(session, server, '{"queries": []}', JSON | header))[0] == status


async def test_a_server_for_others_takes_any_name(shelf, session):
    async with served(retrieve_app(Batcher(shelf), print, only_loopback=False)) as base:
        assert (await post(session, base, '{"queries": []}', JSON | {"Host": "gpu7"}))[0] == 200


# --- clients on the wire --------------------------------------------------------------------


async def connect(base, sent=b""):
    reader, writer = await asyncio.open_connection("127.0.0.1", int(base.rpartition(":")[2]))
    writer.write(sent)
    return reader, writer


def head(length=None):
    size = f"Content-Length: {length}" if length is not None else "Transfer-Encoding: chunked"
    return (
        f"POST /retrieve HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{size}"
        "\r\n\r\n"
    ).encode()


async def last_answer(reader):
    """Status and JSON of an answer after which the connection ends."""
    raw = await reader.read()
    headers, _, body = raw.partition(b"\r\n\r\n")
    return int(headers.split()[1]), json.loads(body)


async def test_what_is_announced_too_large_is_refused_before_it_is_sent(server, monkeypatch):
    monkeypatch.setattr(web, "DISCARD_SECONDS", 0.01)
    reader, _ = await connect(server, head(MAX_BODY_BYTES + 1))
    status, answer = await last_answer(reader)
    assert status == 413
    assert str(MAX_BODY_BYTES) in answer["error"]


@pytest.mark.parametrize("announced", [True, False])
async def test_one_who_sends_too_much_reads_why(server, announced):
    part, parts = b"a" * 1_000_000, MAX_BODY_BYTES // 1_000_000 + 5
    reader, writer = await connect(server, head(parts * len(part) if announced else None))
    for _ in range(parts):
        writer.write(part if announced else b"f4240\r\n" + part + b"\r\n")
        await writer.drain()
    writer.write(b"" if announced else b"0\r\n\r\n")
    assert (await last_answer(reader))[0] == 413


async def test_a_body_that_does_not_come_is_refused_and_others_are_answered(
    server, session, monkeypatch
):
    monkeypatch.setattr(retrieve, "BODY_SECONDS", 0.05)
    reader, _ = await connect(server, head(100) + b'{"queries"')
    assert (await post(session, server, '{"queries": ["a"]}'))[0] == 200
    status, answer = await last_answer(reader)
    assert status == 408
    assert "seconds" in answer["error"]


@pytest.mark.parametrize("sent", [b"", b"POST /retr"], ids=["nothing", "half a line"])
async def test_a_client_that_never_asks_is_left(shelf, monkeypatch, sent):
    monkeypatch.setattr(web, "IDLE_SECONDS", 0.05)
    async with served(retrieve_app(Batcher(shelf), print)) as base:
        reader, _ = await connect(base, sent)
        assert await reader.read() == b""


async def dribble(writer):
    while True:
        writer.write(b"X-A: b\r\n")
        await writer.drain()
        await asyncio.sleep(0.001)


async def test_a_client_that_dribbles_headers_is_left(shelf, monkeypatch):
    monkeypatch.setattr(web, "IDLE_SECONDS", 0.05)
    async with served(retrieve_app(Batcher(shelf), print)) as base:
        _, writer = await connect(base, b"GET / HTTP/1.1\r\n")
        with pytest.raises(ConnectionError):
            await dribble(writer)


async def test_a_client_that_does_not_read_is_left(shelf, monkeypatch):
    shelf.text = "long " * 20_000
    monkeypatch.setattr(web, "IDLE_SECONDS", 0.05)
    # An answer of 100 MB.
    body = json.dumps({"queries": [f"q{n}" for n in range(20)], "topk": 50}).encode()
    async with running(retrieve_app(Batcher(shelf), print)) as (base, server):
        with socket.create_connection(("127.0.0.1", int(base.rpartition(":")[2]))) as client:
            client.sendall(head(len(body)) + body)
            await asyncio.to_thread(shelf.entered.acquire, timeout=30)
            while server.server_state.connections:  # noqa: ASYNC110 - nothing tells of its end
                await asyncio.sleep(0.01)


async def test_a_search_that_takes_long_is_waited_for(shelf, session, monkeypatch):
    monkeypatch.setattr(web, "IDLE_SECONDS", 0.01)
    looked = asyncio.Semaphore(0)
    look = web._Connection._look
    monkeypatch.setattr(
        web._Connection, "_look", lambda *given: (look(*given), looked.release())[0]
    )
    shelf.held = True
    async with served(retrieve_app(Batcher(shelf), print)) as base:
        asked = asyncio.create_task(post(session, base, '{"queries": ["a"], "topk": 1}'))
        await asyncio.to_thread(shelf.entered.acquire, timeout=30)
        for _ in range(5):  # five times what an idle connection may last
            await looked.acquire()
        shelf.release.set()
        assert (await asked)[0] == 200


async def test_two_requests_in_one_breath_are_answered_in_order(server):
    def request(query):
        body = json.dumps({"queries": [query], "topk": 1}).encode()
        return head(len(body)) + body

    reader, writer = await connect(server, request("a") + request("b"))
    first = await reader.readuntil(b"}]]}")
    second = await reader.readuntil(b"}]]}")
    assert (b'"a-1"' in first, b'"b-1"' in second) == (True, True)
    writer.close()


async def test_a_client_that_leaves_takes_its_queries_with_it(server, session, shelf):
    shelf.held = True
    queries = [f"q{n}" for n in range(3 * LARGEST_BATCH)]
    body = json.dumps({"queries": queries}).encode()
    _, writer = await connect(server, head(len(body)) + body)
    await asyncio.to_thread(shelf.entered.acquire, timeout=30)
    writer.transport.abort()
    async with session.get(server) as response:  # the server has looked at its connections
        assert response.status == 200
    shelf.release.set()
    assert (await post(session, server, '{"queries": ["stays"], "topk": 1}'))[0] == 200
    assert shelf.calls[-1] == (["stays"], 1)
    assert sum(len(queries) for queries, _ in shelf.calls) <= LARGEST_BATCH + 1


@pytest.mark.slow
async def test_a_large_request_lets_others_in_between(server, session, shelf):
    shelf.held = True
    queries = [f"q{n}" for n in range(4 * LARGEST_BATCH)]
    large = asyncio.create_task(post(session, server, json.dumps({"queries": queries})))
    await asyncio.to_thread(shelf.entered.acquire, timeout=30)
    small = asyncio.create_task(post(session, server, '{"queries": ["small"]}'))
    _, writer = await connect(server)  # accepted after the small request's connection
    async with session.get(server) as response:  # and answered after that was read
        assert response.status == 200
    shelf.release.set()
    assert (await small)[0] == (await large)[0] == 200
    at = next(n for n, (asked, _) in enumerate(shelf.calls) if "small" in asked)
    assert at <= 2
    assert sum(len(asked) for asked, _ in shelf.calls) == len(queries) + 1
    writer.close()
