"""Servers that go away in the middle of a run: it waits, fails nothing, and asks nothing twice."""

import asyncio
import itertools
import signal
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from branchwise import resume
from branchwise.agents import restraints
from branchwise.agents.outages import Outages
from branchwise.agents.restraints import Restraints
from branchwise.graphs.system import System
from branchwise.runs import experiment
from branchwise.runs.experiment import Run
from branchwise.runs.runner import Silent
from branchwise.runs.store.connection import DATABASE, connect_to_read
from support.agents.clock import Clock
from support.chat_server import Answer, Body, ChatServer, digest, fail, search_then_answer
from support.loopback import LoopbackServer
from support.retrieval_server import RetrievalServer, sends

QUESTIONS, AT_ONCE = 16, 4
STOPS = (2, 6, 10)
"""Questions that have ended when the server stops: what is under way may end while it is down, so
that stops are `AT_ONCE` apart, and more than `AT_ONCE` follow the last."""


class Restarted:
    """A server that is stopped when so many questions have ended, and started again on its port
    when a request has found it gone and waits to look again."""

    def __init__(self, make: Callable[[], LoopbackServer], *at: int) -> None:
        self._make, self._at = make, list(at)
        self.server = make().start()
        self.port = int(self.server.host.rpartition(":")[2])
        self.starts, self._ended, self._is_up = 1, 0, True

    def ended(self) -> None:
        """A question has ended."""
        self._ended += 1
        if self._is_up and self._at and self._ended >= self._at[0]:
            self._at.pop(0)
            self.server.stop()
            self._is_up = False

    async def sleep(self, seconds: float) -> None:
        if not self._is_up:
            self.server = self._make().start(self.port)
            self.starts, self._is_up = self.starts + 1, True
        await asyncio.sleep(0)


class Ending(Silent):
    def __init__(self, *servers: Restarted) -> None:
        self._servers = servers

    def ended(self, question: Any, record: Any) -> None:
        for server in self._servers:
            server.ended()


@pytest.fixture
def numbered() -> tuple[Callable[[Body], Answer], list[str]]:
    """A script that numbers its answers where runs keep it, and the requests by these numbers."""
    asked: list[str] = []
    numbers = itertools.count()

    def answer(body: Body) -> Answer:
        asked.append(digest(body))
        details = {"reasoning_tokens": next(numbers)}
        usage = {"prompt_tokens": 9, "completion_tokens": 9, "completion_tokens_details": details}
        return replace(search_then_answer(body), usage=usage)

    return answer, asked


def asked_again(run: Path, asked: list[str]) -> list[str]:
    """Requests that came again after their response was recorded."""
    with closing(connect_to_read(run / DATABASE)) as connection:
        rows = connection.execute("SELECT body FROM responses WHERE kind = 'model'").fetchall()
    recorded = [orjson.loads(body)["usage"]["reasoning"] for (body,) in rows]
    return [asked[number] for number in recorded if asked[number] in asked[number + 1 :]]


def begin(
    system: System, questions: Path, out: Path, *servers: Restarted, patience: float = 120.0
) -> Run:
    async def sleep(seconds: float) -> None:
        for server in servers:
            await server.sleep(seconds)

    outages = Outages(patience, sleep=sleep)
    return experiment.run(
        str(questions), system, out=out, concurrency=AT_ONCE, observer=Ending(*servers),
        restraints=Restraints(outages=outages),
    )  # fmt: skip


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restraints, "FIRST_WAIT", 0.0)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.mark.long
def test_a_model_server_that_goes_away_fails_nothing_and_is_asked_nothing_twice(
    at_once, make_system, question_file, numbered, tmp_path
):
    script, asked = numbered
    server = Restarted(lambda: ChatServer(script), *STOPS)
    system = make_system().model_copy(
        update={"model": f"openai:scripted@http://127.0.0.1:{server.port}/v1"}
    )
    made = begin(system, question_file(QUESTIONS), tmp_path / "R", server)
    server.server.stop()
    assert (made.state.done, made.state.failed, made.state.stopped) == (QUESTIONS, 0, None)
    assert server.starts == 1 + len(STOPS)
    assert asked_again(made.path, asked) == []


@pytest.mark.long
def test_a_retrieval_server_that_goes_away_is_waited_for_and_no_search_fails(
    at_once, chat_server, make_system, question_file, tmp_path
):
    chat_server.play(search_then_answer)
    server = Restarted(RetrievalServer, *STOPS)
    system = make_system().model_copy(
        update={"corpus": None, "retriever": f"http:http://127.0.0.1:{server.port}/retrieve"}
    )
    made = begin(system, question_file(QUESTIONS), tmp_path / "R", server)
    server.server.stop()
    assert (made.state.done, made.state.failed, made.state.stopped) == (QUESTIONS, 0, None)
    assert server.starts == 1 + len(STOPS)
    with closing(made.open()) as reader:
        tools = [
            event.data
            for item in range(1, QUESTIONS + 1)
            for event in reader.events(item)
            if event.kind == "tool"
        ]
    assert len(tools) == 2 * QUESTIONS
    assert [tool["error"] for tool in tools] == [None] * len(tools)
    assert chat_server.repeats == 0


@pytest.fixture
def retriever() -> Iterator[RetrievalServer]:
    with RetrievalServer() as running:
        yield running


@pytest.mark.long
@pytest.mark.parametrize("gone", ["model", "retriever"])
def test_a_run_stops_when_its_patience_is_over_and_goes_on_later(
    at_once, chat_server, retriever, make_system, question_file, tmp_path, gone
):
    """The clock goes on only while someone waits, so that nobody has to."""
    chat_server.play(search_then_answer)
    system = make_system().model_copy(update={"corpus": None, "retriever": f"http:{retriever.url}"})
    if gone == "model":
        chat_server.play(lambda body: fail(502, "no backend"))
    else:
        retriever.play(None, *[sends("", 503)] * 1000)
    clock = Clock()
    outages = Outages(20.0, sleep=clock.sleep, clock=clock)
    made = experiment.run(
        str(question_file(3)), system, out=tmp_path / "R", restraints=Restraints(outages=outages)
    )
    host = chat_server.host if gone == "model" else retriever.host
    assert made.state.stopped is not None
    assert made.state.stopped.startswith(f"no answer from {host} for 20 s (")
    assert (made.state.done, made.state.failed, made.state.pending) == (0, 0, 3)
    assert clock.now == 20.0
    chat_server.play(search_then_answer)
    retriever.play()
    again = resume(made.path)
    assert (again.state.done, again.state.here, again.state.stopped) == (3, 3, None)


def test_a_question_that_the_server_hangs_up_on_fails_alone(
    at_once, chat_server, make_system, question_file, tmp_path
):
    """Its own attempts are counted, as others are answered; the run goes on."""

    def script(body: Body) -> Answer:
        if "0001" in str(body["messages"]):
            return Answer(cut="before")
        return search_then_answer(body)

    chat_server.play(script)
    made = begin(make_system(), question_file(4), tmp_path / "R")
    assert (made.state.done, made.state.failed, made.state.stopped) == (3, 1, None)


def test_without_patience_questions_fail_as_their_requests_do(
    at_once, chat_server, make_system, question_file, tmp_path
):
    chat_server.play(lambda body: fail(503, "no"))
    made = begin(make_system(), question_file(2), tmp_path / "R", patience=0.0)
    assert (made.state.failed, made.state.stopped) == (2, None)


@pytest.mark.long
@pytest.mark.slow
def test_an_interrupt_while_it_waits_ends_with_the_command_that_continues(
    start, make_system, question_file, chat_server, tmp_path
):
    chat_server.play(lambda body: fail(502, "no backend"))
    system, out = make_system(), tmp_path / "R"
    process = start("run", "--questions", question_file(3), "--model", system.model, "--out", out)
    for line in process.stderr:
        if "3 questions wait" in line:
            break
    assert line.startswith(f"no answer from {chat_server.host} for ")
    assert line.endswith("; stops after 2 min\n")
    process.send_signal(signal.SIGINT)
    rest = process.stderr.read()
    assert process.wait() == 1
    assert rest.endswith(
        f"Stopped: interrupted. Nothing is lost; continue with:\n  branchwise resume {out}\n"
    )
