"""Scripts of the chat server that answer by role, told from the system prompt."""

from collections.abc import Callable, Mapping
from typing import Any, get_args

from branchwise.agents.prompt_files import Prompts
from branchwise.base.prompt_sets import PromptSet
from support.chat_server import Answer

Body = dict[str, Any]
_PROMPTS = {
    "expander": "expander",
    "expander_with_titles": "expander",
    "extractor": "extractor",
    "extractor_several": "extractor",
    "checker": "checker",
}
_ROLES = {
    prompts.texts[name]: role
    for prompts in [Prompts.load(of=one) for one in get_args(PromptSet)]
    for name, role in _PROMPTS.items()
}


def role_of(body: Body) -> str:
    """`expander`, `extractor`, `checker` or `agent`."""
    return _ROLES.get(body["messages"][0]["content"], "agent")


def user_of(body: Body) -> str:
    return next(m["content"] for m in body["messages"] if m["role"] == "user")


def turn_of(body: Body) -> int:
    """How many replies the conversation has already."""
    return sum(m["role"] == "assistant" for m in body["messages"])


def passage_of(body: Body) -> tuple[str, str]:
    """Title and text of the passage that an extractor is given."""
    before, _, text = user_of(body).rpartition("\n")
    return before.rsplit("Passage: ", 1)[1], text


def passages_of(body: Body) -> list[tuple[str, str]]:
    """Titles and texts of the passages that an extractor is given, one or several."""
    _, *blocks = user_of(body).split("\n\n")
    if not blocks:
        return [passage_of(body)]
    lines = [block.split("\n") for block in blocks]
    return [(title.split(": ", 1)[1], text.removeprefix("Text: ")) for title, text in lines]


def says_of_each(body: Body, say_of: Callable[[str, str], str]) -> str:
    """An extractor's reply: what `say_of` says of each title and text that it is given."""
    said = [say_of(*passage) for passage in passages_of(body)]
    if len(said) == 1:
        return said[0]
    return "\n".join(f"Passage {number}:\n{text}" for number, text in enumerate(said, start=1))


def by_role(**scripts: Answer | Callable[[Body], Answer]) -> Callable[[Body], Answer]:
    """A script of one answer, or one function, for each role."""

    def script(body: Body) -> Answer:
        chosen = scripts[role_of(body)]
        return chosen(body) if callable(chosen) else chosen

    return script


def counts(requests: list[Body]) -> Mapping[str, int]:
    roles = [role_of(body) for body in requests]
    return {role: roles.count(role) for role in dict.fromkeys(roles)}
