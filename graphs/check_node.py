"""A check of the answer: a reviewer's one model call, which may send the agent back.

It sees the question, the answer, what was searched for and the titles of what was found, not the
passages: what it can tell is what is missing, not what is wrong.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import orjson
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.runtime import Runtime
from langgraph.types import Command

from branchwise.agents.caller import ModelCaller
from branchwise.agents.prediction import Prediction
from branchwise.agents.prompt_files import Prompts
from branchwise.base.text import cut, one_line, printable, whole_characters
from branchwise.graphs.flows import END
from branchwise.graphs.ledger import CHECKER
from branchwise.graphs.list_replies import UNREAD, read_missing
from branchwise.graphs.module_call import ask_module
from branchwise.graphs.reduce import StateUpdate, checked
from branchwise.graphs.state import AgentState, GraphNode, ItemContext
from branchwise.trace.artifacts import Artifact
from branchwise.trace.events import Checked

PROMPTS = frozenset({"checker", "sent_back"})
"""What a reviewer reads, and what the agent is told of its reply."""
MAX_TITLES, MAX_SEARCHES = 300, 100
MAX_TITLE_CHARS, MAX_SEARCH_CHARS, MAX_ANSWER_CHARS = 160, 300, 30_000


def make_check_node(caller: ModelCaller, prompts: Prompts, most: int) -> GraphNode:
    """The node `check`: the agent is sent back at most `most` times, then its answer is not looked
    at. The answer stands if nothing is missing, if the request fails, or if its reply cannot be
    read."""

    async def check(state: AgentState, runtime: Runtime[ItemContext]) -> Command[str]:
        if state.get("checks", 0) >= most:
            return Command(goto=END)
        context = runtime.context
        asked = checker_message(context.question, state)
        reply = await ask_module(caller, CHECKER, prompts.render("checker"), asked, context)
        context.waited += reply.waited
        read = None if reply.error else read_missing(reply.text)
        missing = read.kept if read else ()
        listed = "\n".join(f"- {one}" for one in missing)
        facts = reply.facts if reply.error or read else {**reply.facts, "error": UNREAD}
        event = Checked(
            how="failed" if read is None else "missing" if missing else "complete",
            missing=missing,
            dropped=read.dropped if read else (),
            content=prompts.render("sent_back", missing=listed) if missing else "",
            text=reply.text,
            **facts,
        )
        context.event(event)
        change: StateUpdate = checked(event, state)
        return Command(update=change, goto="agent" if event.content else END)

    return check


def plain_answer(prediction: Prediction) -> Any:
    """An answer as plain JSON: the texts by branch, or what else the task's answer is."""
    answers = {name: list(texts) for name, texts in prediction.answers.items()}
    return answers if prediction.task_output is None else prediction.task_output


def checker_message(question: str, state: AgentState) -> str:
    """The user's message: what is listed has a line each, which it cannot break."""
    answer = orjson.dumps(plain_answer(state["prediction"])).decode()
    messages = state["messages"]
    parts = [f"Question: {question}", f"Answer: {cut(answer, MAX_ANSWER_CHARS)}"]
    searches = _listed(_searches(messages), MAX_SEARCH_CHARS)
    titles = _listed((*state.get("given", ()), *_titles(messages)), MAX_TITLE_CHARS)
    # The newest searches, and the titles that were found first: rankings begin with the best.
    for heading, lines, most, left in (
        ("Searched for:", searches[-MAX_SEARCHES:], len(searches), "earlier"),
        ("Titles of the passages that were found:", titles[:MAX_TITLES], len(titles), "more"),
    ):
        more = [f"(and {most - len(lines)} {left})"] if most > len(lines) else []
        parts.append("\n".join([heading, *(lines or ["(nothing)"]), *more]))
    return "\n\n".join(parts)


def _searches(messages: Sequence[BaseMessage]) -> Iterable[str]:
    for message in messages:
        for call in message.tool_calls if isinstance(message, AIMessage) else ():
            yield f"{call['name']} {orjson.dumps(call['args'], default=str).decode()}"


def _titles(messages: Sequence[BaseMessage]) -> Iterable[str]:
    for message in messages:
        if isinstance(message, ToolMessage) and isinstance(message.artifact, dict):
            yield from (passage.title for passage in Artifact(message.artifact).passages)


def _listed(texts: Iterable[str], most: int) -> list[str]:
    """Each text once, on a line of its own without anything that steers."""
    lines = (one_line(printable(one_line(whole_characters(text)), " ")) for text in texts)
    return [f"- {cut(line, most)}" for line in dict.fromkeys(lines) if line]
