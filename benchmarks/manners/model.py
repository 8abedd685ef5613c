"""A chat model with a manner: it answers as agent, as expander and as extractor."""

import json
from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.tool import ToolCall
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import SkipValidation

from manners.answering import answer
from manners.conversation import Conversation
from manners.modules import module_reply
from manners.offer import Calls, Offer
from manners.searching import Manner

CHARS_A_TOKEN = 4


class ScriptedSearcher(BaseChatModel):
    """Searches as its manner says, and answers when the manner has no calls or it is told to.

    Its usage counts four characters a token: of all messages, tool calls as JSON.
    """

    manner: SkipValidation[Manner]

    @property
    def _llm_type(self) -> str:
        return "scripted-searcher"

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        message = self._reply(messages, kwargs.get("tools"))
        read, written = tokens(messages), tokens([message])
        message.usage_metadata = {
            "input_tokens": read,
            "output_tokens": written,
            "total_tokens": read + written,
        }
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _agenerate(
        self, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> ChatResult:
        return self._generate(messages, *args, **kwargs)

    def _reply(self, messages: list[BaseMessage], tools: Any) -> AIMessage:
        if not tools and (said := module_reply(messages)) is not None:
            return AIMessage(said)
        seen, offer = Conversation.of(messages), Offer.of(tools)
        calls = self.manner(seen, offer) if offer.search and not seen.told else []
        return _calling(calls, seen.turns) if calls else AIMessage(answer(seen))


def tokens(messages: Sequence[BaseMessage]) -> int:
    """Characters of the messages / 4, rounded up."""
    characters = 0
    for message in messages:
        characters += len(message.text)
        for call in message.tool_calls if isinstance(message, AIMessage) else ():
            characters += len(json.dumps({"name": call["name"], "args": call["args"]}))
    return -(-characters // CHARS_A_TOKEN)


def _calling(calls: Calls, turn: int) -> AIMessage:
    made = [
        ToolCall(name=name, args=args, id=f"call_{turn}_{n}", type="tool_call")
        for n, (name, args) in enumerate(calls)
    ]
    return AIMessage("", tool_calls=made)
