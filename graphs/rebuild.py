"""From the first events of a trace to the state that they left and the next node."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from branchwise.graphs.answer_node import DECLINED
from branchwise.graphs.flows import SLOTS, Route
from branchwise.graphs.ledger import AGENT, CHECKER, EXPANDER, EXTRACTOR, Ledger
from branchwise.graphs.list_replies import UNREAD
from branchwise.graphs.messages import message_of
from branchwise.graphs.module_call import SILENT, count_asked
from branchwise.graphs.plugin_nodes import applied
from branchwise.graphs.reduce import (
    StateUpdate,
    answered,
    begun,
    checked,
    compacted,
    concluded,
    entering,
    expanded,
    extracted,
    folded,
    given_ids,
    repaired,
    told,
    trimmed,
    turned,
)
from branchwise.graphs.state import AgentState
from branchwise.trace.events import (
    AnswerRead,
    BudgetSpent,
    Checked,
    Compacted,
    ContextTrimmed,
    Event,
    Expansion,
    Extraction,
    Model,
    Node,
    Remark,
    Stage,
    Start,
    Tool,
)
from branchwise.trace.parts import Body, Usage


@dataclass(frozen=True)
class ResumePoint:
    """Where an item continues: the next node, and the state that it finds. `fragments`: ids of the
    passages that the user's message numbers."""

    node: str
    state: AgentState
    fragments: tuple[str, ...]


def rebuild(
    events: Sequence[Event], route: Route, shown: Callable[[Expansion], str], ledger: Ledger
) -> ResumePoint:
    """The state after `events`, the first of a conversation; `ledger` is charged as it was then.

    `events` end after a node's last event, after a tool result of a turn, or after the note of a
    spent budget. Unknown kinds left nothing in the state. `shown`: an expansion as the agent
    sees it.

    Raises:
        LookupError, ValueError: an event that no version of ours wrote.
    """
    rebuilt = _Rebuilt(route, shown, ledger)
    for event in events:
        if event.body.problems:
            lacking = ", ".join(event.body.problems)
            raise ValueError(f"step {event.seq} ({event.kind}) lacks {lacking}")
        rebuilt.take(event.body)
    if rebuilt.state is None:
        raise ValueError("the trace does not begin with its start step")
    return ResumePoint(rebuilt.node, rebuilt.state, rebuilt.fragments)


@dataclass
class _Rebuilt:
    route: Route
    shown: Callable[[Expansion], str]
    ledger: Ledger
    state: AgentState | None = None
    fragments: tuple[str, ...] = ()
    node: str = ""
    ran: list[str] = field(default_factory=list)

    def take(self, body: Body) -> None:
        """Apply the next event. Before the start there is no state to change."""
        if isinstance(body, Start | Stage):
            self.state, self.fragments = begun(body), tuple(given_ids(body))
            self.node = self.route.first
        elif self.state is not None:
            self.state = folded(self.state, self._change(body, self.state))

    def _change(self, body: Body, state: AgentState) -> StateUpdate:
        match body:
            case Expansion():
                self._charge(EXPANDER, body.error, body.usage, body.seconds)
                self.node = self.route.into("before_agent")
                return expanded(body, state, self.shown(body))
            case BudgetSpent():
                return told(body, state)
            case Compacted():
                return compacted(body)
            case ContextTrimmed():
                return trimmed(body)
            case Model(is_repair=False):
                self._charge(AGENT, None, body.usage, body.seconds)
                goes_on = bool(body.calls) and not state.get("told")
                self.node, self.ran = self.route.after_turn(calls=goes_on), []
                return turned(body, message_of(body), entering(state), state)
            case Model():
                self._charge(AGENT, None, body.usage, body.seconds)
                return repaired(body.usage, state)
            case AnswerRead():
                self.node = self.route.into("after_answer")
                return concluded(body)
            case Checked():
                self._charge(CHECKER, body.error, body.usage, body.seconds)
                self.node = "agent"
                return checked(body, state)
            case Tool():
                return self._result(body, state)
            case Extraction():
                for call in body.model_calls:
                    self._charge(EXTRACTOR, call.error, call.usage, call.seconds)
                self.node = "agent"
                return extracted(body, state)
            case Remark():
                self.ledger.remark(body.role, body.message)
            case Node():
                count_asked(body.name, body.asked, self.ledger)
                self.ran.append(body.name)
                (slot,) = (slot for slot in SLOTS if slot == body.slot)
                change = applied(body, state)
                is_back = slot == "after_answer" and "pending" in change
                self.node = "agent" if is_back else self.route.into(slot, self.ran)
                return change
        return {}

    def _result(self, tool: Tool, state: AgentState) -> StateUpdate:
        """One of a turn's results: they are shown once all have arrived."""
        count_asked(tool.call.tool, tool.asked, self.ledger)
        results = {**state.get("kept", {}), tool.of: tool}
        last = state["messages"][-1]
        made = len(last.tool_calls) + len(last.invalid_tool_calls)  # type: ignore[attr-defined]
        if len(results) < made:
            return {"kept": results}
        self.node, self.ran = self.route.into("after_tools"), []
        return answered([results[of] for of in range(made)], {**state, "kept": results})

    def _charge(self, role: str, error: str | None, usage: Usage, seconds: float) -> None:
        """A call that got a reply; failed calls are not in the ledger."""
        if error is None or error in (*DECLINED.values(), SILENT, UNREAD):
            self.ledger.count(role, usage, seconds)
