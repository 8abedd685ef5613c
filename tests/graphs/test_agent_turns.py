"""What a turn of the agent or a module may take, and how a conversation is kept to fit."""

import asyncio
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from branchwise.agents.caller import ModelCaller
from branchwise.agents.decoding import Decoding
from branchwise.agents.journal import MemoryJournal
from branchwise.agents.prompt_files import Prompts
from branchwise.agents.reply import Reply
from branchwise.agents.spec import ModelSpec
from branchwise.graphs.agent_node import spent_reason
from branchwise.graphs.budget import Budget
from branchwise.graphs.messages import OMITTED, PromptGrowth, oldest_to_omit, with_omissions
from branchwise.graphs.module_call import ask_module
from branchwise.graphs.state import ItemContext, Spent
from branchwise.trace.parts import Usage
from support.chat_server import ChatServer, hang, say

BUDGET = Budget(turns=4, calls=6, tokens=1000, seconds=30)


@pytest.mark.parametrize(
    ("spent", "seconds", "reason"),
    [
        (Spent(), 0.0, None),
        (Spent(turns=2, calls=5, tokens=999), 29.9, None),
        (Spent(turns=3), 0.0, "4 model turns"),
        (Spent(calls=6), 0.0, "6 tool calls"),
        (Spent(tokens=1000), 0.0, "1000 tokens"),
        (Spent(), 30.0, "30 seconds"),
    ],
)
def test_the_last_turn_is_kept_for_the_answer(spent, seconds, reason):
    assert spent_reason(BUDGET, spent, seconds) == reason


def conversation(results):
    messages = [HumanMessage("q")]
    for n in range(results):
        messages += [AIMessage(f"turn {n}"), ToolMessage(f"result {n}", tool_call_id=f"c{n}")]
    return messages


def test_half_of_the_results_that_are_left_are_omitted_rounded_up():
    messages = conversation(5)
    assert oldest_to_omit(messages, 0) == 3
    assert oldest_to_omit(messages, 3) == 4
    assert oldest_to_omit(messages, 4) == 5
    assert oldest_to_omit(messages, 5) == 5


def test_the_oldest_results_lose_their_content_and_keep_their_call():
    messages = conversation(3)
    shown = with_omissions(messages, 2)
    results = [m for m in shown if isinstance(m, ToolMessage)]
    assert [m.content for m in results] == [OMITTED, OMITTED, "result 2"]
    assert [m.tool_call_id for m in results] == ["c0", "c1", "c2"]
    assert next(m.content for m in messages if isinstance(m, ToolMessage)) == "result 0"


START = [SystemMessage("s" * 4000), HumanMessage("q" * 8000)]
LONG = HumanMessage("passage " * 750)  # 6,000 bytes: at most 2,400 tokens


@pytest.mark.parametrize(
    ("counted", "cached", "is_cut"),
    [
        (3000, 0, True),
        (2700, 0, True),
        (4500, 0, False),  # it grew
        (1400, 0, False),  # new tokens only, as with a cache that is not counted
        (2500, 3000, False),  # the rest is told to be cached
        (0, 0, False),  # nothing was counted
    ],
)
def test_only_a_count_that_stands_still_is_a_prompt_that_was_cut(counted, cached, is_cut):
    growth = PromptGrowth()
    assert not growth.is_cut(START, 0, Usage(3000, 1))
    usage = Usage(counted, 1, cached=cached)
    assert growth.is_cut([*START, LONG], 0, usage) is is_cut


@pytest.mark.parametrize(
    ("messages", "omitted"),
    [
        ([*START, LONG], 1),  # results are left out
        ([START[0], HumanMessage("shorter"), LONG], 0),  # a node compacted the conversation
        ([*START, HumanMessage("go on")], 0),  # it hardly grew
        (START, 0),  # the same once more
    ],
)
def test_other_requests_are_not_compared(messages: list[BaseMessage], omitted: int) -> None:
    growth = PromptGrowth()
    growth.is_cut(START, 0, Usage(3000, 1))
    assert not growth.is_cut(messages, omitted, Usage(2900, 1))


class Watched(ModelCaller):
    """A caller that notes how many seconds it was given."""

    time_left: float | None = None

    async def ask(self, *args: Any, time_left: float | None = None, **more: Any) -> Reply:
        self.time_left = time_left
        return await super().ask(*args, time_left=time_left, **more)


def watched(server: ChatServer) -> Watched:
    spec = ModelSpec.parse(f"openai:scripted@{server.url}")
    return Watched(spec, Decoding(attempts=1), Prompts.load())


@pytest.mark.slow
async def test_a_module_may_take_half_of_the_time_that_is_left(chat_server: ChatServer) -> None:
    chat_server.play([say("yes")])
    times = iter([1000.0, 1100.0])
    context = ItemContext(MemoryJournal(), 600.0, clock=lambda: next(times))
    caller = watched(chat_server)
    said = await ask_module(caller, "expander", "system", "user", context)
    await caller.aclose()
    assert caller.time_left == 250.0
    assert (said.text, said.error) == ("yes", None)
    assert context.ledger.roles["expander"].calls == 1


async def test_without_time_nothing_is_sent(chat_server: ChatServer) -> None:
    times = iter([0.0, 601.0])
    context = ItemContext(MemoryJournal(), 600.0, clock=lambda: next(times))
    caller = watched(chat_server)
    said = await ask_module(caller, "extractor", "system", "user", context)
    assert said.error is not None
    assert said.error.startswith("timeout: ")
    assert chat_server.requests == []
    assert context.ledger.roles == {}


async def test_an_interrupt_is_no_failure_of_the_module(chat_server: ChatServer) -> None:
    arrived = asyncio.Event()
    loop = asyncio.get_running_loop()

    def script(body: dict[str, Any]) -> Any:
        loop.call_soon_threadsafe(arrived.set)
        return hang()

    chat_server.play(script)
    caller = watched(chat_server)
    context = ItemContext(MemoryJournal(), 600.0)
    asking = asyncio.create_task(ask_module(caller, "expander", "system", "user", context))
    await arrived.wait()
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    await caller.aclose()
    assert asking.cancelled()
