"""Steps of one's own in the graph: `@node`, what each slot may change, and how a call changes it.

The event is the only record: a first run, a resumed one and a fork apply the same event.
"""

import hashlib
import inspect
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import orjson
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langgraph.runtime import Runtime
from langgraph.types import Command
from pydantic import BaseModel

from branchwise.agents.caller import ModelCaller
from branchwise.agents.journal import CallKey
from branchwise.base.errors import InputError, did_you_mean
from branchwise.base.plugins.call import PluginFailure, call
from branchwise.base.plugins.declare import (
    Declaration,
    Group,
    InjectionContext,
    Plugin,
    group_of,
)
from branchwise.base.plugins.sources import WrongResult
from branchwise.base.plugins.specs import find_plugin, load_plugin
from branchwise.base.text import one_line, storable
from branchwise.corpora.open import is_plugin_retriever
from branchwise.graphs.check_node import plain_answer
from branchwise.graphs.flows import SLOTS, NodeSlot
from branchwise.graphs.list_replies import MAX_CHARS, MAX_READINGS
from branchwise.graphs.module_call import PluginCall, count_asked
from branchwise.graphs.reduce import StateUpdate, tokens_of
from branchwise.graphs.state import AgentState, GraphNode, ItemContext
from branchwise.tools.tool_results import bounded, read_artifact
from branchwise.trace.events import Node as NodeEvent
from branchwise.trace.parts import ChangedMessage, ModelQuestion, Update
from branchwise.trace.records import Record

DEFAULT_SECONDS = 60.0
# A node that begins just before the item's seconds run out still gets this long.
MIN_SECONDS = 10.0
MAX_ERROR_CHARS = 500
_SEEN = ("messages", "pending", "readings", "evidence", "spent", "finish")
"""The part of the state that a node gets."""


@dataclass(frozen=True, eq=False, kw_only=True)
class NodePlugin(Plugin):
    """A declared node. `state`: name of the parameter that gets the state. `seconds`: a call that
    takes longer is stopped."""

    plugin_group: ClassVar[Group] = "nodes"
    fills: ClassVar[tuple[str, ...]] = ("corpus", "graph", "run", "settings")
    may_wait: ClassVar[bool] = True
    # A slot, not a free edge: a fork must know where it enters, and what the agent has seen.
    slot: NodeSlot
    state: str
    seconds: float = DEFAULT_SECONDS

    @property
    def identity(self) -> dict[str, Any]:
        """Its part of what answers depend on: JSON-serialisable, free of paths."""
        about = {"name": self.name, "slot": self.slot, "settings": self.chosen_json}
        return {**about, "source": self.source.identity}


def node(
    slot: NodeSlot,
    *,
    name: str | None = None,
    seconds: float = DEFAULT_SECONDS,
    settings: type[BaseModel] | None = None,
) -> Callable[[Callable[..., Any]], NodePlugin]:
    """Declare a function as a step of the graph: `@node("after_tools")`.

    In a run the function, asynchronous or not, gets a copy of the state (`AgentState`) and returns
    its changes, or None: `before_agent` the messages `pending` and the texts `readings`,
    `after_tools` the tool messages `pending`, `before_answer` the last of `messages`,
    `after_answer` the messages `pending` that send the agent back. Parameters
    annotated as `Corpus`, `Graph`, `RunContext` or as the `settings` class are filled in. `name`:
    of the node, by default the function's. `seconds`: a call that takes longer is stopped. Raises
    InputError for an unknown slot, a missing docstring, an invalid name, a signature that cannot be
    called, or an invalid limit.
    """

    def read(declaration: Declaration) -> Mapping[str, Any]:
        if slot not in SLOTS:
            what = f"the node {declaration.name} has the slot {str(slot)[:80]!r}"
            raise declaration.refused(what, f"slots are {', '.join(SLOTS)}")
        by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        others = list(declaration.others.values())
        right = bool(others) and all(parameter.kind in by_name for parameter in others)
        if not right or any(
            parameter.default is inspect.Parameter.empty for parameter in others[1:]
        ):
            raise declaration.refused(
                f"the node {declaration.name} cannot be called with a state alone",
                "write `async def name(state: AgentState)`, and annotate what is to be filled in "
                "(Corpus, Graph, RunContext, the settings)",
            )
        return {"slot": slot, "state": others[0].name}

    return lambda function: NodePlugin.declared(
        function, read, name=name, seconds=seconds, settings=settings
    )


def load_node(spec: str) -> NodePlugin:
    """The node that a spec names. Raises a one-line InputError if there is none."""
    plugin: NodePlugin = load_plugin(spec, "nodes")
    return plugin


def make_nodes(specs: Sequence[str], context: InjectionContext) -> list[NodePlugin]:
    """The nodes in order, with settings and other injected values. Raises InputError for a spec
    that does not name a node, two nodes of the same name, settings that do not fit, and a missing
    corpus or graph."""
    nodes: list[NodePlugin] = []
    for spec in specs:
        plugin = load_node(spec)
        if plugin.name in [other.name for other in nodes]:
            raise InputError(
                f"two nodes are called {plugin.name!r}: {', '.join(specs)}",
                where="--node",
                remedy="leave one out, or give it another name: @node(..., name=...)",
            )
        nodes.append(plugin.fill(context))
    return nodes


def check_named(settings: Iterable[str], names: Iterable[str], retriever: str | None) -> None:
    """Raise InputError for settings that belong to none of `names` and not to the retriever."""
    known = list(names)
    if is_plugin_retriever(retriever):
        searched = find_plugin(str(retriever), "retrievers").object
        if group_of(searched) != "retrievers":
            return  # a function that makes one: its name is known only after a call
        known.append(searched.name)
    for name in settings:
        if name not in known:
            listed = f"the system has {', '.join(known)}" if known else "the system has none"
            raise InputError(
                f"no plug-in is called {name!r}",
                where=f"--set {name}",
                remedy=did_you_mean(name, known, else_=listed),
            )


@dataclass(frozen=True)
class NodeResult(Record):
    OPTIONAL = frozenset({"asked"})
    asked: tuple[ModelQuestion, ...] = ()
    error: str | None = None
    update: Update = field(default_factory=Update)


def make_plugin_node(
    plugin: NodePlugin, caller: ModelCaller | None = None, then: str | None = None
) -> GraphNode:
    """The step of a plug-in's node. If it fails, the state stays as it was. `caller`: the agent's
    model, which it may ask. Its result is committed before it is used; a resumed item does not call
    it again. `then`: after an answer, the step that follows where the agent is not sent back."""

    async def run(
        state: AgentState, runtime: Runtime[ItemContext]
    ) -> dict[str, Any] | Command[str]:
        context, began = runtime.context, time.perf_counter()
        slot = context.journal.recall(_key(plugin, state))
        if slot.value is None:
            plugin_call = PluginCall(plugin.name, context, caller)
            with plugin_call.context(slot.asker):
                result = await _called(plugin, state, plugin_call)
            await context.journal.keep(slot, result.record())
        else:
            result = NodeResult.read(slot.value)
            count_asked(plugin.name, result.asked, context.ledger)
        about = {"seconds": round(time.perf_counter() - began, 4), "replayed": bool(slot.value)}
        event = NodeEvent.read(
            {"name": plugin.name, "slot": plugin.slot, **about, **result.record()}
        )
        context.event(event)
        change = applied(event, state)
        if then is None:
            return change
        return Command(update=change, goto="agent" if "pending" in change else then)

    return run


async def _called(plugin: NodePlugin, state: AgentState, plugin_call: PluginCall) -> NodeResult:
    seen = {key: state[key] for key in _SEEN if key in state}  # type: ignore[literal-required]
    if plugin.slot == "after_answer":
        seen["answers"] = plain_answer(state["prediction"])
    error, update = None, Update()
    try:
        update = await call(
            plugin.name,
            plugin.function,
            {plugin.state: seen},
            seconds=min(plugin.seconds, max(plugin_call.item.time_left, MIN_SECONDS)),
            injected=plugin.now(),
            read=lambda returned: update_of(plugin.slot, returned, state),
        )
    except PluginFailure as failure:
        error = one_line(storable(failure.line))[:MAX_ERROR_CHARS]
    return NodeResult(asked=tuple(plugin_call.asked), error=error, update=update)


def _key(plugin: NodePlugin, state: AgentState) -> CallKey:
    """A digest of the input that may differ between two calls of one item."""
    last = state["messages"][-1:]
    given = [(m.type, m.text) for m in (*last, *state["pending"])]
    body = orjson.dumps([plugin.slot, len(state["messages"]), given, state.get("readings", ())])
    return CallKey("node", plugin.name, hashlib.sha256(body).hexdigest())


_KINDS: Mapping[str, type[BaseMessage]] = {
    "system": SystemMessage,
    "human": HumanMessage,
    "ai": AIMessage,
}


def applied(node: NodeEvent, state: AgentState) -> StateUpdate:
    """How a node's event changes the state. Raises LookupError for an event that no version of ours
    wrote."""
    update, change = node.update, StateUpdate()
    if update.messages is not None:
        # The new text is read as an answer, whatever was wrong with the text that it replaces.
        change |= {"messages": [_message(changed) for changed in update.messages], "finish": "stop"}
    if update.readings is not None:
        change["readings"] = update.readings
    if update.pending is not None:
        pending = list(state["pending"])
        for result in update.results:
            of, now = result.of or 0, {"content": result.content, "artifact": result.artifact}
            pending[of] = pending[of].model_copy(update=now)
        change["pending"] = pending if update.results else [_message(m) for m in update.pending]
        shown = dict.fromkeys(p.id for result in update.results for p in result.found.passages)
        if new := [id for id in shown if id not in state["evidence"]]:
            change["evidence"] = new
    if node.asked:
        change["spent"] = state["spent"].plus(usage=tokens_of(node.asked))
    return change


def _message(changed: ChangedMessage) -> BaseMessage:
    return _KINDS[changed.type or ""](content=changed.content)


def update_of(slot: NodeSlot, returned: Any, state: AgentState) -> Update:
    """The changes of `returned` to `state`; empty if there are none. A message counts as its kind
    and its text, at most 200,000 characters, so that the run continues with exactly what is
    recorded. Raises WrongResult."""
    if returned is None:
        return Update()
    readers = _READERS[slot]
    allowed = " and ".join(readers)
    if not isinstance(returned, Mapping):
        raise WrongResult(
            f"returned a {type(returned).__name__}; return {{{allowed}: ...}} or None"
        )
    if unknown := [key for key in returned if key not in readers]:
        raise WrongResult(f"returned {str(unknown[0])[:80]!r}; a node {slot} returns {allowed}")
    return Update(**{key: readers[key](value, state) for key, value in returned.items()})


def _opening(value: Any, state: AgentState) -> tuple[ChangedMessage, ...] | None:
    """What the agent is asked: at first the system's message, the user's, and perhaps examples in
    between; after an answer, what sends it back."""
    messages = _messages(value, "pending")
    for number, message in enumerate(messages):
        if type(message) not in _KINDS.values() or getattr(message, "tool_calls", None):
            raise WrongResult(
                f"returned a {type(message).__name__} as pending[{number}]; write "
                "SystemMessage, HumanMessage and AIMessage without tool calls"
            )
        if state["messages"] and message.type == "system":
            raise WrongResult(f"returned a SystemMessage as pending[{number}]; the agent has one")
    if not messages or messages[-1].type != "human":
        raise WrongResult("returned pending without a message of the user at its end")
    records = tuple(map(_record, messages))
    return None if records == tuple(map(_record, state["pending"])) else records


def _readings(value: Any, state: AgentState) -> tuple[str, ...] | None:
    if not isinstance(value, list | tuple) or not all(isinstance(text, str) for text in value):
        raise WrongResult("returned readings that are not a list of texts")
    readings = tuple(one_line(storable(text)) for text in value)
    if len(readings) > MAX_READINGS or any(not 0 < len(text) <= MAX_CHARS for text in readings):
        most = f"at most {MAX_READINGS} texts of 1 to {MAX_CHARS} characters"
        raise WrongResult(f"returned readings that are not {most}")
    return None if readings == tuple(state.get("readings", ())) else readings


def _results(value: Any, state: AgentState) -> tuple[ChangedMessage, ...] | None:
    messages, before = _messages(value, "pending"), state["pending"]
    ids = [[getattr(m, "tool_call_id", None) for m in given] for given in (messages, before)]
    if ids[0] != ids[1]:
        raise WrongResult(
            "returned other tool messages than it was given; return one for each in pending, with "
            "its tool_call_id, in the same order"
        )
    records = []
    for number, (old, new) in enumerate(zip(before, messages, strict=True)):
        had, has = (getattr(m, "artifact", None) or {} for m in (old, new))
        content, artifact = bounded(str(new.text)), had if has == had else read_artifact(has)
        if content != old.text or artifact != had:
            records.append(ChangedMessage(of=number, content=content, artifact=artifact))
    return tuple(records) or None


def _last_words(value: Any, state: AgentState) -> tuple[ChangedMessage, ...]:
    messages = _messages(value, "messages")
    if len(messages) != 1 or type(messages[0]) is not AIMessage or messages[0].tool_calls:
        what = "returned other messages than one AIMessage without tool calls"
        raise WrongResult(f"{what}; its text is read as the answer")
    return (_record(messages[0]),)


def _record(message: BaseMessage) -> ChangedMessage:
    return ChangedMessage(type=message.type, content=bounded(str(message.text)))


def _messages(value: Any, key: str) -> Sequence[BaseMessage]:
    if not isinstance(value, list | tuple):
        raise WrongResult(f"returned {key} as a {type(value).__name__}; return a list of messages")
    for number, message in enumerate(value):
        if not isinstance(message, BaseMessage):
            what = f"returned a {type(message).__name__} as {key}[{number}]"
            raise WrongResult(f"{what}; return messages")
    return value


_READERS: Mapping[NodeSlot, Mapping[str, Callable[[Any, AgentState], Any]]] = {
    "before_agent": {"pending": _opening, "readings": _readings},
    "after_tools": {"pending": _results},
    "before_answer": {"messages": _last_words},
    "after_answer": {"pending": _opening},
}
"""What a node of a slot may return, and how each part is read."""
