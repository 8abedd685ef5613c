"""Which part of a system is asked: the agent, or a module that is a single call without tools."""

import re
from collections.abc import Sequence

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from branchwise.agents.offline.expansion import expand
from branchwise.agents.offline.extraction import Request, extract

_SEVERAL = re.compile(
    r"\b(?:readings?|interpret\w*|understood|meanings?|ambigu\w*|disambigu\w*|unambigu\w*"
    r"|rephras\w*|rewrit\w*|reformulat\w*)\b",
    re.IGNORECASE,
)
_IN_LINES = re.compile(r"\blines?\b", re.IGNORECASE)
_IN_JSON = re.compile(r"[{}]|\bJSON\b", re.IGNORECASE)


def module_reply(messages: Sequence[BaseMessage]) -> str | None:
    """The reply to an extractor's or an expander's prompt; None where an agent is asked.

    An extractor's user message names a question, a search and a passage. An expander's is the
    question alone, under instructions that ask for readings in lines; an agent's ask for JSON.
    """
    if len(messages) != 2 or not isinstance(messages[1], HumanMessage):
        return None
    instructions, asked = messages[0], messages[1].text
    if not isinstance(instructions, SystemMessage):
        return None
    if (request := Request.read(asked)) is not None:
        return extract(request)
    return "\n".join(expand(asked)) if _asks_for_readings(instructions.text) else None


def _asks_for_readings(instructions: str) -> bool:
    return bool(
        _SEVERAL.search(instructions)
        and _IN_LINES.search(instructions)
        and not _IN_JSON.search(instructions)
    )
