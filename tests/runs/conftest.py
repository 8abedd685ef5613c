"""A small corpus with a BM25 index, a question set, and a system that asks the scripted server."""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from branchwise import run
from branchwise.agents import restraints
from branchwise.agents.decoding import Decoding
from branchwise.graphs.budget import Budget
from branchwise.graphs.system import System
from branchwise.runs.experiment import Run
from support.corpora.small import FILMS, bm25_corpus


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bm25_corpus(tmp_path_factory.mktemp("corpus"), FILMS)


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
def make_system(chat_server, corpus, monkeypatch):
    """Makes a system on the scripted server; retries do not wait."""
    monkeypatch.setattr(restraints, "FIRST_WAIT", 0.0)

    def make(budget: dict[str, Any] | None = None, **decoding: Any) -> System:
        return System(
            model=f"openai:scripted@{chat_server.url}",
            tools=("local_retriever",),
            corpus=str(corpus),
            k=2,
            budget_shown="off",
            decoding=Decoding(**{"attempts": 3, "timeout": 20.0, **decoding}),
            budget=Budget(**(budget or {})),
        )

    return make


@pytest.fixture
def run_some(make_system, question_file, tmp_path):
    """Runs so many questions by the scripted system, changed as the last words say."""

    def run_it(
        count: int = 1,
        *,
        name: str = "run",
        budget: dict[str, Any] | None = None,
        decoding: Mapping[str, Any] | None = None,
        concurrency: int = 8,
        **changes: Any,
    ) -> Run:
        system = make_system(budget, **(decoding or {})).model_copy(update=changes)
        source = str(question_file(count))
        return run(source, system, out=tmp_path / name, concurrency=concurrency)

    return run_it


@pytest.fixture
def start(monkeypatch, process):
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
