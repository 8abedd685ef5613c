"""From the first events of a trace to the state that they left, and the node that comes next."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from branchwise.agents.bodies import make_call
from branchwise.agents.reply import Usage
from branchwise.graphs.answer_node import DECLINED
from branchwise.graphs.executions import RecordedEvent, node_of, recorded_calls
from branchwise.graphs.expand_node import with_readings
from branchwise.graphs.ledger import AGENT, EXPANDER, EXTRACTOR, Ledger
from branchwise.graphs.module_call import SILENT
from branchwise.graphs.plugins.slots import Slot, graph_name
from branchwise.graphs.plugins.updates import applied
from branchwise.graphs.run_contexts import count_asked, tokens_of
from branchwise.graphs.state import AgentState, Spent
from branchwise.graphs.tool_node import ToolResult, calls_of, turn_results


@dataclass(frozen=True)
class Setting:
    """What of the system decides the way through the graph.

    `shown`: readings as the agent is shown them. `nodes`: names of the plug-ins' nodes, by slot.
    """

    expands: bool
    extracts: bool
    has_tools: bool
    shown: Callable[[Sequence[str]], str]
    nodes: Mapping[Slot, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Entry:
    """Where an item goes on: the node that is next, and the state it finds.

    `fragments`: ids of the passages that the user's message numbers.
    """

    node: str
    state: AgentState
    fragments: tuple[str, ...]


def rebuild(events: Sequence[RecordedEvent], setting: Setting, ledger: Ledger) -> Entry:
    """The state as it was behind `events`, the first of a trace; `ledger` is charged as it was.

    `events` end behind a node's last event, behind a tool result of a turn, or behind the note of
    a spent budget. Kinds that are not known left nothing in the state.

    Raises:
        LookupError, TypeError, ValueError: a record that no version of ours wrote.
    """
    rebuilt = _Rebuilt(setting, ledger)
    for event in events:
        rebuilt.take(event)
    return rebuilt.entry()


@dataclass
class _Rebuilt:
    setting: Setting
    ledger: Ledger
    messages: list[BaseMessage] = field(default_factory=list)
    pending: list[BaseMessage] = field(default_factory=list)
    evidence: list[str] = field(default_factory=list)
    fragments: tuple[str, ...] = ()
    readings: tuple[str, ...] = ()
    spent: Spent = field(default_factory=Spent)
    omitted: int = 0
    finish: str = "stop"
    results: dict[int, ToolResult] = field(default_factory=dict)
    told: bool = False
    node: str = ""
    ran: list[str] = field(default_factory=list)

    def take(self, event: RecordedEvent) -> None:
        """The next event."""
        taking: Mapping[str, Callable[[Mapping[str, Any]], None]] = {
            "start": self._start,
            "expansion": self._expansion,
            "budget": self._budget,
            "context_trimmed": self._context_trimmed,
            "tool": self._tool,
            "extraction": self._extraction,
            "node": self._plugin,
        }
        if node_of(event) == "agent":
            self._model(event.data)
        elif event.kind in taking:
            taking[event.kind](event.data)

    def entry(self) -> Entry:
        """What the events came to. Raises ValueError where they begin with no start."""
        if not self.node:
            raise ValueError("the trace does not begin with its start")
        state = AgentState(
            messages=self.messages,
            pending=self.pending,
            readings=self.readings,
            evidence=self.evidence,
            spent=self.spent,
            omitted=self.omitted,
            finish=self.finish,
            kept=self.results,
            told=self.told,
        )
        return Entry(self.node, state, self.fragments)

    def _start(self, data: Mapping[str, Any]) -> None:
        self.pending = [SystemMessage(data["system"]), HumanMessage(data["content"])]
        self.fragments = tuple(p["id"] for p in data["artifact"]["passages"])
        self.evidence = list(self.fragments)
        if self.setting.expands:
            self.node = "expand"
        else:
            self._enter("before_agent")

    def _expansion(self, data: Mapping[str, Any]) -> None:
        self._charge(EXPANDER, data)
        if data["readings"]:
            self.readings = tuple(data["readings"])
            self.pending = with_readings(self.pending, self.setting.shown(self.readings))
        self._enter("before_agent")

    def _budget(self, data: Mapping[str, Any]) -> None:
        self.pending = [*self.pending, HumanMessage(data["text"])]
        self.told = True

    def _context_trimmed(self, data: Mapping[str, Any]) -> None:
        self.omitted = int(data["omitted"])

    def _model(self, data: Mapping[str, Any]) -> None:
        message = recorded_message(data)
        self.messages += [*self.pending, message]
        self.pending = []
        self.spent = self.spent.plus(turns=1)
        self._charge(AGENT, data)
        self.finish = data["finish"]
        goes_on = calls_of(message) and self.setting.has_tools and not self.told
        self.told = False
        if goes_on:
            self.node = "tools"
        else:
            self._enter("before_answer")

    def _tool(self, data: Mapping[str, Any]) -> None:
        last = self.messages[-1]
        assert isinstance(last, AIMessage)
        calls = calls_of(last)
        kept = ("content", "artifact", "error", "failure")
        result = ToolResult(
            **{name: data.get(name) for name in kept},  # type: ignore[arg-type]
            asked=data.get("asked", ()),
        )
        count_asked(str(data["call"].get("name")), result.asked, self.ledger)
        self.results[_place(data, calls, self.results)] = result
        if len(self.results) < len(calls):
            return
        update = turn_results(calls, [self.results[n] for n in range(len(calls))], self.spent)
        self.pending, self.spent = update["pending"], update["spent"]
        self.evidence += update["evidence"]
        self.results = {}
        self._enter("after_tools")

    def _extraction(self, data: Mapping[str, Any]) -> None:
        of = data["of"]
        content = {"content": data["content"]}
        self.pending = list(self.pending)
        self.pending[of] = self.pending[of].model_copy(update=content)
        for passage in data["passages"]:
            self._charge(EXTRACTOR, passage)
        self.node = "agent"

    def _plugin(self, data: Mapping[str, Any]) -> None:
        state = AgentState(pending=self.pending, evidence=self.evidence)
        update = applied(data["update"], state)
        self.pending = update.get("pending", self.pending)
        self.readings = update.get("readings", self.readings)
        self.evidence += update.get("evidence", ())
        self.messages += update.get("messages", ())
        self.finish = update.get("finish", self.finish)
        asked = data.get("asked", ())
        count_asked(data["name"], asked, self.ledger)
        self.spent = self.spent.plus(usage=tokens_of(asked))
        self.ran.append(data["name"])
        self._next(data["slot"])

    def _enter(self, slot: Slot) -> None:
        self.ran = []
        self._next(slot)

    def _next(self, slot: Slot) -> None:
        """The first node of the slot that did not run, else the step behind the slot.

        Nodes that the run had and the system has not are passed over.
        """
        left = [name for name in self.setting.nodes.get(slot, ()) if name not in self.ran]
        behind = {
            "before_agent": "agent",
            "after_tools": "extract" if self.setting.extracts else "agent",
            "before_answer": "answer",
        }
        self.node = graph_name(left[0]) if left else behind[slot]

    def _charge(self, role: str, record: Mapping[str, Any]) -> None:
        """A call that brought a reply; one that failed is in no ledger."""
        error = record.get("error")
        if error is None or error in (*DECLINED.values(), SILENT):
            usage = Usage(**record["usage"])
            self.ledger.count(role, usage, float(record["seconds"]))
            self.spent = self.spent.plus(usage=usage)


def recorded_message(data: Mapping[str, Any]) -> AIMessage:
    """The reply that a turn's event recorded."""
    valid = [{**call, "type": "tool_call"} for call in data["tool_calls"]]
    invalid = [_invalid(call) for call in data["invalid_tool_calls"]]
    return AIMessage(content=data["text"], tool_calls=valid, invalid_tool_calls=invalid)


def _invalid(call: Mapping[str, Any]) -> dict[str, Any]:
    """What was wrong with a call is no part of the record: it is read once more."""
    made = make_call(str(call["name"] or ""), call["args"], str(call["id"]))
    why = made.get("error", "the call cannot be made")
    return {**call, "error": why, "type": "invalid_tool_call"}


def _place(
    data: Mapping[str, Any], calls: Sequence[Mapping[str, Any]], taken: Mapping[int, Any]
) -> int:
    """The place of a result's call in its turn; older traces only have the call's id."""
    if isinstance(of := data.get("of"), int):
        return of
    free = [n for n in range(len(calls)) if n not in taken]
    id = data["call"]["id"]
    return next((n for n in free if calls[n]["id"] == id), free[0])


__all__ = ["Entry", "Setting", "rebuild", "recorded_calls", "recorded_message"]
