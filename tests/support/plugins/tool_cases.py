"""Runs of three questions with a plug-in's tool on the scripted server, and what came of them."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from branchwise import run
from branchwise.graphs.system import System
from branchwise.runs.experiment import Run
from branchwise.trace.events import Event
from support.chat_server import Answer, Body, ChatServer, call, say

HEAD = """
import asyncio, contextlib, sys, threading, time
from typing import Any, Literal
from pydantic import BaseModel
from branchwise import Corpus, Graph, RunContext, ToolError, ToolResult, tool
"""
ANSWER = json.dumps({"reasoning": "r", "answers": {"default": ["Ann"]}})


def write_tools(folder: Path, code: str, name: str = "tools.py") -> Path:
    path = folder / name
    path.write_text(HEAD + code)
    return path


def write_questions(folder: Path, count: int = 3) -> str:
    """Questions `Question 0?` ... whose answer is Ann."""
    lines = [
        {"id": f"q{n}", "question": f"Question {n}?", "answers": {"default": ["Ann"]}}
        for n in range(count)
    ]
    path = folder / "questions.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    return str(path)


def calls_once(
    name: str, bad: Mapping[str, Any], good: Mapping[str, Any]
) -> Callable[[Body], Answer]:
    """Question 1 calls the tool with `bad`, the others with `good`; then each answers."""

    def script(body: Body) -> Answer:
        asked = next(m["content"] for m in body["messages"] if m["role"] == "user")
        if any(m["role"] == "assistant" for m in body["messages"]):
            return say(ANSWER)
        return call(name, **(bad if "Question 1?" in asked else good))

    return script


@dataclass(frozen=True)
class ToolRun:
    """A run and the tool events of its questions, by question."""

    made: Run
    tools: Mapping[str, Event]
    requests: list[Body]

    def shown(self, question: str) -> str:
        """What the model read of the call."""
        return next(
            m["content"]
            for body in self.requests
            for m in body["messages"]
            if m["role"] == "tool"
            and any(f"{question}?" in n["content"] for n in body["messages"] if n["role"] == "user")
        )


def run_tools(server: ChatServer, folder: Path, *specs: str, **more: Any) -> ToolRun:
    """Run; the script is the server's own."""
    system = System(
        model=f"openai:scripted@{server.url}", tools=specs, **{"budget_shown": "off", **more}
    )
    made = run(write_questions(folder), system, out=folder / "run")
    return read_run(made, server)


def read_run(made: Run, server: ChatServer) -> ToolRun:
    """What a run's traces say of its tool calls."""
    reader = made.open()
    events = {
        item.question.id: event
        for item in reader.items()
        for event in reader.events(item.item)
        if event.kind == "tool"
    }
    reader.close()
    return ToolRun(made, events, server.requests)
