"""One call of a module."""

import asyncio
from typing import Any

import pytest

from branchwise.agents.caller import ModelCaller
from branchwise.agents.decoding import Decoding
from branchwise.agents.journal import MemoryJournal
from branchwise.agents.prompt_files import Prompts
from branchwise.agents.reply import Reply
from branchwise.agents.spec import ModelSpec
from branchwise.graphs.module_call import ask_module
from branchwise.graphs.state import ItemContext
from support.chat_server import ChatServer, hang, say


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
