"""A caller on the scripted server whose waits are recorded instead of waited."""

from typing import Any

import pytest

from branchwise.agents.caller import ModelCaller
from branchwise.agents.decoding import Decoding
from branchwise.agents.prompt_files import Prompts
from branchwise.agents.spec import ModelSpec
from support.agents.asking import KEY, Waits


@pytest.fixture
def waits():
    return Waits()


@pytest.fixture
def make_caller(chat_server, waits, monkeypatch):
    """Makes a caller of the scripted server; keyword arguments are decoding settings."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def make(**decoding: Any) -> ModelCaller:
        spec = ModelSpec.parse(f"openai:scripted@{chat_server.url}")
        return ModelCaller(spec, Decoding(**decoding), Prompts.load(), sleep=waits)

    return make
