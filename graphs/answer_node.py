"""From the agent's last message to a prediction: parse, at most one repair call, then an error,
unless an answer was read before: that one stands."""

from collections.abc import Sequence

import orjson
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.runtime import Runtime
from langgraph.types import Command

from branchwise.agents.answer import ParsedAnswer, parse_answer
from branchwise.agents.caller import ModelCaller
from branchwise.agents.prediction import AnswerFormat, Prediction
from branchwise.agents.prompt_files import Prompts
from branchwise.agents.reasoning import has_reasoning
from branchwise.agents.reply import TEXT_CALLS, ModelError, Reply
from branchwise.graphs.agent_node import GRACE_SECONDS, spent_reason
from branchwise.graphs.budget import Budget
from branchwise.graphs.compaction import in_view
from branchwise.graphs.flows import END
from branchwise.graphs.ledger import AGENT
from branchwise.graphs.messages import recorded_turn, without_rewritten
from branchwise.graphs.reduce import StateUpdate, concluded, folded, repaired
from branchwise.graphs.state import AgentState, GraphNode, ItemContext
from branchwise.trace.events import REPAIR, AnswerRead, Repair, RepairFailed
from branchwise.trace.parts import Predicted

_IN_REASONING = "all of it is in the reasoning"
# Not a malformed answer but none at all: a repair call would ask for a change of mind.
DECLINED = {"refusal": "the model refused to answer", "content_filter": "the answer was filtered"}


def make_answer_node(
    caller: ModelCaller,
    prompts: Prompts,
    answer_format: AnswerFormat,
    budget: Budget,
    then: str = END,
) -> GraphNode:
    """The node `answer`; `how` is strict, tolerant, repaired or failed. An answer that could be
    read goes on to `then`, from where the agent may be sent back, if budget is left for that."""

    async def answer(state: AgentState, runtime: Runtime[ItemContext]) -> Command[str]:
        context, last = runtime.context, state["messages"][-1]
        assert isinstance(last, AIMessage)

        finish = state["finish"]
        may_repair = finish not in DECLINED
        if not may_repair:
            parsed = ParsedAnswer(None, "failed", DECLINED[finish])
        elif finish == "text_calls":
            parsed = ParsedAnswer(None, "failed", TEXT_CALLS)
            # If none of its calls was ever read, it would answer without having searched.
            may_repair = any(isinstance(message, ToolMessage) for message in state["messages"])
        else:
            parsed = parse_answer(last.text, answer_format, context.fragments)
        if may_repair:
            parsed = _placed(parsed, last.text, has_reasoning(last))
        how: str = parsed.how
        text, change = last.text, StateUpdate()
        if parsed.prediction is None and may_repair:
            reply = await _repair(caller, prompts, answer_format, state, parsed, context)
            how = "failed"
            if reply is not None:
                text, change = reply.message.text, repaired(reply.usage, state)
                parsed = parse_answer(text, answer_format, context.fragments)
                parsed = _placed(parsed, text, bool(reply.reasoning))
                how = "failed" if parsed.prediction is None else "repaired"
        raw, earlier = text if how == "failed" else None, state.get("prediction")
        kept = how == "failed" and earlier is not None
        prediction = (earlier if kept else parsed.prediction) or Prediction()
        event = AnswerRead(
            how=state["how"] if kept else how,
            problem=parsed.problem,
            raw=raw,
            prediction=Predicted.read(prediction.model_dump(mode="json")),
            kept=kept,
        )
        context.event(event)
        change |= concluded(event)
        is_last = how == "failed" or last.tool_calls or last.invalid_tool_calls
        if then == END or is_last or _is_spent(folded(state, change), budget, context):
            return Command(update=change, goto=END)
        return Command(update=change, goto=then)

    return answer


def _is_spent(state: AgentState, budget: Budget, context: ItemContext) -> bool:
    limits = (context.share or budget).of(state.get("readings", ()))
    return spent_reason(limits, state["spent"], context.elapsed) is not None


def _placed(parsed: ParsedAnswer, text: str, has_reasoned: bool) -> ParsedAnswer:
    """The same, but for an answer that stands in the reasoning alone: its problem says so."""
    if parsed.prediction is None and not text.strip() and has_reasoned:
        return ParsedAnswer(None, "failed", f"{parsed.problem}: {_IN_REASONING}")
    return parsed


async def _repair(
    caller: ModelCaller,
    prompts: Prompts,
    answer_format: AnswerFormat,
    state: AgentState,
    parsed: ParsedAnswer,
    context: ItemContext,
) -> Reply | None:
    """Ask once for the same answer in the right shape; None if even that call fails."""
    # The shape again that the answer must have: its form, or the JSON schema.
    form = answer_format.form
    shape = {"form": form} if form else {"schema": orjson.dumps(answer_format.schema).decode()}
    problem = parsed.problem or "there is no answer in it"
    note = prompts.render(answer_format.repair, problem=problem, **shape)
    context.event(Repair(problem=parsed.problem, text=note))
    messages: Sequence[BaseMessage] = [*_closed(state["messages"]), HumanMessage(note)]
    try:
        reply = await caller.ask(
            in_view(messages, state),
            schema=answer_format.schema,
            role=REPAIR,
            journal=context.journal,
            time_left=max(context.time_left, GRACE_SECONDS),
        )
    except ModelError as error:
        context.event(RepairFailed(error=error.kind, message=str(error)))
        return None
    context.charge(AGENT, reply)
    context.waited += reply.waited
    context.event(recorded_turn(reply, role=REPAIR))
    return reply


def _closed(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Without open tool calls in the last message: servers refuse a call that has no result."""
    *before, last = without_rewritten(messages)
    if isinstance(last, AIMessage) and (last.tool_calls or last.invalid_tool_calls):
        last = AIMessage(last.text or "(no answer)")
    return [*before, last]
