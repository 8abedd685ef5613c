"""What a node returned, as the trace keeps it, and how that changes the state.

The event is the only record: a first run, a resumed one and a fork apply the same event.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from branchwise.corpora.plugins.faults import WrongResult
from branchwise.corpora.text import one_line, storable
from branchwise.graphs.plugins.slots import RETURNS, NodeSlot
from branchwise.graphs.readings import MAX_CHARS, MAX_READINGS
from branchwise.graphs.reduce import StateUpdate, tokens_of
from branchwise.graphs.state import AgentState
from branchwise.tools.plugins.results import bounded, read_artifact
from branchwise.trace.events import Node
from branchwise.trace.parts import ChangedMessage, Update

MAX_MESSAGES = 100
"""Of an opening: more is not a plausible question."""

_KINDS: Mapping[str, type[BaseMessage]] = {
    "system": SystemMessage,
    "human": HumanMessage,
    "ai": AIMessage,
}


def update_of(slot: NodeSlot, returned: Any, state: AgentState) -> Update:
    """The changes of `returned` to `state`; empty if there are none.

    A message counts as its kind and its text, at most 200,000 characters, so that the run continues
    with exactly what is recorded. Raises WrongResult.
    """
    if returned is None:
        return Update()
    allowed = " and ".join(RETURNS[slot])
    if not isinstance(returned, Mapping):
        raise WrongResult(
            f"returned a {type(returned).__name__}; return {{{allowed}: ...}} or None"
        )
    if unknown := [key for key in returned if key not in RETURNS[slot]]:
        raise WrongResult(f"returned {str(unknown[0])[:80]!r}; a node {slot} returns {allowed}")
    return Update(**{key: _READERS[slot, key](value, state) for key, value in returned.items()})


def applied(node: Node, state: AgentState) -> StateUpdate:
    """How a node's event changes the state.

    Raises LookupError for an event that no version of ours wrote.
    """
    update, change = node.update, StateUpdate()
    if update.messages is not None:
        # The new text is read as an answer, whatever was wrong with the text that it replaces.
        change |= {"messages": list(map(_message, update.messages)), "finish": "stop"}
    if update.readings is not None:
        change["readings"] = update.readings
    if update.pending is not None:
        pending = list(state["pending"])
        for one in update.results:
            _put(pending, one)
        change["pending"] = pending if update.results else list(map(_message, update.pending))
        shown = dict.fromkeys(p.id for one in update.results for p in one.found.passages)
        if new := [id for id in shown if id not in state["evidence"]]:
            change["evidence"] = new
    if node.asked:
        change["spent"] = state["spent"].plus(usage=tokens_of(node.asked))
    return change


def _message(changed: ChangedMessage) -> BaseMessage:
    """A message of the system, the user or the agent."""
    return _KINDS[changed.type or ""](content=changed.content)


def _put(pending: list[BaseMessage], changed: ChangedMessage) -> None:
    """Change a tool message."""
    of = changed.of or 0
    now = {"content": changed.content, "artifact": changed.artifact}
    pending[of] = pending[of].model_copy(update=now)


def _opening(messages: Any, state: AgentState) -> tuple[ChangedMessage, ...] | None:
    """The agent's first messages: the system's, the user's, and perhaps examples in between."""
    listed = _messages(messages, "pending")
    records = [_plain(message, n) for n, message in enumerate(listed)]
    if not records or records[-1].type != "human":
        raise WrongResult("returned pending without a message of the user at its end")
    if len(records) > MAX_MESSAGES:
        raise WrongResult(f"returned {len(records):,} messages; return at most {MAX_MESSAGES}")
    before = [(message.type, message.text) for message in state["pending"]]
    same = [(record.type, record.content) for record in records] == before
    return None if same else tuple(records)


def _plain(message: BaseMessage, number: int) -> ChangedMessage:
    if type(message) not in _KINDS.values() or getattr(message, "tool_calls", None):
        what = type(message).__name__
        raise WrongResult(
            f"returned a {what} as pending[{number}]; the opening is of SystemMessage, "
            "HumanMessage and AIMessage without tool calls"
        )
    return _record(message)


def _readings(value: Any, state: AgentState) -> tuple[str, ...] | None:
    if not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
        raise WrongResult("returned readings that are not a list of texts")
    readings = tuple(one_line(storable(one)) for one in value)
    if len(readings) > MAX_READINGS or any(not 0 < len(one) <= MAX_CHARS for one in readings):
        raise WrongResult(
            f"returned readings that are not at most {MAX_READINGS} texts of 1 to {MAX_CHARS} "
            "characters"
        )
    return None if readings == tuple(state.get("readings", ())) else readings


def _results(messages: Any, state: AgentState) -> tuple[ChangedMessage, ...] | None:
    """The tool messages of a turn that were changed."""
    listed, before = _messages(messages, "pending"), state["pending"]
    if [_call(message) for message in listed] != [_call(message) for message in before]:
        raise WrongResult(
            "returned other tool messages than it was given; return one for each in pending, with "
            "its tool_call_id, in the same order"
        )
    pairs = zip(before, listed, strict=True)
    records = [_changed(n, old, new) for n, (old, new) in enumerate(pairs)]
    return tuple(record for record in records if record is not None) or None


def _call(message: BaseMessage) -> Any:
    is_result = isinstance(message, ToolMessage)
    return message.tool_call_id if is_result else type(message)  # type: ignore[attr-defined]


def _changed(number: int, old: BaseMessage, new: BaseMessage) -> ChangedMessage | None:
    assert isinstance(old, ToolMessage)
    assert isinstance(new, ToolMessage)
    content = bounded(str(new.text))
    before = old.artifact or {}
    artifact = before if new.artifact == old.artifact else _artifact(new.artifact)
    if content == old.text and artifact == before:
        return None
    return ChangedMessage(of=number, content=content, artifact=artifact)


def _artifact(value: Any) -> Mapping[str, Any]:
    return read_artifact({} if value is None else value)


def _last_words(messages: Any, state: AgentState) -> tuple[ChangedMessage, ...]:
    listed = _messages(messages, "messages")
    if len(listed) != 1 or type(listed[0]) is not AIMessage or listed[0].tool_calls:
        raise WrongResult(
            "returned other messages than one AIMessage without tool calls; its text is read as "
            "the answer"
        )
    return (_record(listed[0]),)


def _record(message: BaseMessage) -> ChangedMessage:
    return ChangedMessage(type=message.type, content=bounded(str(message.text)))


def _messages(value: Any, key: str) -> Sequence[BaseMessage]:
    if not isinstance(value, list | tuple):
        raise WrongResult(f"returned {key} as a {type(value).__name__}; return a list of messages")
    for number, one in enumerate(value):
        if not isinstance(one, BaseMessage):
            what = type(one).__name__
            raise WrongResult(f"returned a {what} as {key}[{number}]; return messages")
    return value


_READERS: Mapping[tuple[NodeSlot, str], Callable[[Any, AgentState], Any]] = {
    ("before_agent", "pending"): _opening,
    ("before_agent", "readings"): _readings,
    ("after_tools", "pending"): _results,
    ("before_answer", "messages"): _last_words,
}
