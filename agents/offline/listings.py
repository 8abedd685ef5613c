"""Tools that list what a name may refer to, as an encyclopedia's disambiguation pages do."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from branchwise.agents.offline.words import unique

_SAYS = "may refer to"
_MAX_TITLE_CHARS = 200


def is_listing(function: Mapping[str, Any]) -> bool:
    """Whether a tool's description says that it lists what a name may refer to."""
    return _SAYS in str(function.get("description", "")).lower()


def listed_titles(messages: Sequence[BaseMessage], tool: str, name: str) -> tuple[str, ...]:
    """Titles that the results of `tool` list for `name`: it alone, or with a disambiguator."""
    calls = {
        call["id"]
        for message in messages
        if isinstance(message, AIMessage)
        for call in message.tool_calls
        if call["name"] == tool
    }
    shown = [m.text for m in messages if isinstance(m, ToolMessage) and m.tool_call_id in calls]
    return tuple(unique(title for text in shown for title in _titles(text, name)))


def _titles(text: str, name: str) -> Iterator[str]:
    """The beginnings of lines: `Heat (1995 film): by Michael Mann`, with or without a bullet."""
    title = re.compile(
        rf"^\s*(?:[-*•]\s+|\d+[.)]\s+)?({re.escape(name)}(?: \([^()]+\))?)\s*(?:$|[:,;–—-])",
        re.IGNORECASE,
    )
    for line in text.splitlines():
        found = title.match(line[:_MAX_TITLE_CHARS])
        if found:
            yield found[1]
