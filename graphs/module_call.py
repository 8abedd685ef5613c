"""One model call of a module: a failure of it is not the item's."""

import time
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import HumanMessage, SystemMessage

from branchwise.agents.caller import ModelCaller
from branchwise.agents.reply import ModelError
from branchwise.graphs.answer_node import DECLINED
from branchwise.graphs.state import ItemContext
from branchwise.trace.parts import Usage

NO_USAGE = Usage(0, 0)
SILENT = "the reply was cut at the token limit before it said anything"


@dataclass(frozen=True)
class ModuleReply:
    """What a module's model said, or in `error` why that cannot be used (`text` is then empty).

    `waited`: seconds for its turn, to be taken off the item's (`ItemContext.waited`). `cut`: the
    text ends at the token limit.
    """

    text: str
    reasoning: str = ""
    error: str | None = None
    usage: Usage = NO_USAGE
    seconds: float = 0.0
    replayed: bool = False
    waited: float = 0.0
    cut: bool = False

    @property
    def facts(self) -> dict[str, Any]:
        """What an event keeps of the call beside what was read out of its text, by its fields."""
        return {
            "reasoning": self.reasoning,
            "error": self.error,
            "usage": self.usage,
            "seconds": round(self.seconds, 4),
            "replayed": self.replayed,
        }


async def ask_module(
    caller: ModelCaller, role: str, system: str, user: str, context: ItemContext
) -> ModuleReply:
    """Ask once, in half of the time that is left: a module that hangs leaves the agent the rest.

    The reply is charged to `role`.

    Raises:
        ModelError: one that every other call would meet too.
    """
    began = time.perf_counter()
    try:
        reply = await caller.ask(
            [SystemMessage(system), HumanMessage(user)],
            role=role,
            journal=context.journal,
            time_left=context.time_left / 2,
        )
    except ModelError as error:
        if error.is_everywhere:
            raise
        return ModuleReply("", error=f"{error.kind}: {error}", seconds=time.perf_counter() - began)
    context.charge(role, reply)
    text = str(reply.message.text)
    problem = DECLINED.get(reply.finish)
    if reply.finish == "length" and not text.strip():
        problem = SILENT
    return ModuleReply(
        "" if problem else text,
        reply.reasoning,
        problem,
        reply.usage,
        reply.seconds,
        reply.replayed,
        reply.waited,
        reply.finish == "length",
    )
