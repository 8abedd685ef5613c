"""The tool calls of one turn, run concurrently; every call gets a result message.

Searches wait for a server that is gone, instead of telling the agent that they failed.
"""

import asyncio
import hashlib
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, TypeVar

import orjson
from langchain_core.tools import BaseTool
from langgraph.runtime import Runtime
from pydantic import ValidationError

from branchwise.agents.caller import ModelCaller
from branchwise.agents.journal import CallKey, Slot, item_of
from branchwise.agents.outages import PassEndedError
from branchwise.base.backoff import Sign
from branchwise.base.errors import DamagedDataError
from branchwise.base.text import one_line, whole_characters
from branchwise.corpora.retrieval import KeyRefusedError, RetrieverError
from branchwise.graphs.budget import Budget
from branchwise.graphs.messages import calls_of
from branchwise.graphs.module_call import PluginCall, count_asked
from branchwise.graphs.reduce import NOT_RUN, StateUpdate, answered
from branchwise.graphs.shown import KnownPassages, TurnPassages
from branchwise.graphs.state import AgentState, GraphNode, ItemContext, Spent
from branchwise.kg.answers import KgError
from branchwise.tools.artifacts import ToolArtifact
from branchwise.tools.built_in import BuiltInTool
from branchwise.tools.plugin_tools import PluggedTool
from branchwise.tools.registry import CORPUS_TOOLS
from branchwise.tools.result_text import ShownPassages
from branchwise.tools.tool_results import ToolError, bounded
from branchwise.trace.events import Tool
from branchwise.trace.parts import ModelQuestion
from branchwise.trace.records import Record

T = TypeVar("T")
E = TypeVar("E", bound=BaseException)
MAX_ERROR_CHARS = 500
# A call made just before the item's seconds run out still gets this long.
MIN_TOOL_SECONDS = 10.0
_TRIES = 3
"""Failures of one search at a server that answers others, until it counts as failed."""

Failure = Literal["arguments", "unknown_tool", "failed", "not_run"]
"""Why a call has no result: its arguments, its tool's name, the tool itself, or the budget."""


@dataclass(frozen=True)
class CallOutcome(Record):
    """The result of a call, as the journal keeps it: text for the model, artifact for the trace,
    and the error with its kind if it failed. Only for plug-ins: the call's own model calls.
    """

    OPTIONAL = frozenset({"asked"})
    content: str
    artifact: Mapping[str, Any]
    error: str | None = None
    failure: str | None = None
    asked: tuple[ModelQuestion, ...] = ()


def make_tool_node(
    tools: Sequence[BaseTool],
    budget: Budget,
    caller: ModelCaller | None = None,
    left: Callable[[Budget, Spent], str] | None = None,
    known: KnownPassages | None = None,
) -> GraphNode:
    """The node `tools`: answers every tool call of the last message. `caller`: the agent's model,
    which plug-ins may ask. `left`: what results say at their end of the budget. `known`: passages
    that are named where a search finds them again; None shows all whole."""
    by_name = {tool.name: tool for tool in tools}

    async def run_tools(state: AgentState, runtime: Runtime[ItemContext]) -> StateUpdate:
        context = runtime.context
        calls, kept = calls_of(state), state.get("kept") or {}
        limits = (context.share or budget).of(state.get("readings", ()))
        allowed = max(0, limits.calls - state["spent"].calls)
        shown = TurnPassages(known, state, context.question) if known else None
        said = partial(left, limits) if left else None
        turn = _Turn(by_name, caller, context, state["spent"], said, shown)
        for n, result in kept.items():
            turn.end(n, result.content, result.artifact)
        for n, call in enumerate(calls):
            # Anyone's tool may hang: a search waits only for searches.
            if call["name"] not in CORPUS_TOOLS:
                turn.end(n)
        begun = [
            turn.answer(n, call, within_budget=n < allowed)
            for n, call in enumerate(calls)
            if n not in kept
        ]
        # Most turns make one call, which needs no task of its own.
        made = iter([await begun[0]] if len(begun) == 1 else await asyncio.gather(*begun))
        # They wait concurrently: together no longer than the one that waited longest.
        context.waited += max(turn.waits.values(), default=0.0)
        results = [kept[n] if n in kept else next(made) for n in range(len(calls))]
        return answered(results, state)

    return run_tools


@dataclass(frozen=True)
class _Turn:
    """The calls of one turn; `spent` before them."""

    tools: Mapping[str, BaseTool]
    caller: ModelCaller | None
    context: ItemContext
    spent: Spent
    left: Callable[[Spent], str] | None
    shown: TurnPassages | None
    waits: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    """Seconds that each call waited for a server that was gone."""

    def end(self, of: int, content: str = "", artifact: Mapping[str, Any] | None = None) -> None:
        """Call number `of` has ended: the calls behind it need not wait for it."""
        if self.shown:
            self.shown.end(of, content, artifact)

    def answer(
        self, of: int, call: Mapping[str, Any], *, within_budget: bool
    ) -> Coroutine[Any, Any, Tool]:
        """Call number `of` of the turn. It takes its slot now, in the model's order, so that a
        replay matches."""
        refused = _refusal(call, self.tools) if within_budget else _NOT_RUN
        slot = None if refused else self.context.journal.recall(_key(call))
        return self._finish(of, call, slot, refused)

    async def _finish(
        self, of: int, call: Mapping[str, Any], slot: Slot | None, refused: CallOutcome | None
    ) -> Tool:
        began = time.perf_counter()
        replayed = slot is not None and slot.value is not None
        result = CallOutcome("", {})
        try:
            result = await self._result(of, call, slot, refused)
        finally:
            self.end(of, result.content, result.artifact)
        seconds = time.perf_counter() - began - self.waits[of]
        about = {"of": of, "seconds": round(seconds, 4), "replayed": replayed}
        own = {"id": call["id"], "name": call["name"], "args": call["args"]}
        left = {}
        if self.left and result is not _NOT_RUN:
            left = {"left": self.left(self.spent.plus(calls=of + 1))}
        event = Tool.read({"call": own, **about, **result.record(), **left})
        self.context.event(event)
        return event

    async def _result(
        self, of: int, call: Mapping[str, Any], slot: Slot | None, refused: CallOutcome | None
    ) -> CallOutcome:
        if slot is None:
            assert refused is not None
            return refused
        if slot.value is not None:
            result = CallOutcome.read(slot.value)
            count_asked(call["name"], result.asked, self.context.ledger)
            return result
        tool = self.tools[call["name"]]
        if isinstance(tool, PluggedTool):
            result = await _call_plugged(tool, call, self.context, slot, self.caller)
        else:
            assert isinstance(tool, BuiltInTool)
            shown = self.shown.at(of) if self.shown else None
            result = await _call_built_in(tool, call, self.context, shown, partial(self._wait, of))
        await self.context.journal.keep(slot, result.record())
        return result

    def _wait(self, of: int, seconds: float) -> None:
        self.waits[of] += seconds


def _refusal(call: Mapping[str, Any], tools: Mapping[str, BaseTool]) -> CallOutcome | None:
    """Why a call cannot be made at all: arguments that are not a JSON object, an unknown tool."""
    # It counts against the tool-call budget: a model that writes nothing else has to stop.
    if call.get("type") == "invalid_tool_call" or not isinstance(call["args"], dict):
        return _refused(
            "the arguments are not a JSON object; send the call again with valid JSON", "arguments"
        )
    if call["name"] not in tools:
        known = ", ".join(tools)
        return _refused(
            f"there is no tool {str(call['name'])[:80]!r}; the tools are: {known}", "unknown_tool"
        )
    return None


def _refused(problem: str, failure: Failure) -> CallOutcome:
    return CallOutcome(f"Error: {problem}", {}, problem, failure)


_NOT_RUN = _refused("not run: the tool-call budget is spent", NOT_RUN)


def _key(call: Mapping[str, Any]) -> CallKey:
    body = orjson.dumps([call["name"], call["args"]], option=orjson.OPT_SORT_KEYS)
    return CallKey("tool", str(call["name"]), hashlib.sha256(body).hexdigest())


async def _call_built_in(
    tool: BuiltInTool,
    call: Mapping[str, Any],
    context: ItemContext,
    shown: ShownPassages | None,
    on_wait: Callable[[float], None],
) -> CallOutcome:
    """Run the tool; whatever it raises becomes a result that the model can act on."""
    limit = max(context.time_left, MIN_TOOL_SECONDS)

    async def answer() -> tuple[str, ToolArtifact]:
        async with asyncio.timeout(limit):
            return await tool.answer(call["args"], shown)

    try:
        text, artifact = await waited_for(answer, tool.address, context, on_wait)
    except PassEndedError:
        raise
    except TimeoutError:
        return _failure(f"no result within {limit:.0f} seconds")
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        return _failure(f"bad arguments: {where}: {first['msg']}", "arguments")
    except ToolError as error:
        text = bounded(str(error))
        return CallOutcome(f"Error: {text}", {}, one_line(text)[:MAX_ERROR_CHARS], "failed")
    except Exception as error:  # noqa: BLE001 - a tool is anyone's code; it must not end the item
        return _failure(f"{type(error).__name__}: {error}")
    return CallOutcome(bounded(text), artifact)


async def _call_plugged(
    tool: PluggedTool,
    call: Mapping[str, Any],
    context: ItemContext,
    slot: Slot,
    caller: ModelCaller | None,
) -> CallOutcome:
    """Call a plug-in's tool, which always returns a result."""
    plugin_call = PluginCall(tool.name, context, caller)
    seconds = max(context.time_left, MIN_TOOL_SECONDS)
    with plugin_call.context(slot.asker):
        result = await tool.call(call["args"], seconds, str(call["id"] or ""))
    return CallOutcome(
        result.content if result.error is None else bounded(result.content),
        result.artifact,
        None if result.error is None else result.error[:MAX_ERROR_CHARS],
        result.failure,
        tuple(plugin_call.asked),
    )


def _failure(problem: str, failure: Failure = "failed") -> CallOutcome:
    return _refused(one_line(whole_characters(problem))[:MAX_ERROR_CHARS], failure)


async def waited_for(
    search: Callable[[], Awaitable[T]],
    server: str | None,
    context: ItemContext,
    on_wait: Callable[[float], None],
) -> T:
    """What `search` brings; it is repeated once its server is back. `server` None: it asks none.
    `on_wait` gets the seconds of each wait, which are not the question's. Raises what the search
    raises, ServerGoneError, and PassEndedError where the server no longer takes the key, or what is
    searched here is damaged."""
    watch = None
    if server is not None and context.outages is not None:
        watch = context.outages.at(server)
    item = item_of(context.journal)
    for tries_left in reversed(range(_TRIES)):
        try:
            if watch is None:
                return await search()
            return await watch.asked(search, of=item, sign=_sign, on_wait=on_wait)
        except DamagedDataError as error:
            raise PassEndedError(str(error)) from error
        except Exception as error:
            if watch is None:
                raise
            if refusal := _cause(error, KeyRefusedError):
                raise PassEndedError(f"{server}: {refusal}; {refusal.remedy}") from error
            if _sign(error) not in ("gone", "lost") or not (tries_left and watch.patience):
                raise
    raise AssertionError


def _sign(error: BaseException | None) -> Sign | None:
    """What a failed search says of its server, also where a tool tells it in words of its own."""
    failed = _cause(error, RetrieverError) or _cause(error, KgError)
    return failed.sign if failed else None


def _cause(error: BaseException | None, of: type[E]) -> E | None:
    while error is not None and not isinstance(error, of):
        error = error.__cause__
    return error
