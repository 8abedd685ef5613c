"""Model calls of modules and plug-ins: a failure of one is not the item's."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import HumanMessage, SystemMessage

from branchwise.agents.caller import ModelCaller
from branchwise.agents.journal import Asker
from branchwise.agents.outages import PassEndedError
from branchwise.agents.reply import ModelError
from branchwise.base.plugins.call import RunContext, running
from branchwise.base.text import whole_characters
from branchwise.graphs.answer_node import DECLINED
from branchwise.graphs.ledger import AGENT, CHECKER, EXPANDER, EXTRACTOR, Ledger
from branchwise.graphs.state import ItemContext
from branchwise.trace.parts import ModelQuestion, Usage

NO_USAGE = Usage(0, 0)
SILENT = "the reply was cut at the token limit before it said anything"


@dataclass(frozen=True)
class ModuleReply:
    """What a module's model said, or in `error` why that cannot be used (`text` is then empty).
    `waited`: seconds for its turn, to be taken off the item's (`ItemContext.waited`). `cut`: the
    text ends at the token limit."""

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
        # Not kept in the journal: `resume` repeats the call.
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


MAX_ASKS = 64
"""Requests that one call may make to the model: the budget of turns does not count them."""
MAX_KEPT_CHARS = 20_000
"""Characters of each prompt and message that the trace keeps."""
_ROLES = (AGENT, EXPANDER, EXTRACTOR, CHECKER, "matcher", "judge", "repair")


@dataclass
class PluginCall:
    """One call of a plug-in: `asked` is what it asked the model, as the trace keeps it. `stopped`:
    why the pass has to end, whatever the plug-in made of it."""

    name: str
    item: ItemContext
    caller: ModelCaller | None
    asked: list[ModelQuestion] = field(default_factory=list)
    stopped: PassEndedError | None = None
    _ended: bool = False

    @contextmanager
    def context(self, asker: Asker | None) -> Iterator[RunContext]:
        """The call's `RunContext`, valid while the call lasts. Raises PassEndedError at its end."""
        loop = asyncio.get_running_loop()
        gone_before = self._gone_seconds

        def begin(system: str, message: str) -> "Future[str]":
            # Plug-ins run in another loop or on a thread, but connections and journal belong here.
            self._check_lasts()
            return asyncio.run_coroutine_threadsafe(self._ask(system, message), loop)

        made = RunContext(
            question=self.item.question,
            item=asker.question if asker else "",
            epoch=asker.epoch if asker else 0,
            time_left=lambda: self.item.time_left,
            model=begin,
            waited=lambda: self._gone_seconds - gone_before,
        )
        try:
            with running(made):
                yield made
        finally:
            self._ended = True
            self.item.waited += made.waited()
            if self.stopped:
                raise self.stopped

    @property
    def _gone_seconds(self) -> float:
        return self.caller.gone_seconds if self.caller else 0.0

    def _check_lasts(self) -> None:
        if self._ended:
            raise RuntimeError("the call that asks has ended")

    async def _ask(self, system: str, message: str) -> str:
        self._check_lasts()
        if self.caller is None:
            raise RuntimeError("no model to ask here")
        if len(self.asked) >= MAX_ASKS:
            raise RuntimeError(f"a call may ask the model {MAX_ASKS} times")
        system, message = whole_characters(system), whole_characters(message)
        number = len(self.asked)
        question = ModelQuestion(system[:MAX_KEPT_CHARS], message[:MAX_KEPT_CHARS])
        self.asked.append(question)
        try:
            reply = await ask_module(self.caller, role_of(self.name), system, message, self.item)
        except PassEndedError as error:
            self.stopped = error
            raise
        content = whole_characters(reply.text)[:MAX_KEPT_CHARS]
        self.asked[number] = question.changed(content=content, **reply.facts)
        if reply.error is not None:
            raise RuntimeError(f"the model gave no answer: {reply.error}")
        return reply.text


def role_of(name: str) -> str:
    """The name under which a plug-in's model calls are counted: its own, unless that is taken."""
    return f"{name} (plug-in)" if name in _ROLES else name


def count_asked(name: str, asked: Sequence[ModelQuestion], ledger: Ledger) -> None:
    """Count the model calls of a recorded call: they were paid for and are not repeated."""
    for one in asked:
        if one.usage:
            ledger.count(role_of(name), one.usage, one.seconds or 0.0)
