"""Fixtures for all tests."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# Deterministic, and without hypothesis's time limit: it fails on a busy machine.
settings.register_profile("branchwise", deadline=None, derandomize=True, database=None)
settings.load_profile("branchwise")

# Test folders are no packages: this makes `import chat_server` work in all of them.
sys.path.insert(0, str(Path(__file__).parent))

from chat_server import ChatServer  # noqa: E402


@pytest.fixture
def chat_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    """A scripted chat-completions server; see tests/chat_server.py."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    server = ChatServer().start()
    yield server
    server.stop()
