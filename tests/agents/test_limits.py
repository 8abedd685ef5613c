"""Requests to one server: how many at a time, in which order, and what a 429 changes."""

import asyncio

import pytest
from aiohttp import web

from branchwise.agents import restraints
from branchwise.agents.caller import ModelCaller
from branchwise.agents.decoding import Decoding
from branchwise.agents.journal import MemoryJournal
from branchwise.agents.prompt_files import Prompts
from branchwise.agents.reply import LONGEST_WAIT, ModelError
from branchwise.agents.restraints import Limiter, Limits, Restraints
from branchwise.agents.spec import ModelSpec
from branchwise.graphs.state import ItemContext
from support.agents.asking import ask, error_of
from support.agents.clock import Clock, settled
from support.chat_server import Answer, Body, ChatServer, fail, say


def refused(retry_after: float | None = None) -> ModelError:
    return ModelError("rate_limit", "429", retryable=True, retry_after=retry_after, status=429)


class Request:
    """A request that is on its way until it is ended."""

    def __init__(self, limiter: Limiter, name: int, went: list[int]) -> None:
        self._end: asyncio.Future[ModelError | None] = asyncio.get_running_loop().create_future()
        self.task = asyncio.ensure_future(self._go(limiter, name, went))

    async def _go(self, limiter: Limiter, name: int, went: list[int]) -> None:
        async with limiter.slot():
            went.append(name)
            if (error := await self._end) is not None:
                raise error

    async def end(self, error: ModelError | None = None) -> None:
        self._end.set_result(error)
        await asyncio.gather(self.task, return_exceptions=True)
        await settled()


async def begin(limiter: Limiter, count: int, went: list[int]) -> list[Request]:
    requests = [Request(limiter, name, went) for name in range(count)]
    await settled()
    return requests


async def let_go(*requests: Request) -> None:
    for request in requests:
        request.task.cancel()
    await asyncio.gather(*(request.task for request in requests), return_exceptions=True)


async def test_requests_go_first_come_first_served_and_never_too_many():
    went: list[int] = []
    limiter = Limiter(2)
    requests = await begin(limiter, 5, went)
    assert (went, limiter.in_flight) == ([0, 1], 2)
    await requests[1].end()
    assert went == [0, 1, 2]
    await requests[0].end()
    await requests[2].end()
    assert went == [0, 1, 2, 3, 4]
    await requests[3].end()
    await requests[4].end()
    assert limiter.in_flight == 0


async def test_a_request_that_is_cancelled_takes_no_slot_or_gives_it_back():
    went: list[int] = []
    limiter = Limiter(1)
    first, queued, third, fourth = await begin(limiter, 4, went)
    await let_go(queued)
    await first.end()
    assert went == [0, 2]
    await let_go(third)
    await settled()
    assert went == [0, 2, 3]
    await fourth.end()
    assert limiter.in_flight == 0


async def test_a_burst_of_refusals_halves_the_limit_once():
    limiter = Limiter(8)
    requests = await begin(limiter, 8, [])
    for request in requests:
        await request.end(refused())
    assert (limiter.limit, limiter.refusals) == (4, 8)
    for request in await begin(limiter, 4, []):
        await request.end(refused())
    assert limiter.limit == 2


@pytest.mark.parametrize("most", [None, 64])
async def test_half_of_what_was_on_its_way_is_the_limit_where_none_was_reached(most):
    limiter = Limiter(most)
    first, *rest = await begin(limiter, 10, [])
    assert (limiter.limit, limiter.in_flight) == (most, 10)
    await first.end(refused())
    assert limiter.limit == 5
    await let_go(*rest)


async def test_as_many_successes_as_there_are_slots_raise_the_limit_by_one_up_to_the_most():
    limiter = Limiter(4)
    for request in await begin(limiter, 4, []):
        await request.end(refused())
    grown = []
    requests = await begin(limiter, 12, [])
    for request in requests:
        await request.end()
        grown.append(limiter.limit)
    # The last three are on their way with free slots beside them.
    assert grown == [2, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4]


async def test_successes_from_before_the_refusal_do_not_raise_the_limit():
    limiter = Limiter(8)
    first, *rest = await begin(limiter, 8, [])
    await first.end(refused())
    for request in rest:
        await request.end()
    assert limiter.limit == 4


async def test_a_retry_after_holds_every_request_until_it_is_over():
    clock = Clock()
    limiter = Limiter(4, sleep=clock.sleep, clock=clock)
    (request,) = await begin(limiter, 1, [])
    await request.end(refused(retry_after=30.0))
    assert limiter.held == 30.0
    went: list[int] = []
    requests = await begin(limiter, 2, went)
    # One was on its way when it was refused: one goes at a time now.
    assert (went, clock.slept) == ([0], [30.0])
    await let_go(*requests)


async def test_a_retry_after_of_more_than_an_hour_holds_nobody():
    limiter = Limiter(4)
    (request,) = await begin(limiter, 1, [])
    await request.end(refused(retry_after=LONGEST_WAIT + 1))
    assert limiter.held == 0


def test_a_limiter_outlives_its_event_loop():
    limiter = Limiter(1)

    async def crowd() -> None:
        requests = await begin(limiter, 3, [])
        for request in requests:
            await request.end()

    async def cut_off() -> None:
        await begin(limiter, 3, [])

    asyncio.run(crowd())
    asyncio.run(cut_off())
    asyncio.run(crowd())
    assert limiter.in_flight == 0


def test_a_limit_below_one_is_refused():
    with pytest.raises(ValueError, match="at least 1"):
        Limiter(0)


def test_models_at_one_address_share_a_limiter():
    shared = Restraints(Limits(8))
    one = ModelSpec.parse("openai:a@http://localhost:8000/v1")
    other = ModelSpec.parse("openai:b@http://localhost:8000/v1/")
    elsewhere = ModelSpec.parse("openai:a@http://localhost:9000/v1")
    assert shared.limiter(one) is shared.limiter(other)
    assert shared.limiter(one) is not shared.limiter(elsewhere)
    assert shared.limiter(ModelSpec.parse("openai:a")) is shared.limiter(
        ModelSpec.parse("openai:b")
    )
    assert shared.limiter(ModelSpec.parse("offline")) is None


class CrowdedServer(ChatServer):
    """Refuses whatever comes while it is busy with `room` requests."""

    def __init__(self, room: int) -> None:
        super().__init__(self._answer, delay=0.01)
        self.room, self.busy, self.refused = room, 0, 0

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        self.busy += 1
        try:
            return await super()._chat(request)
        finally:
            self.busy -= 1

    def _answer(self, body: Body) -> Answer:
        if self.busy > self.room:
            self.refused += 1
            return fail(429, "too many at once")
        return say("done")


@pytest.mark.slow
async def test_a_server_with_room_for_four_answers_everyone_after_few_refusals(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    monkeypatch.setattr(restraints, "FIRST_WAIT", 0.01)
    limits, at_once = Limits(64), asyncio.Semaphore(64)
    with CrowdedServer(4) as server:
        spec, own = ModelSpec.parse(f"openai:scripted@{server.url}"), Restraints(limits)
        caller = ModelCaller(spec, Decoding(attempts=1), Prompts.load(), restraints=own)

        async def one() -> str:
            async with at_once:
                return (await ask(caller)).text

        assert await asyncio.gather(*(one() for _ in range(120))) == ["done"] * 120
        await caller.aclose()
        limiter = limits.at(server.url)
        assert limiter.refusals == server.refused
    assert limiter.refusals <= 64 + 32 + 16 + 8 + 5 * (120 // 9 + 1)
    assert limiter.limit is not None
    assert limiter.limit < 64


async def test_a_server_that_always_refuses_uses_the_attempts_up(chat_server, waits, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    chat_server.play(lambda body: fail(429, "never"))
    spec = ModelSpec.parse(f"openai:scripted@{chat_server.url}")
    shared = Restraints(Limits(8, sleep=waits))
    caller = ModelCaller(spec, Decoding(attempts=3), Prompts.load(), sleep=waits, restraints=shared)
    error = await error_of(caller)
    assert error.kind == "rate_limit"
    assert len(chat_server.requests) == 1 + 3


async def test_waiting_for_a_slot_takes_no_time_of_the_question(chat_server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    clock = Clock()
    chat_server.play([fail(429, "slow down", retry_after="30"), say("now")])
    spec = ModelSpec.parse(f"openai:scripted@{chat_server.url}")
    shared = Restraints(Limits(4, sleep=clock.sleep, clock=clock))
    caller = ModelCaller(
        spec, Decoding(attempts=1), Prompts.load(), sleep=clock.sleep, restraints=shared
    )
    reply = await ask(caller, time_left=5.0)
    assert (reply.message.content, reply.waited) == ("now", 30.0)
    assert clock.slept == [30.0]
    context = ItemContext(MemoryJournal(), 600.0, clock=clock)
    clock.now += 40.0
    context.waited += reply.waited
    assert (context.elapsed, context.time_left) == (10.0, 590.0)
