"""Asking a caller in tests."""

from typing import Any

import pytest
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.tools import tool

from branchwise.agents.caller import ModelCaller, ModelError, Reply
from branchwise.agents.journal import Journal, MemoryJournal

QUESTION = (SystemMessage("Answer."), HumanMessage("Who directed Heat?"))
both_ways = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


@tool
def local_retriever(query: str, k: int = 3) -> str:
    """Search the corpus for passages."""
    return f"{k} passages on {query}"


async def ask(caller: ModelCaller, journal: Journal | None = None, **more: Any) -> Reply:
    return await caller.ask(
        more.pop("messages", QUESTION), journal=journal or MemoryJournal(), **more
    )


async def error_of(caller: ModelCaller, **more: Any) -> ModelError:
    with pytest.raises(ModelError) as raised:
        await ask(caller, **more)
    return raised.value
