"""`--max-cost`: what a server counts never comes to more."""

import asyncio
import json
from dataclasses import dataclass, replace

import pytest

from branchwise.agents.reply import ModelError
from branchwise.agents.spec import ModelSpec
from branchwise.base.errors import InputError
from branchwise.graphs.system import Roles
from branchwise.runs.costs.prices import Prices
from branchwise.runs.costs.spending import Spending
from branchwise.runs.studies.running import StudyPace, check_study_bounded, run_study
from branchwise.trace.parts import Usage
from support.chat_server import Answer, Body, hang
from support.runs.studies import design_of, four_systems, outcomes, reply

INPUT, OUTPUT, MAX_TOKENS = 1000.0, 4000.0, 40
"""USD per million tokens, and the output tokens that a call may have."""


@pytest.fixture
def prices(tmp_path):
    file = tmp_path / "prices.yaml"
    price = f"{{input: {INPUT}, output: {OUTPUT}}}"
    file.write_text(f"models:\n  openai:scripted: {price}\n  openai:cheap: {price}\n")
    return Prices.load(file)


@dataclass
class Counting:
    """A server that counts as many tokens as it may: a byte is one, and all of the output."""

    spent: float = 0.0

    def __call__(self, body: Body) -> Answer:
        text = json.dumps([m["content"] for m in body["messages"]], ensure_ascii=False)
        read = len(text.encode()) + len(json.dumps(body.get("tools", [])))
        self.spent += (read * INPUT + MAX_TOKENS * OUTPUT) / 1e6
        return replace(reply(body), usage={"prompt_tokens": read, "completion_tokens": MAX_TOKENS})


@pytest.fixture
def design(make_system, question_file):
    return design_of(question_file(6), four_systems(make_system(max_tokens=MAX_TOKENS)))


@pytest.mark.slow
def test_a_study_stops_before_its_cost_is_passed_and_goes_on_with_more(
    chat_server, design, prices, tmp_path
):
    whole = Counting()
    chat_server.play(whole)
    run_study(design, tmp_path / "whole")

    server, stops = Counting(), 0
    chat_server.play(server)
    for share in (0.2, 0.5, 0.9, 1.2):
        most = share * whole.spent
        ended = run_study(
            design, tmp_path / "S", StudyPace(concurrency=4, max_cost=most, prices=prices)
        )
        assert server.spent <= most
        # A call costs a fortieth of it at most: the money was used.
        assert server.spent > min(most, whole.spent) - whole.spent / 20
        assert ended.is_out_of_money == (share < 1)
        if ended.is_out_of_money:
            stops += 1
            assert ended.state.stopped is not None
            assert "the next call can cost up to $" in ended.state.stopped
            assert ended.state.failed == 0
    assert stops == 3
    assert outcomes(ended.folder) == outcomes(run_study(design, tmp_path / "whole").folder)
    # Nobody was on the way when the money ended: nothing was paid for twice.
    assert server.spent == pytest.approx(whole.spent)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model": "openai:dear@{url}"}, "no price is known for openai:dear@"),
        ({"roles": Roles(extractor="openai:dear@{url}")}, r"for openai:dear@.*'\+extraction'"),
    ],
    ids=["agent", "extractor"],
)
def test_a_model_without_a_price_is_refused(chat_server, design, prices, change, said):
    def at(value):
        if isinstance(value, Roles):
            return Roles(extractor=at(value.extractor))
        return value.format(url=chat_server.url)

    changed = {key: at(value) for key, value in change.items()}
    systems = [
        replace(named, system=named.system.model_copy(update=changed)) for named in design.systems
    ]
    with pytest.raises(InputError, match=said):
        check_study_bounded(replace(design, systems=tuple(systems)), prices)


@pytest.mark.slow
def test_what_costs_nothing_needs_no_money(design, prices, tmp_path):
    systems = [
        replace(named, system=named.system.model_copy(update={"model": "offline"}))
        for named in design.systems
    ]
    free = design_of(design.sets[0].questions.source, systems)
    state = run_study(free, tmp_path / "S", StudyPace(max_cost=0.01, prices=prices)).state
    assert (state.done, state.stopped) == (24, None)


@pytest.mark.slow
def test_a_server_that_counts_no_tokens_ends_the_study(chat_server, design, prices, tmp_path):
    chat_server.play(lambda body: replace(reply(body), usage={}))
    pace = StudyPace(concurrency=1, max_cost=5.5, prices=prices)
    stopped = run_study(design, tmp_path / "S", pace).state.stopped
    assert stopped is not None
    assert "counts no tokens" in stopped
    assert len(chat_server.requests) == 1
    with pytest.raises(InputError, match="replies without a count of tokens"):
        run_study(design, tmp_path / "S", pace)


@pytest.mark.long
def test_a_call_that_timed_out_counts_with_all_that_it_can_have_cost(
    chat_server, make_system, question_file, prices, tmp_path
):
    """After the time-out there is not enough left to ask again."""
    chat_server.play(lambda body: hang())
    system = make_system(max_tokens=MAX_TOKENS, timeout=2)
    design = design_of(question_file(1), four_systems(system)[:1])
    ended = run_study(design, tmp_path / "S", StudyPace(max_cost=5.5, prices=prices))
    assert len(chat_server.requests) == 1
    assert ended.is_out_of_money


SPEC = ModelSpec.parse("openai:scripted@http://localhost:1/v1")
CALL = Usage(1_000, 250)
"""Costs 2 USD at most."""


async def test_a_call_waits_for_those_on_their_way_where_they_may_leave_enough(prices):
    spending, order = Spending(5.0, prices), []
    ends = [asyncio.Event() for _ in range(3)]

    async def call(number):
        async with spending.request(SPEC, CALL) as payment:
            order.append(number)
            await ends[number].wait()
            payment.usage = Usage(500, 0)

    calls = [asyncio.ensure_future(call(number)) for number in range(3)]
    for _ in range(5):
        await asyncio.sleep(0)
    assert (order, spending.reserved) == ([0, 1], 4.0)
    ends[0].set()
    await calls[0]
    # 2 set aside, .5 spent: the third fits beside them.
    for _ in range(5):
        await asyncio.sleep(0)
    assert order == [0, 1, 2]
    ends[1].set()
    ends[2].set()
    await asyncio.gather(*calls)
    assert (spending.spent, spending.reserved) == (1.5, 0.0)


@pytest.mark.parametrize(
    ("kind", "cost"),
    [("timeout", 2.0), ("cut", 2.0), ("invalid_response", 2.0), ("server", 0.0), ("auth", 0.0)],
)
async def test_a_failure_counts_where_it_may_have_been_paid_for(prices, kind, cost):
    spending = Spending(5.0, prices)
    with pytest.raises(ModelError):
        async with spending.request(SPEC, CALL):
            raise ModelError(kind, "it failed")
    assert (spending.spent, spending.reserved) == (cost, 0.0)


async def test_a_call_that_is_cancelled_on_its_way_counts_in_full(prices):
    spending = Spending(5.0, prices)

    async def call():
        async with spending.request(SPEC, CALL):
            await asyncio.Event().wait()

    task = asyncio.ensure_future(call())
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert (spending.spent, spending.reserved) == (2.0, 0.0)
