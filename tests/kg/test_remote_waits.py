"""A server that asks to be left alone, and many agents that ask one server."""

import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from branchwise.kg.remote.client import HostThrottle, NoTurnError, shared_throttle
from support.kg.asking_remote import GOOD, QUERY, ask, fail, fail_at, is_good, kg_of
from support.kg.sparql_server import FaultyServer, Reaction, reply


def busy(after: str) -> Reaction:
    return reply(429, b"slow down", "text/plain", {"Retry-After": after})


def test_a_429_is_waited_out_when_there_is_time() -> None:
    answer, requests = ask(busy("0"), busy("0"), reply(body=GOOD))
    assert is_good(answer)
    assert len(requests) == 3


@pytest.mark.parametrize(
    ("reaction", "asked", "said"),
    [
        (busy("0"), 4, ""),
        (busy("3600"), 1, "3600 seconds"),
        (reply(503, b"down", "text/plain", {"Retry-After": "600"}), 1, "600 seconds"),
        (reply(429, b"<title>Error 429 - Please retry in 61 seconds.</title>"), 1, "61 seconds"),
    ],
    ids=["again and again", "beyond the deadline", "503 with a time", "in the page"],
)
def test_a_wait_beyond_the_deadline_is_told(reaction: Reaction, asked: int, said: str) -> None:
    error = fail(reaction)
    assert (error.kind, len(error.requests)) == ("busy", asked)
    assert said in error.text


def test_a_retry_after_may_be_a_date() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(hours=2), usegmt=True)
    error = fail(busy(later))
    assert error.kind == "busy"
    assert any(f"{seconds} seconds" in error.text for seconds in range(7100, 7201))


def test_a_wait_holds_for_all_graphs_of_that_host() -> None:
    with FaultyServer() as server:
        server.play(busy("3600"), reply(body=GOOD))
        assert fail_at(kg_of(server)).kind == "busy"
        assert fail_at(kg_of(server)).kind == "busy"
        assert len(server.requests) == 1


def test_all_graphs_of_a_host_share_its_places() -> None:
    """Six ask; five are let in and wait for each other; the sixth comes when one has gone."""
    five, lock = threading.Barrier(5), threading.Lock()
    arrived: list[object] = []

    def react(connection: socket.socket, stopped: threading.Event) -> None:
        with lock:
            arrived.append(connection)
            early = len(arrived) <= 5
        if early:
            five.wait(timeout=20)
        reply(body=GOOD)(connection, stopped)

    with FaultyServer() as server, ThreadPoolExecutor(6) as agents:
        server.play(react)
        answers = list(agents.map(lambda _: kg_of(server).query(QUERY, 20), range(6)))
        assert all(map(is_good, answers))
        assert len(server.requests) == 6
        assert server.most_at_once == 5


def test_who_finds_no_place_in_time_is_told() -> None:
    with FaultyServer() as server, ExitStack() as taken:
        kg = kg_of(server)
        throttle = shared_throttle(server.url.split("/")[2])
        for _ in range(5):
            taken.enter_context(throttle.turn(time.monotonic() + 20))
        error = fail_at(kg, seconds=0.02)
        assert server.requests == []
    assert error.kind == "busy"
    assert "one query at a time" in error.text


def test_the_stricter_limit_holds() -> None:
    throttle = shared_throttle("strict.example", concurrent=3)
    assert shared_throttle("STRICT.example", concurrent=1) is throttle
    with throttle.turn(time.monotonic() + 20), pytest.raises(NoTurnError) as refused:
        throttle.turn(time.monotonic()).__enter__()
    assert refused.value.seconds == 0


def test_a_held_host_says_at_once_for_how_long() -> None:
    throttle = HostThrottle()
    throttle.hold(3600)
    with pytest.raises(NoTurnError) as refused:
        throttle.turn(time.monotonic() + 3000).__enter__()
    assert 3000 < refused.value.seconds <= 3600


def test_who_waits_hears_of_a_hold() -> None:
    """A thread that waits for a place gives up when the host asks for an hour."""
    throttle = HostThrottle(concurrent=1)
    with ThreadPoolExecutor(1) as agents, throttle.turn(time.monotonic() + 20):
        waiting = agents.submit(throttle.turn(time.monotonic() + 600).__enter__)
        throttle.hold(3600)
        with pytest.raises(NoTurnError):
            waiting.result(timeout=60)


def test_turns_keep_their_distance() -> None:
    throttle = HostThrottle(interval=500)
    with throttle.turn(time.monotonic() + 20), pytest.raises(NoTurnError):
        throttle.turn(time.monotonic()).__enter__()
