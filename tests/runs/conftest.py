"""A small corpus with a BM25 index, a question set, and a system that asks the scripted server."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from branchwise.agents import retries
from branchwise.agents.decoding import Decoding
from branchwise.corpora.build import build_corpus
from branchwise.corpora.indexing import build_index
from branchwise.graphs.system import Budget, System
from support.chat_server import ChatServer

PASSAGES = [
    ("heat-1995", "Heat (1995 film)", "Heat is a crime film that Michael Mann wrote and directed."),
    ("heat-1986", "Heat (1986 film)", "Heat is a film with Burt Reynolds as a bodyguard."),
    ("kong-1933", "King Kong (1933 film)", "Merian C. Cooper directed the first King Kong film."),
    ("kong-1976", "King Kong (1976 film)", "John Guillermin directed the second King Kong film."),
    ("island", "The Island (2005 film)", "Michael Bay directed The Island after five other films."),
]

MakeSystem = Callable[..., System]


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    source = folder / "passages.jsonl"
    lines = [{"id": id, "contents": f"{title}\n{text}"} for id, title, text in PASSAGES]
    source.write_text("\n".join(map(json.dumps, lines)))
    build_corpus(str(source), folder / "C")
    build_index(folder / "C", "bm25")
    return folder / "C"


@pytest.fixture
def question_file(tmp_path: Path) -> Callable[[int], Path]:
    """Writes `count` different questions whose one answer is their first twenty characters."""

    def write(count: int) -> Path:
        path = tmp_path / "questions.jsonl"
        texts = [f"Question number {n:04d}: who directed Heat?" for n in range(count)]
        lines = [
            {"id": f"q{n}", "question": text, "answers": {"default": [text[:20]]}}
            for n, text in enumerate(texts)
        ]
        path.write_text("\n".join(map(json.dumps, lines)))
        return path

    return write


@pytest.fixture
def make_system(
    chat_server: ChatServer, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> MakeSystem:
    """Makes a system on the scripted server; retries do not wait."""
    monkeypatch.setattr(retries, "FIRST_WAIT", 0.0)

    def make(budget: dict[str, Any] | None = None, **decoding: Any) -> System:
        return System(
            model=f"openai:scripted@{chat_server.url}",
            tools=("local_retriever",),
            corpus=str(corpus),
            k=2,
            decoding=Decoding(**{"attempts": 3, "timeout": 20.0, **decoding}),
            budget=Budget(**(budget or {})),
        )

    return make


@pytest.fixture
def start(
    monkeypatch: pytest.MonkeyPatch, process: None
) -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """Starts the command line in a process of its own."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    processes = []

    def begin(*arguments: object) -> "subprocess.Popen[str]":
        command = [sys.executable, "-m", "branchwise", *map(str, arguments)]
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        processes.append(process)
        return process

    yield begin
    for process in processes:
        process.kill()
        process.wait()
        process.stderr.close()
