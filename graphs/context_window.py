"""Making a conversation fit: the oldest tool results are left out of the request."""

from collections.abc import Sequence

from langchain_core.messages import BaseMessage, ToolMessage

OMITTED = "[left out to fit the context window; search again if it is needed]"


def oldest_to_omit(messages: Sequence[BaseMessage], omitted: int) -> int:
    """How many of the oldest tool results to leave out next: half of the remaining, rounded up.

    Half, because only one cut per turn is allowed and a refusal does not say how much is too much.
    """
    results = sum(isinstance(m, ToolMessage) for m in messages)
    return omitted + (results - omitted + 1) // 2


def with_omissions(messages: Sequence[BaseMessage], omitted: int) -> list[BaseMessage]:
    """The conversation with the content of its `omitted` oldest tool results replaced.

    The messages stay, because every tool call must keep its result.
    """
    if not omitted:
        return list(messages)
    shown: list[BaseMessage] = []
    for message in messages:
        if isinstance(message, ToolMessage) and omitted > 0:
            omitted -= 1
            message = message.model_copy(update={"content": OMITTED})
        shown.append(message)
    return shown
