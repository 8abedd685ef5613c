"""What a tool returns beside its text: the structured part that the trace keeps."""

from typing import NotRequired, TypedDict


class PassageRecord(TypedDict):
    """A passage that a tool showed to the agent. The store keeps each passage's text once."""

    id: str
    title: str
    text: str
    score: float


class ToolArtifact(TypedDict):
    """`passages` in the order shown; other keys are free for later tools (rows, ...)."""

    passages: NotRequired[list[PassageRecord]]
