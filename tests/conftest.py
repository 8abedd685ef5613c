"""Fixtures for all tests."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# Deterministic, and without hypothesis's time limit: it fails on a busy machine.
settings.register_profile("branchwise", deadline=None, derandomize=True, database=None)
settings.load_profile("branchwise")

# Test folders are no packages: this makes `import chat_server` work in all of them.
sys.path.insert(0, str(Path(__file__).parent))

# No test sends anything to the server of whoever runs them.
os.environ.pop("OPENAI_BASE_URL", None)

from chat_server import ChatServer  # noqa: E402


@pytest.fixture
def chat_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    """A scripted chat-completions server; see tests/chat_server.py."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    server = ChatServer().start()
    yield server
    server.stop()


@pytest.fixture
def type_in(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Run the command line; return its exit code, standard output and standard error."""
    from branchwise.__main__ import main

    def call_main(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["branchwise", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        said = capfd.readouterr()
        return code, said.out, said.err

    return call_main
