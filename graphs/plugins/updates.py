"""What a node returned, as the trace keeps it, and what that changes of the state.

The record is all that there is of it: a first run, a resumed one and a fork apply the same record.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from branchwise.corpora.plugins.faults import WrongResult
from branchwise.graphs.plugins.slots import RETURNS, Slot
from branchwise.graphs.readings import MAX_CHARS, MAX_READINGS
from branchwise.graphs.state import AgentState
from branchwise.tools.plugins.results import bounded, read_artifact, whole

MAX_MESSAGES = 100
"""Of an opening: more are no question that somebody asks."""

Record = dict[str, Any]
_KINDS: Mapping[str, type[BaseMessage]] = {
    "system": SystemMessage,
    "human": HumanMessage,
    "ai": AIMessage,
}


def update_record(slot: Slot, returned: Any, state: AgentState) -> Record:
    """What `returned` changes of `state`, JSON-serialisable; empty where it changes nothing.

    Messages are taken as their kind and their text, at most 200,000 characters of it, so that what
    goes on is what is recorded. Raises WrongResult.
    """
    if returned is None:
        return {}
    allowed = " and ".join(RETURNS[slot])
    if not isinstance(returned, Mapping):
        raise WrongResult(
            f"returned a {type(returned).__name__}; return {{{allowed}: ...}} or None"
        )
    if unknown := [key for key in returned if key not in RETURNS[slot]]:
        raise WrongResult(f"returned {str(unknown[0])[:80]!r}; a node {slot} returns {allowed}")
    return {
        key: value
        for key in returned
        if (value := _READERS[slot, key](returned[key], state)) is not None
    }


def applied(record: Mapping[str, Any], state: AgentState) -> dict[str, Any]:
    """The part of the state that a record changes, as a step of the graph returns it.

    Raises LookupError, TypeError or ValueError for a record that no version of ours wrote.
    """
    update: dict[str, Any] = {}
    if "messages" in record:
        # What is read is an answer, whatever was wrong with the words that it replaces.
        update |= {"messages": [message_of(one) for one in record["messages"]], "finish": "stop"}
    if "readings" in record:
        update["readings"] = tuple(record["readings"])
    if "pending" in record:
        update["pending"] = list(state["pending"])
        evidence: list[str] = []
        for one in record["pending"]:
            if "of" in one:
                evidence += _put(update["pending"], one)
            else:
                update["pending"] = [message_of(other) for other in record["pending"]]
                break
        if new := [id for id in dict.fromkeys(evidence) if id not in state["evidence"]]:
            update["evidence"] = new
    return update


def message_of(record: Mapping[str, Any]) -> BaseMessage:
    """A message of the system, the user or the agent."""
    return _KINDS[record["type"]](content=record["content"])


def _put(pending: list[BaseMessage], record: Mapping[str, Any]) -> Iterable[str]:
    """Change a tool message; returns the ids of its passages."""
    of, artifact = record["of"], record["artifact"]
    changed = {"content": record["content"], "artifact": artifact}
    pending[of] = pending[of].model_copy(update=changed)
    return [str(passage["id"]) for passage in artifact.get("passages", ())]


def _opening(messages: Any, state: AgentState) -> list[Record] | None:
    """What the agent is told first: the system's, the user's, and perhaps examples between."""
    listed = _messages(messages, "pending")
    records = [_plain(message, n) for n, message in enumerate(listed)]
    if not records or records[-1]["type"] != "human":
        raise WrongResult("returned pending without a message of the user at its end")
    if len(records) > MAX_MESSAGES:
        raise WrongResult(f"returned {len(records):,} messages; return at most {MAX_MESSAGES}")
    before = [(message.type, message.text) for message in state["pending"]]
    same = [(record["type"], record["content"]) for record in records] == before
    return None if same else records


def _plain(message: BaseMessage, number: int) -> Record:
    if type(message) not in _KINDS.values() or getattr(message, "tool_calls", None):
        what = type(message).__name__
        raise WrongResult(
            f"returned a {what} as pending[{number}]; the opening is of SystemMessage, "
            "HumanMessage and AIMessage without tool calls"
        )
    return _record(message)


def _readings(value: Any, state: AgentState) -> list[str] | None:
    if not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
        raise WrongResult("returned readings that are no list of texts")
    readings = [" ".join(whole(one).split()) for one in value]
    if len(readings) > MAX_READINGS or any(not 0 < len(one) <= MAX_CHARS for one in readings):
        raise WrongResult(
            f"returned readings that are not at most {MAX_READINGS} texts of 1 to {MAX_CHARS} "
            "characters"
        )
    return None if tuple(readings) == tuple(state.get("readings", ())) else readings


def _results(messages: Any, state: AgentState) -> list[Record] | None:
    """Those of a turn's tool messages that are not as they were."""
    listed, before = _messages(messages, "pending"), state["pending"]
    if [_call(message) for message in listed] != [_call(message) for message in before]:
        raise WrongResult(
            "returned other tool messages than it was given; return one for each in pending, with "
            "its tool_call_id, in the same order"
        )
    pairs = zip(before, listed, strict=True)
    records = [_changed(n, old, new) for n, (old, new) in enumerate(pairs)]
    return [record for record in records if record is not None] or None


def _call(message: BaseMessage) -> Any:
    is_result = isinstance(message, ToolMessage)
    return message.tool_call_id if is_result else type(message)  # type: ignore[attr-defined]


def _changed(number: int, old: BaseMessage, new: BaseMessage) -> Record | None:
    assert isinstance(old, ToolMessage)
    assert isinstance(new, ToolMessage)
    content = bounded(str(new.text))
    before = old.artifact or {}
    artifact = before if new.artifact == old.artifact else _artifact(new.artifact)
    if content == old.text and artifact == before:
        return None
    return {"of": number, "content": content, "artifact": artifact}


def _artifact(value: Any) -> Record:
    return read_artifact({} if value is None else value)


def _last_words(messages: Any, state: AgentState) -> list[Record]:
    listed = _messages(messages, "messages")
    if len(listed) != 1 or type(listed[0]) is not AIMessage or listed[0].tool_calls:
        raise WrongResult(
            "returned other messages than one AIMessage without tool calls; its text is read as "
            "the answer"
        )
    return [_record(listed[0])]


def _record(message: BaseMessage) -> Record:
    return {"type": message.type, "content": bounded(str(message.text))}


def _messages(value: Any, key: str) -> Sequence[BaseMessage]:
    if not isinstance(value, list | tuple):
        raise WrongResult(f"returned {key} as a {type(value).__name__}; return a list of messages")
    for number, one in enumerate(value):
        if not isinstance(one, BaseMessage):
            what = type(one).__name__
            raise WrongResult(f"returned a {what} as {key}[{number}]; return messages")
    return value


_READERS: Mapping[tuple[Slot, str], Callable[[Any, AgentState], Any]] = {
    ("before_agent", "pending"): _opening,
    ("before_agent", "readings"): _readings,
    ("after_tools", "pending"): _results,
    ("before_answer", "messages"): _last_words,
}
