"""A server that is gone: who looks whether it is back, who waits, and for how long."""

import asyncio
from dataclasses import dataclass, field

import pytest

from branchwise.agents.outages import Outage, Outages, ServerGoneError, ServerWatch
from branchwise.base.backoff import Sign
from support.agents.clock import Clock, settled

SERVER = "http://127.0.0.1:8000/v1"


class FailedError(Exception):
    def __init__(self, sign: Sign | None) -> None:
        super().__init__(f"it is {sign}")
        self.sign = sign


def sign_of(error: Exception) -> Sign | None:
    return error.sign if isinstance(error, FailedError) else None


@dataclass
class Server:
    """Answers or fails as it is told; `went`: the questions whose requests came, in order."""

    watch: ServerWatch
    sign: Sign | None = "gone"
    went: list[str] = field(default_factory=list)
    waited: dict[str, float] = field(default_factory=dict)

    async def ask(self, question: str) -> str:
        """A request as its caller sends it, who tries a failed one again at once."""
        of = question  # each literal is one object

        async def request() -> str:
            self.went.append(question)
            await asyncio.sleep(0)
            if self.sign == "answered":
                return f"answer to {question}"
            raise FailedError(self.sign)

        def wait(seconds: float) -> None:
            self.waited[question] = self.waited.get(question, 0.0) + seconds

        return await self.watch.asked(request, of=of, sign=sign_of, on_wait=wait)

    def back(self) -> None:
        self.sign = "answered"


class Held(Clock):
    """A clock whose sleepers sleep until they are let go."""

    def __init__(self) -> None:
        super().__init__()
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        end: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.append((self.now + seconds, end))
        await end

    async def pass_by(self, seconds: float) -> None:
        await settled()
        self.now += seconds
        for when, end in self._sleepers:
            if when <= self.now and not end.done():
                end.set_result(None)
        await settled()


@pytest.fixture
def clock():
    return Held()


@pytest.fixture
def outages(clock):
    return Outages(120.0, sleep=clock.sleep, clock=clock)


@pytest.fixture
def server(outages):
    return Server(outages.at(SERVER))


async def begin(server: Server, *questions: str) -> list["asyncio.Task[str]"]:
    tasks = [asyncio.ensure_future(server.ask(question)) for question in questions]
    await settled()
    return tasks


async def gone(server: Server) -> None:
    """The first request finds that the server is gone; its failure is its caller's."""
    with pytest.raises(FailedError):
        await server.ask("first")
    server.went.clear()


async def end(*tasks: "asyncio.Task[str]") -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_one_request_at_a_time_looks_whether_the_server_is_back(server, clock):
    await gone(server)
    tasks = await begin(server, "a", "b", "c")
    assert server.went == []
    await clock.pass_by(1.0)
    assert server.went == ["a"]
    await clock.pass_by(5.0)
    assert server.went == ["a", "b"]  # each in its turn: one may be what the server fails at
    await clock.pass_by(5.0)
    await clock.pass_by(5.0)
    assert server.went == ["a", "b", "c", "a"]
    await end(*tasks)


async def test_an_answer_to_a_request_from_before_ends_the_wait(server, clock):
    answered = asyncio.Event()

    async def slow() -> str:
        await answered.wait()
        return "slow"

    early = asyncio.ensure_future(
        server.watch.asked(slow, of="early", sign=sign_of, on_wait=lambda _: None)
    )
    await settled()
    await gone(server)
    tasks = await begin(server, "a", "b")
    server.back()
    answered.set()
    await asyncio.gather(early, *tasks)
    assert (server.went, clock.now) == (["a", "b"], 0.0)


@pytest.mark.parametrize("sign", ["answered", None])
async def test_a_refusal_is_an_answer_and_what_says_nothing_passes_the_turn_on(server, clock, sign):
    await gone(server)
    server.sign = sign
    first, second = await begin(server, "a", "b")

    async def refused() -> str:
        raise FailedError(sign)

    third = asyncio.ensure_future(
        server.watch.asked(refused, of="c", sign=sign_of, on_wait=lambda _: None)
    )
    await clock.pass_by(1.0)
    results = await asyncio.gather(first, second, third, return_exceptions=True)
    assert isinstance(results[2], FailedError)
    assert (server.watch.outage is None) == (sign == "answered")


async def test_waiting_and_looking_in_vain_are_not_the_questions_own_time(server, clock):
    await gone(server)
    (task,) = await begin(server, "a")
    await clock.pass_by(10.0)
    server.back()
    await clock.pass_by(10.0)
    await task
    assert server.waited == {"a": 20.0}
    assert server.watch.gone_seconds == 20.0


async def test_patience_ends_for_all_that_wait(server, clock):
    await gone(server)
    tasks = await begin(server, "a", "b", "c")
    for _ in range(60):
        await clock.pass_by(2.0)
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    assert [str(error) for error in ended] == [
        "no answer from 127.0.0.1:8000 for 2 min (it is gone)"
    ] * 3
    assert all(isinstance(error, ServerGoneError) for error in ended)
    assert clock.now == 120.0


async def test_a_question_that_takes_too_long_holds_no_other(server, clock):
    server.sign = "lost"
    for _ in range(3):
        with pytest.raises(FailedError):
            await server.ask("long")
    assert server.watch.outage is None
    server.went.clear()
    await asyncio.gather(*await begin(server, "other"), return_exceptions=True)
    assert server.went == ["other"]
    # Two of them that get no answer are the server's fault.
    assert server.watch.outage is not None
    tasks = await begin(server, "a")
    assert server.went == ["other"]
    await end(*tasks)


async def test_without_patience_failures_are_everyones_own(clock):
    server = Server(Outages(0.0, sleep=clock.sleep, clock=clock).at(SERVER))
    for question in ("a", "b"):
        with pytest.raises(FailedError):
            await server.ask(question)
    assert (server.went, clock.slept) == (["a", "b"], [])


async def test_one_that_is_cancelled_passes_its_turn_on(server, clock):
    await gone(server)
    never = asyncio.Event()
    looking = asyncio.ensure_future(
        server.watch.asked(lambda: never.wait(), of="looks", sign=sign_of, on_wait=lambda _: None)
    )
    await settled()
    tasks = await begin(server, "a", "b")
    await clock.pass_by(1.0)
    assert server.went == []
    server.back()
    await end(looking)
    await asyncio.gather(*tasks)
    assert server.went == ["a", "b"]


async def test_an_outage_is_told_when_it_lasts(outages, server, clock):
    await gone(server)
    tasks = await begin(server, "a", "b", "b")
    clock.now += 1.0
    assert outages.now() == []
    clock.now += 29.0
    (outage,) = outages.now()
    assert outage == Outage(SERVER, 30.0, 2, "it is gone")
    assert outage.line() == "no answer from 127.0.0.1:8000 for 30 s, 2 questions wait"
    await end(tasks[0])
    assert outages.now()[0].line().endswith("1 question waits")
    server.back()
    await clock.pass_by(10.0)
    await asyncio.gather(*tasks[1:])
    assert outages.now() == []


def test_patience_below_zero_is_refused():
    with pytest.raises(ValueError, match="at least 0"):
        Outages(-1.0)
