"""The passages of a tool message, for a node to read, select and put back."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from branchwise.tools.result_text import passages_text

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage, ToolMessage

    from branchwise.tools.artifacts import PassageRecord


def passages_of(message: "BaseMessage") -> "list[PassageRecord]":
    """The passages that a tool message shows, in order; none for any other message."""
    artifact = getattr(message, "artifact", None)
    listed = artifact.get("passages") if isinstance(artifact, Mapping) else None
    return list(listed or ())


def with_passages(message: "BaseMessage", passages: "Sequence[Mapping[str, Any]]") -> "ToolMessage":
    """The tool message with these passages in place of its own, and a new text.

    The text is as `local_retriever` writes it; a passage has `id`, `title`, `text` and `score`. A
    message that has none and gets none, such as an error, stays as it is. Raises ValueError for a
    message of another kind, and for one that also shows rows or matches of a graph: only its own
    tool can put these into words.
    """
    from langchain_core.messages import ToolMessage

    if not isinstance(message, ToolMessage):
        raise ValueError(f"a {type(message).__name__} has no passages")
    if not passages and not passages_of(message):
        return message
    artifact: dict[str, Any] = dict(message.artifact or {})
    if others := sorted(artifact.keys() & {"rows", "matches"}):
        raise ValueError(f"the message shows {others[0]}, too; write its text yourself")
    artifact["passages"] = list(passages)
    update = {"content": passages_text(artifact["passages"]), "artifact": artifact}
    return message.model_copy(update=update)
