"""A node that shows the agent only the first sentences of each passage."""

import re

from langchain_core.messages import ToolMessage
from pydantic import BaseModel, Field

from branchwise import AgentState, node
from branchwise.graphs.plugins.passages import passages_of, with_passages

_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9\"“(])")


class Settings(BaseModel):
    """`sentences`: how many of each passage are shown."""

    sentences: int = Field(default=2, ge=1)


@node("after_tools", settings=Settings)
async def lead_sentences(state: AgentState, settings: Settings) -> AgentState:
    """Cut each passage behind its first sentences: what an encyclopedia says first."""
    pending = []
    for message in state["pending"]:
        if found := passages_of(message):
            short = [{**one, "text": lead(one["text"], settings.sentences)} for one in found]
            assert isinstance(message, ToolMessage)
            message = with_passages(message, short)
        pending.append(message)
    return {"pending": pending}


def lead(text: str, sentences: int) -> str:
    """The first sentences of a text."""
    return " ".join(_END.split(text)[:sentences])
