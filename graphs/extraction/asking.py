"""An extractor's requests: concurrent, bounded, in an order that a replay finds again."""

import asyncio
from collections.abc import Sequence

from branchwise.agents.caller import ModelCaller
from branchwise.agents.reply import ModelError
from branchwise.graphs.ledger import EXTRACTOR
from branchwise.graphs.module_call import ModuleReply, ask_module
from branchwise.graphs.state import ItemContext

MAX_AT_ONCE = 32
"""Concurrent extraction calls of one item."""


async def ask_all(
    caller: ModelCaller, requests: Sequence[tuple[str, str]], context: ItemContext
) -> list[ModuleReply]:
    """The extractor's replies to requests (system's and user's message), in order.

    After an error that every call would meet, no further call starts; calls in flight are awaited,
    because their replies are recorded and paid for.
    """
    said: dict[int, ModuleReply] = {}
    errors: list[ModelError] = []
    waiting = iter(enumerate(requests))

    async def work() -> None:
        # A message is sent in the step that takes it, so the journal's slots are in the order of
        # the messages, however fast the replies come, and a replay finds its own.
        for number, (system, message) in waiting:
            try:
                said[number] = await ask_module(caller, EXTRACTOR, system, message, context)
            except ModelError as error:
                errors.append(error)
            if errors:
                return

    await asyncio.gather(*(work() for _ in range(min(MAX_AT_ONCE, len(requests)))))
    if errors:
        raise errors[0]
    replies = [said[number] for number in range(len(requests))]
    # They wait concurrently: together no longer than the one that waited longest.
    context.waited += max((one.waited for one in replies), default=0.0)
    return replies
