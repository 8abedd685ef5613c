"""A question back in plain asyncio: ask, let a person choose, answer. Over the films example.

    LANGGRAPH_STRICT_MSGPACK=true python examples/graph/ask_back.py "Who directed King Kong?"

The variable makes LangGraph read only the graph's own types out of checkpoints; without it, it says
that it will do so one day. With a checkpointer that writes to a file (`AsyncSqliteSaver`) the
choice may come days later, in another process, and nothing is asked again.
"""

import asyncio
import os
import sys
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from branchwise.examples.graph.films import CORPUS, films
from branchwise.graphs import build_clarify
from branchwise.graphs.system import System


async def main(question: str) -> None:
    corpus = await asyncio.to_thread(films, CORPUS)
    model = os.environ.get("BRANCHWISE_MODEL", "offline")
    system = System(model=model, corpus=str(corpus), retriever="bm25")
    graph = build_clarify(system, checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}
    found = await graph.ainvoke({"question": question}, thread)
    while "__interrupt__" in found:
        choice = await asyncio.to_thread(choose, found["__interrupt__"][0].value)
        found = await graph.ainvoke(Command(resume=choice), thread)
    for name, answers in found["answers"].items():
        passages = found["evidence"].get(name) or found["evidence"].get("default", [])
        print(f"{name}: {'; '.join(answers) or '(none)'}  [{', '.join(passages[:3])}]")


def choose(asked: dict[str, Any]) -> str:
    """Show the options, or why the last choice was none, and read a choice."""
    print(asked["problem"] or asked["clarification_question"])
    for number, option in enumerate(asked["options"], start=1):
        print(f"  {number}  {option}")
    return input("Choose: ")


if __name__ == "__main__":
    asyncio.run(main(" ".join(sys.argv[1:]) or "Who directed King Kong?"))
