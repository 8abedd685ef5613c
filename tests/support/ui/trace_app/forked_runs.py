"""A run on the scripted server, to be forked: two searches, then an answer."""

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from branchwise import run
from branchwise.agents.decoding import Decoding
from branchwise.graphs.system import System
from support.chat_server import Answer, Body, ChatServer, call, say
from support.corpora.small import bm25_corpus

PASSAGES = {
    "Heat (1995 film)": "Heat is a crime film that Michael Mann wrote and directed.",
    "Heat (1986 film)": "Heat is a film that Dick Richards directed.",
}
GOLD = {"Heat (1995 film)": ["Michael Mann"], "Heat (1986 film)": ["Dick Richards"]}
HALF = {"Heat (1995 film)": ["Michael Mann"]}


def make_corpus(folder: Path) -> Path:
    return bm25_corpus(folder, {title: f"{title}\n{text}" for title, text in PASSAGES.items()})


def answering(body: Body) -> Answer:
    """The model `scripted` knows half of the answers, `better` all of them."""
    turn = sum(message["role"] == "assistant" for message in body["messages"])
    if turn < 2 and body.get("tools"):
        return call("local_retriever", query=f"Heat {turn}")
    known = GOLD if body["model"] == "better" else HALF
    return say(json.dumps({"reasoning": "read", "answers": known}))


def parent_run(path: Path, server: ChatServer, corpus: Path) -> Path:
    """One question, answered by `scripted`."""
    branches = [
        {"name": name, "answers": [{"text": text} for text in texts]}
        for name, texts in GOLD.items()
    ]
    question = {"id": "heat", "question": "Who directed Heat?", "branches": branches}
    source = path.parent / "questions.jsonl"
    source.write_text(json.dumps({**question, "ambiguous": True}))
    system = System(
        model=f"openai:scripted@{server.url}",
        tools=("local_retriever",),
        corpus=str(corpus),
        k=1,
        decoding=Decoding(attempts=1, timeout=20.0),
    )
    server.play(answering)
    run(str(source), system, out=path)
    return path


def bytes_of(path: Path) -> Mapping[str, str]:
    files = sorted(file for file in path.rglob("*") if file.is_file())
    return {str(file): sha256(file.read_bytes()).hexdigest() for file in files}
