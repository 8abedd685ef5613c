"""What writes or reviews questions, where a model does: text in, text out."""

from typing import Protocol


class TextModelError(Exception):
    """No text came back. The message is one line without secrets or addresses."""


class TextModel(Protocol):
    """A language model behind one blocking call; implemented over the agents' model specs."""

    def complete(self, prompt: str, system: str = "") -> str:
        """The reply to one user message. Raises TextModelError where there is none."""
        ...
