"""A corpus, and runs with nodes."""

from collections.abc import Callable
from pathlib import Path

import pytest

from support.chat_server import ChatServer
from support.plugins.node_cases import NodeRun, make_corpus, run_nodes


@pytest.fixture(scope="session")
def five(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A corpus of five passages."""
    return make_corpus(tmp_path_factory.mktemp("five"))


@pytest.fixture
def play(chat_server: ChatServer, tmp_path: Path, five: str) -> Callable[..., NodeRun]:
    """Runs one question with nodes: `play(code, "name", ..., script=...)`."""

    def started(code: str, *names: str, **more: object) -> NodeRun:
        return run_nodes(chat_server, tmp_path, five, code, *names, **more)  # type: ignore[arg-type]

    return started
