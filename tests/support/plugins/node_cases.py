"""Runs with nodes on the scripted server: a corpus of five passages, nodes in a file."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from branchwise import run
from branchwise.graphs.system import System
from branchwise.runs.experiment import Run
from branchwise.trace.events import Event
from support.chat_server import Answer, ChatServer, call, say
from support.corpora.small import bm25_corpus

PASSAGES = {
    "p1": ("Heat (1995 film)", "Heat is a crime film. Michael Mann directed it."),
    "p2": ("Heat (1986 film)", "Heat is a film with Burt Reynolds."),
    "p3": ("Heat (1972 film)", "Paul Morrissey directed this Heat film."),
    "p4": ("Heat (book)", "Heat is a book, no film. George Monbiot wrote it."),
    "p5": ("Heat (score)", "The score of the film Heat is by Elliot Goldenthal."),
}
QUESTION = "Who directed the film Heat?"
HEAD = """
from branchwise import AgentState, Corpus, RunContext, node
from branchwise.graphs.plugins.passages import passages_of, with_passages
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from pydantic import BaseModel
"""


def make_corpus(folder: Path) -> str:
    passages = {id: f"{title}\n{text}" for id, (title, text) in PASSAGES.items()}
    return str(bm25_corpus(folder, passages))


def answer(*names: str) -> Answer:
    return say(json.dumps({"reasoning": "r", "answers": {"default": list(names)}}))


def turns(*replies: Answer) -> Callable[[dict[str, Any]], Answer]:
    """By the number of replies that the conversation has; the last one for all behind it."""

    def script(body: dict[str, Any]) -> Answer:
        made = sum(message["role"] == "assistant" for message in body["messages"])
        return replies[min(made, len(replies) - 1)]

    return script


SEARCH = call("local_retriever", query="Heat film")


def write_nodes(folder: Path, code: str, name: str = "nodes.py") -> Path:
    path = folder / name
    path.write_text(HEAD + code)
    return path


def write_questions(folder: Path, *answers: str) -> Path:
    path = folder / "questions.jsonl"
    gold = {"id": "q0", "question": QUESTION, "answers": {"default": list(answers)}}
    path.write_text(json.dumps(gold))
    return path


class NodeRun:
    """One question with nodes: its run, its events, and what the model was sent."""

    def __init__(self, server: ChatServer, made: Run) -> None:
        self.made, self.server = made, server
        reader = made.open()
        (self.row,) = reader.items()
        self.events: list[Event] = list(reader.events(self.row.item))
        reader.close()

    @property
    def nodes(self) -> list[dict[str, Any]]:
        return [dict(event.data) for event in self.events if event.kind == "node"]

    def data(self, kind: str) -> list[dict[str, Any]]:
        return [dict(event.data) for event in self.events if event.kind == kind]

    @property
    def shown(self) -> list[str]:
        messages = self.server.requests[-1]["messages"]
        return [message["content"] for message in messages if message["role"] == "tool"]

    @property
    def answers(self) -> list[str]:
        assert self.row.outcome is not None
        return list(self.row.outcome["prediction"]["answers"].get("default", ()))


def run_nodes(
    server: ChatServer,
    folder: Path,
    corpus: str,
    code: str,
    *names: str,
    script: Any = None,
    gold: tuple[str, ...] = ("Michael Mann", "Paul Morrissey"),
    out: str = "run",
    **changes: Any,
) -> NodeRun:
    """Ask one question with the named nodes of `code`."""
    path = write_nodes(folder, code)
    server.play(script or turns(SEARCH, answer("Michael Mann")))
    system = System(
        model=f"openai:scripted@{server.url}",
        corpus=corpus,
        k=5,
        nodes=tuple(f"{path}:{name}" for name in names),
        **{"budget_shown": "off", **changes},
    )
    questions = write_questions(folder, *gold)
    return NodeRun(server, run(str(questions), system, out=folder / out))
