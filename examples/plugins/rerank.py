"""A node that puts what a search found in a better order, and drops what does not fit.

Scores a passage by the question and by what was searched for: by the words that they share, or by
an encoder. What falls below `least` is dropped; the agent does not see it, and the report says of
answers that stood in it that a node lost them.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from langchain_core.messages import ToolMessage
from pydantic import BaseModel, Field

from branchwise import AgentState, RunContext, node
from branchwise.graphs.plugins.passages import passages_of, with_passages
from branchwise.tools.artifacts import PassageRecord

if TYPE_CHECKING:
    from branchwise.corpora.encoders import Encoder


class Settings(BaseModel):
    """`by`: words, or an encoder. `least`: the score that a passage must have. `most`: how many."""

    by: Literal["words", "encoder"] = "words"
    encoder: str = "all-MiniLM-L6-v2"
    least: float = Field(default=0.2, ge=-1, le=1)
    most: int = Field(default=10, ge=1)


@node("after_tools", settings=Settings, seconds=60)
def rerank(state: AgentState, settings: Settings, run: RunContext) -> AgentState:
    """Order the passages of each search by how well they fit, and leave out those that do not."""
    calls = getattr(state["messages"][-1], "tool_calls", [])
    searched = {call["id"]: " ".join(map(str, call["args"].values())) for call in calls}
    pending = []
    for message in state["pending"]:
        if found := passages_of(message):
            assert isinstance(message, ToolMessage)
            wanted = f"{run.question} {searched.get(message.tool_call_id, '')}"
            message = with_passages(message, best(wanted, found, settings))
        pending.append(message)
    return {"pending": pending}


def best(wanted: str, passages: Sequence[PassageRecord], settings: Settings) -> list[PassageRecord]:
    """The passages that fit, best first, each with its new score."""
    texts = [f"{passage['title']}\n{passage['text']}" for passage in passages]
    score = by_encoder if settings.by == "encoder" else by_words
    scored = zip(passages, score(wanted, texts, settings), strict=True)
    kept = [PassageRecord({**one, "score": value}) for one, value in scored]
    kept = [one for one in kept if one["score"] >= settings.least]
    return sorted(kept, key=lambda one: (-one["score"], one["id"]))[: settings.most]


def by_words(wanted: str, texts: Sequence[str], settings: Settings) -> list[float]:
    """The share of the wanted words that a text has, 0 to 1; words of three letters and more."""
    asked = _words(wanted)
    return [len(asked & _words(text)) / max(1, len(asked)) for text in texts]


def by_encoder(wanted: str, texts: Sequence[str], settings: Settings) -> list[float]:
    """The cosine of the encoder's vectors, -1 to 1."""
    encoder = _encoder(settings.encoder)
    query = encoder.encode_queries([wanted])[0]
    return [float(value) for value in encoder.encode_passages(texts) @ query]


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w{3,}", text.casefold()))


@lru_cache(maxsize=2)
def _encoder(name: str) -> "Encoder":
    from branchwise.corpora.encoders import load_encoder

    return load_encoder(name)
