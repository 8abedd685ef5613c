"""A plug-in's node as a step of the graph: read back or called, recorded, applied."""

import hashlib
import time
from dataclasses import dataclass, field
from typing import Any

import orjson
from langgraph.runtime import Runtime

from branchwise.agents.caller import ModelCaller
from branchwise.agents.journal import Asker, CallKey
from branchwise.corpora.plugins.injection import Filled
from branchwise.corpora.plugins.isolator import PluginFailure, isolator
from branchwise.corpora.text import one_line, storable
from branchwise.graphs.plugins.declared import NodePlugin
from branchwise.graphs.plugins.updates import applied, update_of
from branchwise.graphs.run_contexts import PluginCall, count_asked
from branchwise.graphs.state import AgentState, GraphNode, ItemContext
from branchwise.trace.events import Node as NodeEvent
from branchwise.trace.parts import ModelQuestion, Update
from branchwise.trace.records import Record

# A node that begins just before the item's seconds run out still gets this long.
MIN_SECONDS = 10.0
MAX_ERROR_CHARS = 500
_SEEN = ("messages", "pending", "readings", "evidence", "spent", "finish")
"""The part of the state that a node gets."""


@dataclass(frozen=True)
class NodeResult(Record):
    """The result of a call, as the journal keeps it."""

    OPTIONAL = frozenset({"asked"})
    asked: tuple[ModelQuestion, ...] = ()
    printed: str = ""
    error: str | None = None
    update: Update = field(default_factory=Update)


@dataclass(frozen=True)
class MadeNode:
    """A node with the values of its parameters."""

    plugin: NodePlugin
    filled: Filled = field(default_factory=Filled)

    @property
    def identity(self) -> dict[str, Any]:
        """Its part of what answers depend on: JSON-serialisable, free of paths."""
        return {
            "name": self.plugin.name,
            "slot": self.plugin.slot,
            "settings": self.filled.settings_json,
            "source": self.plugin.source.identity if self.plugin.source else {},
        }


def make_plugin_node(made: MadeNode, caller: ModelCaller | None = None) -> GraphNode:
    """The step of a plug-in's node. If it fails, the state stays as it was.

    `caller`: the agent's model, which it may ask. Its result is committed before it is used; a
    resumed item does not call it again.
    """
    plugin = made.plugin

    async def run(state: AgentState, runtime: Runtime[ItemContext]) -> dict[str, Any]:
        context, began = runtime.context, time.perf_counter()
        slot = context.journal.recall(_key(plugin, state))
        if slot.value is None:
            its_call = PluginCall(plugin.name, context, caller)
            result = await _called(made, state, its_call, slot.asker)
            await context.journal.keep(slot, result.record())
        else:
            result = NodeResult.read(slot.value)
            count_asked(plugin.name, result.asked, context.ledger)
        about = {"seconds": round(time.perf_counter() - began, 4), "replayed": bool(slot.value)}
        event = NodeEvent.read(
            {"name": plugin.name, "slot": plugin.slot, **about, **result.record()}
        )
        context.event(event)
        return applied(event, state)

    return run


async def _called(
    made: MadeNode, state: AgentState, its_call: PluginCall, asker: Asker | None
) -> NodeResult:
    plugin = made.plugin
    seen = {key: state[key] for key in _SEEN if key in state}  # type: ignore[literal-required]
    limit = min(plugin.seconds, max(its_call.item.time_left, MIN_SECONDS))
    printed, error, update = "", None, Update()
    try:
        with its_call.context(asker):
            called = await isolator(plugin.name).call(
                plugin.function,
                {plugin.state: seen},
                seconds=limit,
                injected=made.filled.now(),
                read=lambda returned: update_of(plugin.slot, returned, state),
            )
        printed, update = called.printed, called.value
    except PluginFailure as failure:
        printed, error = failure.printed, failure.line
    return NodeResult(
        asked=tuple(its_call.asked),
        printed=storable(printed),
        error=error and one_line(storable(error))[:MAX_ERROR_CHARS],
        update=update,
    )


def _key(plugin: NodePlugin, state: AgentState) -> CallKey:
    """A digest of the input that may differ between two calls of one item."""
    last = state["messages"][-1:]
    given = [(m.type, m.text) for m in (*last, *state["pending"])]
    body = orjson.dumps([plugin.slot, len(state["messages"]), given, state.get("readings", ())])
    return CallKey("node", plugin.name, hashlib.sha256(body).hexdigest())
