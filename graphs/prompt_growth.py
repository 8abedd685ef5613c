"""Whether a server cuts prompts in silence: its count of tokens stands still while they grow.

Ollama drops the oldest messages of what does not fit its context, and answers; so do servers with a
sliding window and gateways that compress in the middle.
"""

from collections.abc import Sequence

from langchain_core.messages import BaseMessage

from branchwise.trace.parts import Usage

PROMPT_CUT = (
    "to a prompt that grew without more tokens being counted: the server seems to cut it; "
    "raise its context (num_ctx, --max-model-len, -c)"
)
_GROWTH = 4_000
"""Bytes by which a request grows that must cost tokens: about a thousand."""
_BYTES_OF_A_TOKEN = 2.5
"""Fewer than a token has in any language, so that new text has at most this many tokens."""


class PromptGrowth:
    """Follows the requests of one conversation."""

    def __init__(self) -> None:
        self._messages: list[BaseMessage] = []
        self._omitted, self._counted = 0, 0

    def is_cut(self, messages: Sequence[BaseMessage], omitted: int, usage: Usage) -> bool:
        """Whether this request, and what was counted of it, say so beside the one before.

        Not where results were left out or messages changed since; nor where the server may count
        new tokens only, as some with a cache do, or says that most came from its cache.
        """
        known, counted = self._messages, self._counted
        grows = len(known) < len(messages) and all(
            one is other for one, other in zip(known, messages, strict=False)
        )
        added = sum(len(message.text.encode()) for message in messages[len(known) :])
        stands = (
            grows
            and omitted == self._omitted
            and added >= _GROWTH
            and added / _BYTES_OF_A_TOKEN < usage.input <= counted
            and usage.input >= counted / 2
            and usage.cached <= usage.input
        )
        self._messages, self._omitted, self._counted = list(messages), omitted, usage.input
        return bool(known) and stands
